# SPDX-License-Identifier: Apache-2.0
"""Large values as text while a play holds them.

Of a list of a thousand nodes Ansible visits every value each time a task or a template uses it, and that would be
nearly all that a pass over a large pool costs. A text is one value, however long. So what grows with the nodes goes
from task to task as JSON text: results are packed when a module returns, arguments are unpacked before it starts, and
the filters take either. A list or a mapping that somebody passes as such is as good.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

NAMES: Final = frozenset({"ledger", "siblings", "services", "hypervisors"})
"""The arguments and results that are packed; of a `pool`, its `status.nodes` is."""

Returned = TypeVar("Returned")


def pack(value: Any) -> str:
    """Return plain data as text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def unpack(value: Any) -> Any:
    """Return what was packed; anything but text is returned as it is."""
    return json.loads(value) if isinstance(value, str) else value


def packed(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's result with what is large in it as text."""
    return {name: pack(value) if name in NAMES else value for name, value in _with_pool(result, pack).items()}


def unpacked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's arguments as data."""
    return {name: unpack(value) if name in NAMES else value for name, value in _with_pool(arguments, unpack).items()}


def unpacked_pool(pool: Any) -> Any:
    """Return a NovaCompute with its ledger as data; what is none is returned as it is."""
    return _nodes(pool, unpack)


def unpacking(rule: Callable[..., Returned]) -> Callable[..., Returned]:
    """Let a rule be given packed values: a ledger, the services, a pool."""

    @functools.wraps(rule)
    def given_either(*arguments: Any) -> Returned:
        return rule(*(_data(argument) for argument in arguments))

    return given_either


def _data(argument: Any) -> Any:
    if isinstance(argument, str) and argument[:1] in ("[", "{"):
        return unpack(argument)
    return unpacked_pool(argument)


def _with_pool(values: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: _nodes(value, change) if name == "pool" else value for name, value in values.items()}


def _nodes(pool: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(pool, Mapping) or not isinstance(pool.get("status"), Mapping) or "nodes" not in pool["status"]:
        return pool
    return {**pool, "status": {**pool["status"], "nodes": change(pool["status"]["nodes"])}}
