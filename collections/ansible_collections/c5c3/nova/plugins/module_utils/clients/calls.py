# SPDX-License-Identifier: Apache-2.0
"""How many calls the clients of this process made, by API, method and answer.

Counted where a call is sent, so that no module has to know. A call that was repeated, for a connection that broke or a
token that had expired, counts once. What is counted names no object.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any, Final

NO_ANSWER: Final = "none"
"""What stands in the place of the HTTP status where there was no answer."""

Calls = collections.Counter[tuple[str, str, str]]
"""(system, method, HTTP status) to how many."""

_made: Calls = collections.Counter()


def count(system: str, method: str, status: int | None) -> None:
    """Note one call; without a status there was no answer."""
    _made[system, method, NO_ANSWER if status is None else str(status)] += 1


@contextlib.contextmanager
def counted() -> Iterator[Calls]:
    """Give a counter that holds, at the end of the block, the calls that were made within it."""
    before, made = _made.copy(), Calls()
    try:
        yield made
    finally:
        made.update(_made - before)


def as_data(made: Calls) -> list[dict[str, Any]]:
    """Return the calls in plain types: `[{system, method, status, count}]`, sorted."""
    return [
        {"system": system, "method": method, "status": status, "count": number}
        for (system, method, status), number in sorted(made.items())
    ]
