# SPDX-License-Identifier: Apache-2.0
"""What the explorers visited, and which broken rules they caught: told by the tests, printed as two tables at the end.

A test hands it over as properties of its report, which come from the processes of xdist to the one that prints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ansible_collections.c5c3.nova.plugins.module_utils import tables
from unit.explorer.invariants import Report

#: pytest's fixture record_property. A value has to be plain data, for xdist's sake.
Record = Callable[[str, object], None]
Property = tuple[str, object]

_EXPLORED: Final = "explored"
_CAUGHT: Final = "caught"


def explored(record_property: Record, report: Report) -> None:
    """Tell what an exploration visited."""
    record_property(_EXPLORED, [str(value) for value in dataclasses.astuple(report)])


def caught(record_property: Record, broken: str, invariant: str) -> None:
    """Tell which invariant failed under a rule that is broken on purpose."""
    record_property(_CAUGHT, [broken, invariant])


def lines(properties: Iterable[Property]) -> Iterator[str]:
    """What tests told, in whichever order they ended; nothing when no explorer was among them."""
    told = sorted(
        (name, value) for name, value in properties if name in (_EXPLORED, _CAUGHT) and isinstance(value, list)
    )
    header = [field.name.upper() for field in dataclasses.fields(Report)]
    for about, head in ((_EXPLORED, header), (_CAUGHT, ("BROKEN RULE", "CAUGHT BY"))):
        rows = [value for name, value in told if name == about]
        if rows:
            yield from ("", *tables.columns(head, rows))
