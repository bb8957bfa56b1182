# SPDX-License-Identifier: Apache-2.0
"""Which host aggregates a pool creates, marks, uses and deletes ("The aggregates"). It never touches their hosts.

Aggregates are rows {id, name, availability_zone, hosts, metadata} as Nova lists them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases, vocabulary

Aggregate = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What to do: ``create`` are (name, zone or None), ``delete`` and ``keep`` are aggregates as listed.

    ``begun`` are, by the names to create, the aggregates that an earlier pass did not finish. ``keep`` are marked and
    unneeded, but carry metadata of somebody else's: deleting them would drop it.
    """

    create: tuple[tuple[str, str | None], ...]
    begun: Mapping[str, Aggregate]
    delete: tuple[Aggregate, ...]
    keep: tuple[Aggregate, ...]
    mismatched: tuple[str, ...]


def marker(namespace: str, nova: str) -> str:
    """The value of the marker on every aggregate that a pool of this Nova created."""
    return f"{namespace}/{nova}"


def name_until_marked(own: str, name: str) -> str:
    """What an aggregate is called from its creation until it is marked; ``own`` is the Nova's marker.

    Nova creates an aggregate and sets its metadata in two calls. A pass that is killed in between would leave one under
    its final name that looks like somebody else's and is never deleted; by this name it is known, and finished.
    """
    return f"{vocabulary.AGGREGATE_MARKER}={own}: {name}"


def zones(
    ledger: Iterable[Mapping[str, Any]], phases_of_interest: Collection[str] = vocabulary.SELECTED_PHASES
) -> list[str]:
    """The availability zones of the nodes in the given phases (Pending and Active unless said otherwise), sorted."""
    return sorted({entry["zone"] for entry in ledger if entry["phase"] in phases_of_interest and entry.get("zone")})


def needed(
    pool: Mapping[str, Any], ledger: Iterable[Mapping[str, Any]], siblings: Iterable[Mapping[str, Any]]
) -> set[str]:
    """The names that some pool of the Nova needs: this one by ``ledger``, others, on any cluster, by their status.

    A node that is leaving needs the aggregate of its zone until its compute service is gone ("Empty the host" in the
    guide to draining a node), though none is created for it any more.
    """
    names = set(zones(ledger, vocabulary.HELD_PHASES)) | _tenant_filter_tests(pool)
    for sibling in siblings:
        names |= set(zones(sibling.get("status", {}).get("nodes", []), vocabulary.HELD_PHASES))
        names |= _tenant_filter_tests(sibling)
    return names


def _tenant_filter_tests(pool: Mapping[str, Any]) -> set[str]:
    return set() if _deleting(pool) else {vocabulary.TENANT_FILTER_TESTS}


def plan(
    pool: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    siblings: Sequence[Mapping[str, Any]],
    aggregates: Sequence[Aggregate],
) -> Plan:
    """What the pool does to the aggregates that Nova lists."""
    by_name = {aggregate["name"]: aggregate for aggregate in aggregates}
    wanted: list[tuple[str, str | None]] = [(zone, zone) for zone in zones(ledger)]
    if not _deleting(pool):
        wanted.append((vocabulary.TENANT_FILTER_TESTS, None))
    union = needed(pool, ledger, siblings)
    own = marker(pool["metadata"]["namespace"], pool["spec"]["novaRef"]["name"])
    create = tuple((name, zone) for name, zone in wanted if name not in by_name)
    begun = {
        name: by_name[name_until_marked(own, name)] for name, _zone in create if name_until_marked(own, name) in by_name
    }
    # What another pool is just creating is not unneeded either.
    in_use = union | {name_until_marked(own, name) for name in union if name not in by_name}
    unneeded = [
        aggregate
        for aggregate in aggregates
        if _is_own(aggregate, own) and aggregate["name"] not in in_use and not aggregate["hosts"]
    ]
    return Plan(
        create=create,
        begun=begun,
        delete=tuple(aggregate for aggregate in unneeded if not foreign_keys(aggregate)),
        keep=tuple(aggregate for aggregate in unneeded if foreign_keys(aggregate)),
        mismatched=tuple(
            _mismatch(name, zone, by_name[name])
            for name, zone in wanted
            if name in by_name and (by_name[name]["availability_zone"] or None) != zone
        ),
    )


