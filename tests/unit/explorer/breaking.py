# SPDX-License-Identifier: Apache-2.0
"""Rules that are broken on purpose, to see that an explorer notices."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from unit.explorer import invariants, reports

Rule = Callable[..., Any]
#: The module and the name of a rule, what stands in its place and is given it first, and the invariant that must fail.
Broken = tuple[Any, str, Rule, str]


def each(rows: Sequence[Broken]) -> pytest.MarkDecorator:
    """Run a test for each of these, as its argument ``broken``."""
    return pytest.mark.parametrize("broken", rows, ids=[replacement.__name__ for _, _, replacement, _ in rows])


@contextlib.contextmanager
def caught(broken: Broken, record_property: reports.Record) -> Iterator[None]:
    """Break the rule for the explorer that runs inside, which has to say that the invariant fails; reports it."""
    module, name, replacement, invariant = broken
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(module, name, functools.partial(replacement, getattr(module, name)))
        with pytest.raises(invariants.BrokenError, match=invariant) as said:
            yield
    reports.caught(record_property, replacement.__name__, str(said.value))
