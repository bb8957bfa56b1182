# SPDX-License-Identifier: Apache-2.0
"""Ledgers as tuples that a state can hold, and as the plain data that the rules read."""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary, workload

ABSENT, LIVE, DELETING, GONE = "absent", "live", "deleting", "gone"
#: A pool that exists, and so can be read.
EXISTING: Final = (LIVE, DELETING)
#: The pools, the older first; each selects the label of its place.
POOLS: Final = ("pool-a", "pool-b", "pool-c")
LABELS: Final = ("a", "b", "c")
CREATED: Final = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")


class Entry(NamedTuple):
    """What decides something of an entry of status.nodes."""

    name: str
    phase: str
    instances: int | None
    service: bool
    conflicts_with: str | None


Ledger = tuple[Entry, ...]


class Terms(NamedTuple):
    """The node affinity of a DaemonSet as it was last applied."""

    selects: bool
    excluded: frozenset[str]
    kept: frozenset[str]


@functools.cache
def novacompute(index: int, life: str, ledger: Ledger) -> dict[str, Any]:
    """The object of the pool in that place."""
    metadata = {"name": POOLS[index], "namespace": "openstack", "creationTimestamp": CREATED[index]}
    if life == DELETING:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    spec = {"novaRef": {"name": "nova"}, "nodeSelector": {LABELS[index]: "yes"}}
    return {"metadata": metadata, "spec": spec, "status": {"nodes": data(ledger)}}


def data(ledger: Ledger) -> list[dict[str, Any]]:
    """The ledger as status.nodes holds it."""
    return [
        {
            key: value
            for key, value in {
                "name": entry.name,
                "phase": entry.phase,
                "instances": entry.instances,
                "serviceID": f"id-{entry.name}" if entry.service else None,
                "conflictsWith": entry.conflicts_with,
            }.items()
            if value is not None
        }
        for entry in ledger
    ]


def tuples(ledger: list[dict[str, Any]]) -> Ledger:
    """The ledger without what decides nothing: only a leaving entry's service is ever asked for."""
    return tuple(
        Entry(
            entry["name"],
            entry["phase"],
            entry.get("instances"),
            entry["phase"] in vocabulary.LEAVING_PHASES and "serviceID" in entry,
            entry.get("conflictsWith"),
        )
        for entry in ledger
    )


@functools.cache
def as_seen(ledger: Ledger) -> Ledger:
    """What another pool looks at: which nodes are held, and whether they are leaving."""
    leaving = {vocabulary.DRAINING: vocabulary.RELEASING, vocabulary.PENDING: vocabulary.ACTIVE}
    return tuple(
        Entry(entry.name, leaving.get(entry.phase, entry.phase), None, False, None)
        for entry in ledger
        if entry.phase != vocabulary.CONFLICT
    )


@functools.cache
def in_phases(ledger: Ledger, wanted: frozenset[str]) -> frozenset[str]:
    """The nodes in these phases."""
    return frozenset(entry.name for entry in ledger if entry.phase in wanted)


@functools.cache
def newly_releasing(before: Ledger, after: Ledger) -> frozenset[str]:
    """The nodes that turned Releasing."""
    return in_phases(after, frozenset({vocabulary.RELEASING})) - in_phases(before, frozenset({vocabulary.RELEASING}))


@functools.cache
def terms_of(index: int, life: str, ledger: Ledger) -> Terms | None:
    """The affinity that the rules make of a pool; None is no DaemonSet."""
    made = workload.affinity_terms(novacompute(index, life, ledger), data(ledger))
    fields = [(field, "matchExpressions" in term) for term in made for field in term.get("matchFields", [])]
    if not made:
        return None
    return Terms(
        any("matchExpressions" in term for term in made),
        frozenset(field["values"][0] for field, _ in fields if field["operator"] == "NotIn"),
        frozenset(field["values"][0] for field, of_pool in fields if field["operator"] == "In" and not of_pool),
    )
