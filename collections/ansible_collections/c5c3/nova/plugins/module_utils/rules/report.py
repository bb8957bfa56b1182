# SPDX-License-Identifier: Apache-2.0
"""What a person is told of a pool: how it stands, what its nodes do, and what is missing until it is as it should be.

The playbooks' summary and the kubectl plugin show the same rows, from the object alone: its status is what a pass
found, and nothing here judges anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases, vocabulary
from ansible_collections.c5c3.nova.plugins.module_utils.tables import (
    Cell,
    Style,
    columns,
    printable,
    styled,
)

Object = Mapping[str, Any]

CONDITION_HEADER: Final = ("CONDITION", "STATUS", "REASON", "MESSAGE")
NODE_HEADER: Final = ("NODE", "PHASE", "ZONE", "SERVICE", "STATE", "SERVERS", "NOTE")
POOL_HEADER: Final = ("NAMESPACE", "NAME", "NOVA", "READY", "NODES", "PODS", "LEAVING", "NOTE")

EVENT_HEADER: Final = ("LAST SEEN", "TYPE", "REASON", "TIMES", "MESSAGE")

#: How many nodes and events a summary shows before it counts the rest: it is to fit on one screen.
SHOWN_NODES: Final = 10
SHOWN_EVENTS: Final = 6

_NONE: Final = "-"
_PHASE_STYLES: Final = {
    vocabulary.ACTIVE: Style.GOOD,
    vocabulary.PENDING: Style.BUSY,
    vocabulary.DRAINING: Style.BUSY,
    vocabulary.RELEASING: Style.BUSY,
    vocabulary.CONFLICT: Style.BAD,
}


def name_of(pool: Object) -> str:
    """``<namespace>/<name>``, as the inventory calls the pool."""
    return f"{pool['metadata']['namespace']}/{pool['metadata']['name']}"


def ledger_of(pool: Object) -> list[dict[str, Any]]:
    """The entries of ``status.nodes``."""
    return list((pool.get("status") or {}).get("nodes") or [])


def leaving(pool: Object) -> list[dict[str, Any]]:
    """The entries of nodes that are on their way out of the pool."""
    return [entry for entry in ledger_of(pool) if entry["phase"] in vocabulary.LEAVING_PHASES]


def condition(pool: Object, type_: str) -> Mapping[str, Any]:
    """The condition of this type; empty while no pass recorded it."""
    found = (pool.get("status") or {}).get("conditions") or []
    return next((each for each in found if each["type"] == type_), {})


def is_stale(pool: Object) -> bool:
    """Whether no pass has seen the spec as it is now."""
    return bool((pool.get("status") or {}).get("observedGeneration") != pool["metadata"].get("generation"))


def shortfall(pool: Object) -> list[str]:
    """What keeps the pool from being as it should be, in sentences; empty when nothing does.

    A drain is no shortfall of a pool, unless the pool itself is to go.
    """
    if phases.pool_of(pool).deleting:
        return [f"{entry['name']} is {_phase_text(entry)}" for entry in leaving(pool)] or [
            "the pool is not released yet"
        ]
    ready = condition(pool, conditions.READY)
    if not ready:
        return ["no pass has looked at the pool yet"]
    found = [condition(pool, step) for step in conditions.STEPS]
    if ready["status"] == "True":
        # A pass may run but some of the steps.
        old = [each["type"] for each in found if _is_of_an_earlier_spec(pool, each)]
        return [f"no pass since the spec changed got as far as {', '.join(old)}"] if old else []
    missing = [step for step, each in zip(conditions.STEPS, found, strict=True) if not each]
    said = [
        f"{each['type']} {each['reason']}: {each['message']}" for each in found if each and each["status"] != "True"
    ]
    return said + ([f"no pass got as far as {', '.join(missing)}"] if missing else [])


def _is_of_an_earlier_spec(pool: Object, found: Mapping[str, Any]) -> bool:
    seen, now = found.get("observedGeneration"), pool["metadata"].get("generation")
    return seen is not None and now is not None and seen < now


def condition_rows(pool: Object) -> list[list[Cell]]:
    """One row for each condition, in the order of the pass; see :data:`CONDITION_HEADER`."""
    rows = []
    for type_ in (conditions.READY, *conditions.STEPS, conditions.EXTRA_CONFIG):
        found = condition(pool, type_)
        if found:
            style = _condition_style(found)
            rows.append(
                [
                    Cell(type_),
                    Cell(found["status"], style),
                    Cell(found["reason"], style),
                    Cell(found.get("message", "")),
                ]
            )
    return rows


def _condition_style(found: Mapping[str, Any]) -> Style:
    if found["status"] == "True":
        return Style.GOOD
    try:
        flow = conditions.reason(found["type"], found["reason"]).flow
    except KeyError:
        return Style.BAD
    return Style.BUSY if flow is conditions.Flow.CONTINUES else Style.BAD


def node_rows(entries: Sequence[Mapping[str, Any]]) -> list[list[Cell]]:
    """One row for each entry of the ledger; see :data:`NODE_HEADER`."""
    return [
        [
            Cell(entry["name"]),
            Cell(entry["phase"], _PHASE_STYLES.get(entry["phase"], Style.PLAIN)),
            Cell(entry.get("zone") or _NONE),
            _service_cell(entry),
            Cell(entry.get("serviceState") or _NONE, Style.BAD if entry.get("serviceState") == "down" else Style.PLAIN),
            Cell(_NONE if entry.get("instances") is None else str(entry["instances"])),
            Cell(_note(entry)),
        ]
        for entry in entries
    ]


def _service_cell(entry: Mapping[str, Any]) -> Cell:
    status = entry.get("serviceStatus") or _NONE
    unexpected = entry["phase"] == vocabulary.ACTIVE and status == "disabled"
    return Cell(status, Style.BUSY if unexpected else Style.PLAIN)


def _note(entry: Mapping[str, Any]) -> str:
    if entry.get("conflictsWith"):
        return f"held by {entry['conflictsWith']}"
    return str(entry.get("disabledReason") or "")


def noteworthy(entries: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """The entries that a summary shows, those that are not settled first, and how many others there are, in words."""
    ordered = sorted(entries, key=_is_settled)
    shown, rest = ordered[:SHOWN_NODES], ordered[SHOWN_NODES:]
    counts: dict[str, int] = {}
    for entry in rest:
        counts[entry["phase"]] = counts.get(entry["phase"], 0) + 1
    return shown, ", ".join(f"{count} more {phase}" for phase, count in counts.items())


def _is_settled(entry: Mapping[str, Any]) -> bool:
    return bool(entry["phase"] == vocabulary.ACTIVE and entry.get("serviceState") != "down")


def event(recorded: Object) -> dict[str, Any]:
    """What is told of a core/v1 Event: ``{at, type, reason, message, count}``."""
    return {
        "at": recorded.get("lastTimestamp") or recorded.get("eventTime") or recorded["metadata"]["creationTimestamp"],
        "type": recorded.get("type", "Normal"),
        "reason": recorded.get("reason", ""),
        "message": recorded.get("message", ""),
        "count": recorded.get("count") or 1,
    }


def event_rows(events: Sequence[Mapping[str, Any]]) -> list[list[Cell]]:
    """One row for each of :func:`event`; see :data:`EVENT_HEADER`."""
    return [
        [
            Cell(each["at"]),
            Cell(each["type"], Style.PLAIN if each["type"] == "Normal" else Style.BUSY),
            Cell(each["reason"]),
            Cell(str(each["count"])),
            Cell(each["message"]),
        ]
        for each in events
    ]


def pool_row(pool: Object) -> list[Cell]:
    """The pool in one row; see :data:`POOL_HEADER`."""
    status = pool.get("status") or {}
    ready = condition(pool, conditions.READY)
    entries = ledger_of(pool)
    held = [entry for entry in entries if entry["phase"] in vocabulary.SELECTED_PHASES]
    active = [entry for entry in held if entry["phase"] == vocabulary.ACTIVE]
    lacking = shortfall(pool)
    style = Style.GOOD if ready.get("status") == "True" else Style.BAD
    return [
        Cell(pool["metadata"]["namespace"]),
        Cell(pool["metadata"]["name"]),
        Cell(pool["spec"]["novaRef"]["name"]),
        Cell(ready.get("status", "Unknown"), style),
        Cell(f"{len(active)}/{len(held)}"),
        Cell(f"{status.get('numberReady', 0)}/{status.get('desiredNumberScheduled', 0)}"),
        Cell(str(len(leaving(pool)))),
        Cell(_pool_note(pool, lacking)),
    ]


def _pool_note(pool: Object, lacking: Sequence[str]) -> str:
    if phases.pool_of(pool).deleting:
        return "being deleted"
    if is_stale(pool):
        return "no pass has seen the spec as it is now"
    return lacking[0] if lacking else ""


def _phase_text(entry: Mapping[str, Any]) -> str:
    count = entry.get("instances")
    return str(entry["phase"]) if count is None else f"{entry['phase']} with {servers(count)}"


def servers(count: int) -> str:
    """``1 server``, ``3 servers``."""
    return "1 server" if count == 1 else f"{count} servers"


def progress(entry: Mapping[str, Any], most: int) -> float:
    """How far a leaving node is, from 0 to 1, where ``most`` servers were seen on it.

    The servers are nine tenths of the way; the pod and the compute service are the rest.
    """
    if entry["phase"] == vocabulary.RELEASING:
        return 0.9
    if entry.get("instances") is None or most <= 0:
        return 0.0
    return 0.9 * float(most - entry["instances"]) / most


def screen(pool: Object, *, width: int | None, colour: bool) -> list[str]:
    """The pool's conditions and the nodes that deserve a look, for a terminal of ``width`` columns."""
    shown, rest = noteworthy(ledger_of(pool))
    lines = columns(CONDITION_HEADER, condition_rows(pool), width=width, colour=colour)
    if shown:
        lines += ["", *columns(NODE_HEADER, node_rows(shown), width=width, colour=colour)]
    if rest:
        lines.append(styled(rest, Style.FAINT, colour=colour))
    return lines


def explanation(nodes: Sequence[Mapping[str, Any]], *, colour: bool) -> list[str]:
    """What :func:`stuck.explain` found about each node. Long lines stay whole: they hold commands to copy."""
    if not nodes:
        return ["No node leaves the pool."]
    lines = []
    for node in nodes:
        lines += ["", styled(printable(node["node"]), Style.HEAD, colour=colour) + f" {printable(node['summary'])}"]
        for finding in node["findings"]:
            lines.append(f"  {styled('*', Style.BUSY, colour=colour)} {printable(finding['seen'])}")
            if finding["do"]:
                lines.append(f"    {styled('do:', Style.GOOD, colour=colour)} {printable(finding['do'])}")
        if not node["findings"]:
            lines.append("  nothing holds it")
    return lines
