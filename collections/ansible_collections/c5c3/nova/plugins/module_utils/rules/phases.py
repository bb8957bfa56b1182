# SPDX-License-Identifier: Apache-2.0
"""Which nodes a pool holds, and in which phase: conflict, handover and the start of a drain ("Node phases").

The rules read four things: the pool, the other pools of the same Nova on the same cluster, the labels of the nodes that
exist, and the pool's own ledger. They know nothing of Nova: :mod:`drain` moves nodes by what Nova says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, vocabulary

#: One entry of status.nodes, as the API stores it.
Entry = dict[str, Any]
#: Node name to labels, of the nodes that exist.
Nodes = Mapping[str, Mapping[str, str]]

_TRIMMED_METADATA: Final = ("name", "namespace", "creationTimestamp", "deletionTimestamp")
_TRIMMED_SPEC: Final = ("novaRef", "targetClusterRef", "nodeSelector", "traits", "hostTraits")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pool:
    """What the rules need to know of a NovaCompute. ``held`` maps a held node to its phase."""

    name: str
    created: str
    deleting: bool
    selector: Mapping[str, str]
    held: Mapping[str, str]

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the pool wants a node of these labels; a pool being deleted wants none."""
        return not self.deleting and bool(self.selector) and self.selector.items() <= labels.items()

    @property
    def age(self) -> tuple[str, str]:
        """Sorts older pools first: creationTimestamp (RFC 3339, UTC), then name."""
        return self.created, self.name


def pool_of(novacompute: Mapping[str, Any]) -> Pool:
    """The pool that a NovaCompute object describes."""
    metadata = novacompute["metadata"]
    entries = novacompute.get("status", {}).get("nodes", [])
    return Pool(
        name=metadata["name"],
        created=metadata.get("creationTimestamp", ""),
        deleting=bool(metadata.get("deletionTimestamp")),
        selector=novacompute["spec"].get("nodeSelector") or {},
        held={entry["name"]: entry["phase"] for entry in entries if entry["phase"] in vocabulary.HELD_PHASES},
    )


