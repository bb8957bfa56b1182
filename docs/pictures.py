# SPDX-License-Identifier: Apache-2.0
"""Draws the phases of a node and the steps of a pass, from what the rules do and from the table of conditions.

`python docs/reference.py --write` writes the pictures with the rest of the reference.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any
from xml.sax import saxutils

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, drain, phases, vocabulary
from nova_compute_operator import metrics

NODE = "node"
GONE = "(dropped)"
NEW = "(new)"
_SELECTOR = {"pool": "a"}
_SERVICE = {"id": "1", "status": "disabled", "state": "up", "disabled_reason": "left"}

Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Situation:
    """Something that happens to a node, and what the rules make of an entry then; None drops it."""

    text: str
    move: Callable[[Entry | None], list[Entry]]


def _pool(name: str, created: str, **fields: Any) -> phases.Pool:
    known: dict[str, Any] = {"deleting": False, "selector": _SELECTOR, "held": {}}
    return phases.Pool(name=name, created=created, **{**known, **fields})


def _read(nodes: dict[str, dict[str, str]], *others: phases.Pool) -> Callable[[Entry | None], list[Entry]]:
    """The nodes and the other pools were read."""

    def move(entry: Entry | None) -> list[Entry]:
        return phases.next_ledger(_pool("pool", "2"), others, nodes, [entry] if entry else [])

    return move


def _asked(
    *, pods: dict[str, str], services: bool = True, count: int | None = None, deletion: str = "", mapped: bool = False
) -> Callable[[Entry | None], list[Entry]]:
    """Nova was asked."""

    def move(entry: Entry | None) -> list[Entry]:
        return drain.next_ledger(
            [entry] if entry else [],
            services={NODE: _SERVICE} if services else {},
            counts={} if count is None else {NODE: count},
            pods=pods,
            handed_over=(),
            mapped=[NODE] if mapped else [],
            deletions={NODE: deletion} if deletion else {},
        )

    return move


_SELECTED = {NODE: dict(_SELECTOR)}
_POD = {NODE: "Running"}
_ELDER = _pool("elder", "1", held={NODE: vocabulary.ACTIVE})

SITUATIONS = (
    Situation(text="the selector matches the node, and no other pool has it", move=_read(_SELECTED)),
    Situation(text="the selector matches the node, and an older pool holds it", move=_read(_SELECTED, _ELDER)),
    Situation(
        text="its service is registered and its host is mapped into the cell", move=_asked(pods=_POD, mapped=True)
    ),
    Situation(text="its service disappears from Nova", move=_asked(pods=_POD, services=False)),
    Situation(text="its label is taken off, its Node or the pool is deleted", move=_read({NODE: {}})),
    Situation(
        text="its label is taken off, and another pool selects it: a handover",
        move=_read({NODE: {"pool": "b"}}, _pool("other", "3", selector={"pool": "b"})),
    ),
    Situation(text="Nova counts no server on the host", move=_asked(pods=_POD, count=0)),
    Situation(
        text="Nova refuses to delete its service: servers came", move=_asked(pods={}, count=1, deletion=drain.REFUSED)
    ),
    Situation(text="its pod is gone and its service is deleted", move=_asked(pods={}, deletion=drain.DELETED)),
)

PHASES = (vocabulary.PENDING, vocabulary.ACTIVE, vocabulary.DRAINING, vocabulary.RELEASING, vocabulary.CONFLICT)


def transitions() -> list[tuple[str, str, int]]:
    """(phase before, phase after, number of the situation from 1) of every move that the rules make."""
    found = []
    for number, situation in enumerate(SITUATIONS, 1):
        for before in (NEW, *PHASES):
            after = [entry["phase"] for entry in situation.move(_entry(before))] or [GONE]
            if after != [before] and (before, after) != (NEW, [GONE]):
                found.append((before, after[0], number))
    return found


def _entry(phase: str) -> Entry | None:
    if phase == NEW:
        return None
    holder = {"conflictsWith": "elder"} if phase == vocabulary.CONFLICT else {}
    return {"name": NODE, "phase": phase, "serviceStatus": "disabled", **holder}


# --- drawing

_PLACES = {
    NEW: (70, 80),
    vocabulary.PENDING: (270, 80),
    vocabulary.ACTIVE: (560, 80),
    vocabulary.CONFLICT: (270, 270),
    vocabulary.DRAINING: (560, 270),
    vocabulary.RELEASING: (690, 430),
    GONE: (270, 430),
}
_WIDTH, _HEIGHT = 130, 44
_COLOURS = {
    vocabulary.PENDING: "#fff3cd",
    vocabulary.ACTIVE: "#d1e7dd",
    vocabulary.DRAINING: "#cfe2ff",
    vocabulary.RELEASING: "#e2d9f3",
    vocabulary.CONFLICT: "#f8d7da",
}
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="15">\n'
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
    "<title>{title}</title>\n"
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>\n'
    '<rect width="{width}" height="{height}" fill="#fff"/>\n'
)


def phases_picture() -> str:
    """The phases as boxes, the moves as arrows with the numbers of their situations."""
    arrows = collections.defaultdict(list)
    for before, after, number in transitions():
        arrows[before, after].append(str(number))
    parts = [_HEAD.format(width=780, height=500, title="The phases of a node in a pool")]
    parts += [_arrow(before, after, ", ".join(numbers)) for (before, after), numbers in arrows.items()]
    parts += [_box(*_PLACES[name], name, _COLOURS.get(name, "#f2f2f2")) for name in (NEW, *PHASES, GONE)]
    return "".join(parts) + "</svg>\n"


def _box(x: float, y: float, text: str, colour: str) -> str:
    corner = f'x="{x - _WIDTH / 2}" y="{y - _HEIGHT / 2}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"'
    return (
        f'<rect {corner} fill="{colour}" stroke="#555"/>\n'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle">{saxutils.escape(text)}</text>\n'
    )


def _arrow(before: str, after: str, label: str) -> str:
    """A bowed arrow from box to box, so that the two directions between a pair stay apart."""
    (x1, y1), (x2, y2) = _PLACES[before], _PLACES[after]
    length = math.hypot(x2 - x1, y2 - y1)
    # To the left of the direction.
    across = ((y2 - y1) / length, -(x2 - x1) / length)
    middle = ((x1 + x2) / 2 + across[0] * 42, (y1 + y2) / 2 + across[1] * 42)
    start, end = _edge((x1, y1), middle), _edge((x2, y2), middle)
    x, y = ((start[0] + 2 * middle[0] + end[0]) / 4, (start[1] + 2 * middle[1] + end[1]) / 4)
    return (
        f'<path d="M{start[0]:.0f} {start[1]:.0f}Q{middle[0]:.0f} {middle[1]:.0f} {end[0]:.0f} {end[1]:.0f}"'
        ' fill="none" stroke="#555" marker-end="url(#tip)"/>\n'
        f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" fill="#a00" stroke="#fff" stroke-width="5"'
        f' paint-order="stroke">{label}</text>\n'
    )


def _edge(centre: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from a box's centre leaves the box."""
    x, y = towards[0] - centre[0], towards[1] - centre[1]
    scale = min(_WIDTH / 2 / abs(x) if x else math.inf, _HEIGHT / 2 / abs(y) if y else math.inf)
    return centre[0] + x * scale, centre[1] + y * scale


