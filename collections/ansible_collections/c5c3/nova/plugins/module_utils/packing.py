# SPDX-License-Identifier: Apache-2.0
"""Large values as text while a play holds them.

Of a list of a thousand nodes Ansible visits every value each time a task or a template uses it, and that would be
nearly all that a pass over a large pool costs. A text is one value, however long. So what grows with the nodes, and the
pool that every step is given, goes from task to task as JSON text: results are packed when a module returns, arguments
are unpacked before it starts, and the filters take either. A list or a mapping that somebody passes as such is as good.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

NAMES: Final = frozenset({"pool", "ledger", "siblings", "services", "hypervisors", "outside"})
"""The arguments and results that are packed."""

Returned = TypeVar("Returned")


def pack(value: Any) -> str:
    """Return plain data as text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def unpack(value: Any) -> Any:
    """Return what was packed; anything but text is returned as it is."""
    return json.loads(value) if isinstance(value, str) else value


def packed(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's result with what is large in it as text."""
    return {name: pack(value) if name in NAMES else value for name, value in result.items()}


def unpacked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's arguments as data."""
    return {name: unpack(value) if name in NAMES else value for name, value in arguments.items()}


def unpacking(rule: Callable[..., Returned]) -> Callable[..., Returned]:
    """Let a rule be given packed values: a ledger, the services, a pool."""

    @functools.wraps(rule)
    def given_either(*arguments: Any) -> Returned:
        return rule(*(_data(argument) for argument in arguments))

    return given_either


def _data(argument: Any) -> Any:
    return unpack(argument) if isinstance(argument, str) and argument[:1] in ("[", "{") else argument