def same_nova(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two NovaComputes join the same Nova."""
    return bool(
        one["metadata"]["namespace"] == other["metadata"]["namespace"]
        and one["spec"]["novaRef"]["name"] == other["spec"]["novaRef"]["name"]
    )


def same_cluster(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two NovaComputes run their pods on the same cluster."""
    return bool(one["spec"].get("targetClusterRef") == other["spec"].get("targetClusterRef"))


def siblings(pool: Mapping[str, Any], pools: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The other pools of the same Nova, on whatever cluster."""
    return [
        other for other in pools if same_nova(pool, other) and other["metadata"]["name"] != pool["metadata"]["name"]
    ]


def trimmed(pool: Mapping[str, Any]) -> dict[str, Any]:
    """What the steps after the nodes read of a sibling, so that large pools need not travel with each other.

    Of its nodes that is in which zones it holds some and which traits it records: one node stands for all of the same
    phase, zone and traits.
    """
    metadata = {key: pool["metadata"][key] for key in _TRIMMED_METADATA if key in pool["metadata"]}
    spec = {key: pool["spec"][key] for key in _TRIMMED_SPEC if key in pool["spec"]}
    nodes: dict[tuple[Any, ...], Entry] = {}
    for entry in pool.get("status", {}).get("nodes", []):
        kind = (entry["phase"], entry.get("zone"), tuple(entry.get("traits") or ()))
        nodes.setdefault(kind, {key: entry[key] for key in ("name", "phase", "zone", "traits") if key in entry})
    return {"metadata": metadata, "spec": spec, "status": {"nodes": list(nodes.values())}}


def rivals(pool: Mapping[str, Any], pools: Iterable[Mapping[str, Any]]) -> list[Pool]:
    """The pools that may hold a node of this one: same Nova, same cluster. Others never conflict."""
    return [pool_of(other) for other in siblings(pool, pools) if same_cluster(pool, other)]


def next_ledger(pool: Pool, others: Sequence[Pool], nodes: Nodes, ledger: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The pool's ledger after the nodes were read, sorted by node name: the three rules of "Node phases"."""
    entries = {entry["name"]: dict(entry) for entry in ledger}
    selected = {name for name, labels in nodes.items() if pool.selects(labels)}
    settled = []
    for name in sorted(selected | entries.keys()):
        entry = entries.get(name, {"name": name})
        moved = (
            _selected(pool, others, entry, nodes[name])
            if name in selected
            else _unselected(others, entry, nodes.get(name))
        )
        if moved is not None:
            settled.append(moved)
    return settled


def _selected(pool: Pool, others: Sequence[Pool], entry: Entry, labels: Mapping[str, str]) -> Entry:
    """Rule 1: the selector matches the node."""
    name = entry["name"]
    if entry.get("phase") in vocabulary.HELD_PHASES:
        # Both of us hold it only after one read the other's status before its write landed; the younger yields.
        older = _oldest(
            other
            for other in others
            if other.age < pool.age and not other.deleting and other.held.get(name) in vocabulary.SELECTED_PHASES
        )
        if older is not None:
            return _conflict(name, older, labels)
        if entry["phase"] in vocabulary.LEAVING_PHASES:
            # Whether its host is mapped may have changed since it began to leave, so it is looked up once more;
            # a mapped host is Active again at the end of the same pass.
            return _entry(entry, vocabulary.PENDING, labels, instances=None)
        return _entry(entry, entry["phase"], labels)
    holder = _oldest(other for other in others if name in other.held)
    if holder is None:
        holder = _oldest(other for other in others if other.age < pool.age and other.selects(labels))
    if holder is not None:
        return _conflict(name, holder, labels)
    return _entry({"name": name}, vocabulary.PENDING, labels)


def _unselected(others: Sequence[Pool], entry: Entry, labels: Mapping[str, str] | None) -> Entry | None:
    """Rules 2 and 3: the node left, is gone, or the pool is being deleted. None drops the entry."""
    if entry["phase"] == vocabulary.CONFLICT:
        return None
    if handed_over(others, labels) or entry["phase"] == vocabulary.RELEASING:
        return _entry(entry, vocabulary.RELEASING, labels)
    return _entry(entry, vocabulary.DRAINING, labels)


def handed_over(others: Iterable[Pool], labels: Mapping[str, str] | None) -> bool:
    """Whether a pool that is not being deleted takes the node over, so that its service lives on."""
    return labels is not None and any(other.selects(labels) for other in others)


def handovers(others: Sequence[Pool], nodes: Nodes, ledger: Iterable[Mapping[str, Any]]) -> list[str]:
    """The nodes in ``ledger`` being released to another pool: their services are not deleted."""
    return [
        entry["name"]
        for entry in ledger
        if entry["phase"] == vocabulary.RELEASING and handed_over(others, nodes.get(entry["name"]))
    ]


def _oldest(pools: Iterable[Pool]) -> Pool | None:
    return min(pools, key=lambda pool: pool.age, default=None)


def _conflict(name: str, holder: Pool, labels: Mapping[str, str]) -> Entry:
    return _entry({"name": name, "conflictsWith": holder.name}, vocabulary.CONFLICT, labels)


def _entry(entry: Entry, phase: str, labels: Mapping[str, str] | None, **changes: Any) -> Entry:
    """The entry in its phase, with the zone of its Node while there is one; None in ``changes`` removes a field."""
    moved = {**entry, "phase": phase, **changes}
    if phase != vocabulary.CONFLICT:
        moved["conflictsWith"] = None
    if labels is not None:
        moved["zone"] = labels.get(vocabulary.ZONE_LABEL)
    return {key: value for key, value in moved.items() if value is not None and value != ""}


def held(ledger: Iterable[Mapping[str, Any]], *phases: str) -> list[str]:
    """The names of the nodes in the given phases (in any held phase when none is given)."""
    wanted = set(phases) or vocabulary.HELD_PHASES
    return [entry["name"] for entry in ledger if entry["phase"] in wanted]


def new_conflicts(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """The Conflict entries that ``before`` did not know, or knew with another holder."""
    known = {(entry["name"], entry.get("conflictsWith")) for entry in before}
    return [
        dict(entry)
        for entry in after
        if entry["phase"] == vocabulary.CONFLICT and (entry["name"], entry.get("conflictsWith")) not in known
    ]


def describe_conflicts(conflicts: Iterable[Mapping[str, Any]]) -> str:
    """The message of a NodeConflict: each node and the pool that holds it."""
    named = conditions.name_some([f"{entry['name']} (held by {entry['conflictsWith']})" for entry in conflicts])
    return f"Nodes held by another NovaCompute: {named}"


def judge(ledger: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The NodesReady outcome of a ledger."""
    conflicts = [entry for entry in ledger if entry["phase"] == vocabulary.CONFLICT]
    if conflicts:
        return conditions.outcome(conditions.NODES, "NodeConflict", describe_conflicts(conflicts))
    if not ledger:
        return conditions.outcome(
            conditions.NODES, "NoMatchingNodes", "No node matches spec.nodeSelector and the pool holds none"
        )
    selected, leaving = held(ledger, *vocabulary.SELECTED_PHASES), held(ledger, *vocabulary.LEAVING_PHASES)
    return conditions.outcome(
        conditions.NODES, "NodesResolved", f"{len(selected)} nodes selected, {len(leaving)} leaving"
    )