def _is_own(aggregate: Aggregate, own: str) -> bool:
    marked: bool = aggregate["metadata"].get(vocabulary.AGGREGATE_MARKER) == own
    return marked or str(aggregate["name"]).startswith(name_until_marked(own, ""))


def foreign_keys(aggregate: Aggregate) -> list[str]:
    """The metadata keys beyond the marker and the availability zone, sorted."""
    return sorted(aggregate["metadata"].keys() - {vocabulary.AGGREGATE_MARKER, vocabulary.AGGREGATE_ZONE_KEY})


def _mismatch(name: str, zone: str | None, aggregate: Aggregate) -> str:
    return f"aggregate {name} has availability zone {aggregate['availability_zone'] or 'none'}, not {zone or 'none'}"


def judge(ledger: Sequence[Mapping[str, Any]], outside: Sequence[str], decided: Plan) -> dict[str, Any]:
    """The AggregatesReady outcome once the plan was carried out; ``outside`` is :func:`outside_zone`."""
    zoneless = [
        entry["name"] for entry in ledger if entry["phase"] in vocabulary.SELECTED_PHASES and not entry.get("zone")
    ]
    if zoneless:
        return conditions.outcome(
            conditions.AGGREGATES,
            "NodesWithoutZone",
            f"Nodes without the label {vocabulary.ZONE_LABEL}: {conditions.name_some(zoneless)}",
        )
    if decided.mismatched:
        return conditions.outcome(
            conditions.AGGREGATES,
            "AggregateZoneMismatch",
            f"Not usable: {conditions.name_some(decided.mismatched, separator='; ')}",
        )
    return _in_place(ledger, outside)


def settle(outcome: dict[str, Any], ledger: Sequence[Mapping[str, Any]], outside: Sequence[str]) -> dict[str, Any]:
    """The outcome by the ledger that Nova's services settled: the step judged the nodes before they turned Active."""
    in_place = conditions.reason(conditions.AGGREGATES, outcome["condition"]["reason"]).flow is conditions.Flow.READY
    return _in_place(ledger, outside) if in_place else outcome


def _in_place(ledger: Sequence[Mapping[str, Any]], outside: Sequence[str]) -> dict[str, Any]:
    beyond = frozenset(outside)
    active = [entry for entry in ledger if entry["phase"] == vocabulary.ACTIVE and entry["name"] in beyond]
    if active:
        named = conditions.name_some([f"{entry['name']} ({entry['zone']})" for entry in active])
        return conditions.outcome(
            conditions.AGGREGATES, "NodesOutsideZoneAggregate", f"Nodes in no aggregate of their zone: {named}"
        )
    return conditions.outcome(
        conditions.AGGREGATES,
        "AggregatesEnsured",
        f"Aggregates in place for zones: {conditions.name_some(zones(ledger)) or 'none'}",
    )


def outside_zone(ledger: Sequence[Mapping[str, Any]], aggregates: Sequence[Aggregate]) -> list[str]:
    """The Pending and Active nodes in no aggregate that carries their zone; any aggregate of the zone counts."""
    members = {
        (host, aggregate["availability_zone"])
        for aggregate in aggregates
        if aggregate["availability_zone"]
        for host in aggregate["hosts"]
    }
    return [
        entry["name"]
        for entry in ledger
        if entry["phase"] in vocabulary.SELECTED_PHASES
        and entry.get("zone")
        and (entry["name"], entry["zone"]) not in members
    ]


def concurrent_creator(name: str) -> dict[str, Any]:
    """The outcome when Nova answered 409 to a create: the next pass reads what the other one made."""
    return conditions.outcome(
        conditions.AGGREGATES, "WaitingForAggregate", f"Aggregate {name} was created by somebody else just now"
    )


def _deleting(pool: Mapping[str, Any]) -> bool:
    return bool(phases.pool_of(pool).deleting)