def pass_picture() -> str:
    """The steps in their order, each with its condition and with what ends the pass there."""
    roles = {condition: role for role, condition in metrics.CONDITION_OF_STEP.items()}
    high = 74
    height = 60 + high * (len(conditions.STEPS) + 1)
    parts = [_HEAD.format(width=900, height=height, title="A pass, step by step")]
    for place, condition in enumerate(conditions.STEPS):
        y = 40 + place * high
        parts.append(_box(100, y, roles[condition], "#cfe2ff"))
        parts.append(_down(100, y))
        parts += _beside(y, condition, list(_endings(condition)))
    y = 40 + len(conditions.STEPS) * high
    parts.append(_box(100, y, "status", "#d1e7dd"))
    parts += _beside(y, "Ready", ["written once, at the resourceVersion that was read, and only when it differs"])
    return "".join(parts) + "</svg>\n"


def _endings(condition: str) -> Iterator[str]:
    stops = [row.reason for row in conditions.REASONS if row.type == condition and row.flow is conditions.Flow.STOPS]
    words = f"ends the pass: {', '.join(stops)}" if stops else "never ends the pass"
    line = ""
    for word in words.split():
        if len(line) + len(word) > 95:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def _beside(y: float, title: str, lines: list[str]) -> Iterator[str]:
    yield f'<text x="185" y="{y - 6}" font-weight="bold">{saxutils.escape(title)}</text>\n'
    for number, line in enumerate(lines):
        yield f'<text x="185" y="{y + 12 + 16 * number}" font-size="13" fill="#444">{saxutils.escape(line)}</text>\n'


def _down(x: float, y: float) -> str:
    return f'<path d="M{x} {y + _HEIGHT / 2}v{74 - _HEIGHT}" stroke="#555" marker-end="url(#tip)"/>\n'
