# SPDX-License-Identifier: Apache-2.0
"""Pools, nodes and Nova as one state, and what a pass of a pool makes of it by the real rules.

A pass is cut where the world can slip in between: its first half reads the nodes and the other pools and writes the
ledger, its second half applies the affinity, keeps the aggregate, asks Nova and writes the ledger again. It can die
between any two of its effects.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    aggregates,
    conditions,
    drain,
    phases,
    status,
    vocabulary,
)
from unit.explorer import ledgers
from unit.explorer.invariants import require
from unit.explorer.ledgers import DELETING, EXISTING, GONE, LABELS, LIVE, Ledger, Terms

ENABLED, DISABLED = "enabled", "disabled"
SETTLED_OUTCOMES: Final = (
    conditions.outcome(conditions.AGGREGATES, "AggregatesEnsured", ""),
    conditions.outcome(conditions.TRAITS, "NoTraitsDeclared", ""),
)
_DRAINING: Final = frozenset({vocabulary.DRAINING})
_RELEASING: Final = frozenset({vocabulary.RELEASING})
_CONFLICT: Final = frozenset({vocabulary.CONFLICT})


class Middle(NamedTuple):
    """What the second half of a pass remembers of the first. ``claimed`` is what the world says, not the rules.

    A pool that was deleted in between refuses the status write: the resourceVersion is another one.
    """

    life: str
    handed_over: tuple[str, ...]
    claimed: frozenset[str]
    began_empty: bool


class Pool(NamedTuple):
    """A pool. ``unread`` are (reader, its ledger before the last write) while that reader has not passed since."""

    life: str = ledgers.ABSENT
    ledger: Ledger = ()
    unread: tuple[tuple[int, Ledger], ...] = ()
    middle: Middle | None = None
    terms: Terms | None = None
    #: Nodes whose service is known to have been disabled in this drain; the rules know nothing of it.
    disabled: frozenset[str] = frozenset()

    def before(self, reader: int) -> Ledger | None:
        """What that reader may still see."""
        return dict(self.unread).get(reader)


class Node(NamedTuple):
    """A node and its host in Nova. ``labels`` is None for a Node that is deleted, ``pods`` are of pools by place."""

    name: str
    labels: frozenset[str] | None = frozenset()
    service: str | None = None
    servers: bool = False
    pods: frozenset[int] = frozenset()


class World(NamedTuple):
    """All of it. The one aggregate is ``tenant_filter_tests``, marked and without hosts."""

    pools: tuple[Pool, ...]
    nodes: tuple[Node, ...]
    aggregate: bool = False


def with_pool(world: World, index: int, pool: Pool) -> World:
    """The world with another pool in that place."""
    return world._replace(pools=(*world.pools[:index], pool, *world.pools[index + 1 :]))


def with_node(world: World, name: str, **changes: Any) -> World:
    """The world with a node changed."""
    return world._replace(nodes=tuple(node._replace(**changes) if node.name == name else node for node in world.nodes))


def selects(index: int, pool: Pool, node: Node) -> bool:
    """Whether the pool wants the node, as the world sees it."""
    return pool.life == LIVE and node.labels is not None and LABELS[index] in node.labels


def others(world: World, index: int) -> list[tuple[int, Pool]]:
    """The other pools that exist, by place."""
    return [(place, pool) for place, pool in enumerate(world.pools) if place != index and pool.life in EXISTING]


# --- the first half of a pass


def first_half(world: World, index: int, *, stale: frozenset[int] = frozenset()) -> World:
    """The world after the ledger was written; ``stale`` are the pools whose last write was not seen."""
    own, rivals = world.pools[index], others(world, index)
    views = tuple((place, pool.life, (pool.before(index) if place in stale else None)) for place, pool in rivals)
    views = tuple(
        (place, life, pool.ledger if old is None else old)
        for (place, life, old), (_, pool) in zip(views, rivals, strict=True)
    )
    labels = tuple((node.name, node.labels) for node in world.nodes if node.labels is not None)
    ledger, handed_over = _decided(index, own.life, own.ledger, views, labels)
    mine = frozenset(node.name for node in world.nodes if selects(index, own, node))
    claimed = frozenset(node.name for node in world.nodes for place, pool in rivals if selects(place, pool, node))
    held = ledgers.in_phases(ledger, vocabulary.SELECTED_PHASES)
    for place, pool in rivals:
        if place < index and pool.life == LIVE and place not in stale:
            require(not held & ledgers.in_phases(pool.ledger, vocabulary.SELECTED_PHASES), "one holder")
    leaving = ledgers.in_phases(ledger, vocabulary.LEAVING_PHASES)
    require(own.life == LIVE or not held, "deleting")
    require(not leaving & mine, "selected")
    require(ledgers.newly_releasing(own.ledger, ledger) <= claimed, "empty")
    began_empty = not ledgers.in_phases(own.ledger, vocabulary.HELD_PHASES)
    moved = own._replace(
        ledger=ledger,
        unread=unread(own, ledger, rivals),
        middle=Middle(own.life, handed_over, claimed & leaving, began_empty and own.life == DELETING),
        disabled=own.disabled & leaving,
    )
    return with_pool(_read_by(world, index), index, moved)


def _read_by(world: World, reader: int) -> World:
    """The world once that pool has read the others, or is gone."""
    pools = (
        pool._replace(unread=tuple(one for one in pool.unread if one[0] != reader)) if pool.unread else pool
        for pool in world.pools
    )
    return world._replace(pools=tuple(pools))


def unread(own: Pool, ledger: Ledger, rivals: list[tuple[int, Pool]]) -> tuple[tuple[int, Ledger], ...]:
    """What each of the others may still read once ``ledger`` is written."""
    before = ledgers.as_seen(own.ledger)
    if before == ledgers.as_seen(ledger):
        return own.unread
    return tuple((place, before) for place, _ in rivals)


@functools.cache
def _decided(
    index: int,
    life: str,
    ledger: Ledger,
    views: tuple[tuple[int, str, Ledger], ...],
    labels: tuple[tuple[str, frozenset[str]], ...],
) -> tuple[Ledger, tuple[str, ...]]:
    """What node_ledger decides from the pools and the nodes that exist."""
    own = _pool(index, life, ledger)
    rivals = [_pool(*view) for view in views]
    nodes = {name: dict.fromkeys(having, "yes") for name, having in labels}
    after = phases.next_ledger(own, rivals, nodes, ledgers.data(ledger))
    return ledgers.tuples(after), tuple(phases.handovers(rivals, nodes, after))


@functools.cache
def _pool(index: int, life: str, ledger: Ledger) -> phases.Pool:
    return phases.pool_of(ledgers.novacompute(index, life, ledger))


# --- the second half: effect after effect, and what is left when the pass dies after any of them


def second_half(world: World, index: int, *, failing: str = "") -> Iterator[World]:  # noqa: PLR0915
    """The world after each prefix of the effects; the last one is that of a whole pass.

    One function on purpose: it reads as the playbook does, from top to bottom.
    """
    own, rivals = world.pools[index], others(world, index)
    middle = own.middle
    assert middle is not None
    life = middle.life
    terms = ledgers.terms_of(index, life, own.ledger)
    observed = terms == own.terms
    draining = ledgers.in_phases(own.ledger, _DRAINING)
    require(draining <= (terms.kept if terms else frozenset()), "kept")
    crashed = own._replace(middle=None, terms=terms)
    world = with_pool(world, index, crashed)
    yield world

    wanted = _aggregate_after(
        index, life, own.ledger, tuple((place, pool.life, pool.ledger) for place, pool in rivals), world.aggregate
    )
    if wanted != world.aggregate:
        world = world._replace(aggregate=wanted)
        yield world

    ledger = ledgers.data(own.ledger)
    services = _services(world)
    not_disabled = []
    for due in drain.services_to_disable(ledger, services):
        name = due["node"]
        if failing == "disable":
            not_disabled.append(name)
            continue
        require(name in draining, "draining")
        require(name not in own.disabled, "once")
        world = with_node(world, name, service=DISABLED)
        services[name] = {**services[name], "status": DISABLED}
        yield world

    own_pods = {node.name for node in world.nodes if index in node.pods}
    all_pods = {node.name for node in world.nodes if node.pods}
    listed = own_pods | (all_pods - set(middle.handed_over))
    pods = None if failing == "pods" or not observed else dict.fromkeys(listed, "pod")
    by_name = {node.name: node for node in world.nodes}
    counts = {
        name: int(by_name[name].servers)
        for name in drain.nodes_to_count(ledger, pods, middle.handed_over, not_disabled)
        if failing != "count"
    }
    deletions = {}
    for due in [] if pods is None else drain.services_to_delete(ledger, services, counts, pods, middle.handed_over):
        name = due["node"]
        require(name not in all_pods, "pod gone")
        require(counts.get(name) == 0 and not by_name[name].servers, "counted")
        require(name in ledgers.in_phases(own.ledger, _RELEASING), "releasing")
        require(name not in middle.claimed, "taken over")
        if failing == "refused":
            deletions[name] = drain.REFUSED
            world = with_node(world, name, servers=True)
        else:
            deletions[name] = drain.DELETED
            world = with_node(world, name, service=None)
        yield world

    after = ledgers.tuples(
        drain.next_ledger(
            ledger,
            services=services,
            counts=counts,
            pods=pods,
            handed_over=middle.handed_over,
            mapped=[] if failing == "mapping" else list(services),
            deletions=deletions,
        )
    )
    gone = {entry.name for entry in own.ledger} - {entry.name for entry in after}
    gone -= ledgers.in_phases(own.ledger, _CONFLICT)
    require(not gone & own_pods and (observed or not gone), "dropped")
    left = {node.name for node in world.nodes if node.service}
    require(gone & left <= middle.claimed, "clean")
    require(all(counts.get(name) == 0 for name in ledgers.newly_releasing(own.ledger, after)), "empty")
    known = draining & frozenset(name for name in counts if services.get(name, {}).get("status") == DISABLED)
    settled = crashed._replace(
        ledger=after,
        unread=unread(own, after, rivals),
        disabled=(own.disabled | known) & ledgers.in_phases(after, vocabulary.LEAVING_PHASES) & frozenset(services),
    )
    if own.life != life:
        return
    world = with_pool(world, index, settled)
    yield world

    began_with = [] if middle.began_empty else ledgers.data(own.ledger)
    if status.may_release(ledgers.novacompute(index, life, after), began_with, SETTLED_OUTCOMES):
        require(not phases.held(ledgers.data(after)) and life == DELETING, "finalizer")
        require(not world.aggregate or bool(rivals), "aggregate")
        yield with_pool(_read_by(world, index), index, Pool(life=GONE))


def _services(world: World) -> dict[str, dict[str, Any]]:
    return {
        node.name: {"host": node.name, "id": f"id-{node.name}", "status": node.service, "state": "up"}
        for node in world.nodes
        if node.service
    }


@functools.cache
def _aggregate_after(
    index: int,
    life: str,
    ledger: Ledger,
    rivals: tuple[tuple[int, str, Ledger], ...],
    present: bool,  # noqa: FBT001
) -> bool:
    """Whether tenant_filter_tests, marked by us and without hosts, exists after the step."""
    listed = [
        {
            "id": 1,
            "name": vocabulary.TENANT_FILTER_TESTS,
            "availability_zone": None,
            "hosts": [],
            "metadata": {vocabulary.AGGREGATE_MARKER: "openstack/nova"},
        }
    ]
    siblings = [ledgers.novacompute(*rival) for rival in rivals]
    own = ledgers.novacompute(index, life, ledger)
    plan = aggregates.plan(own, ledgers.data(ledger), siblings, listed if present else [])
    return (present and not plan.delete) or bool(plan.create)


def failures(world: World, index: int) -> list[str]:
    """What can fail in this second half so that it ends differently; an empty text is nothing."""
    entries = {entry.name: entry.phase for entry in world.pools[index].ledger}
    nodes = [node for node in world.nodes if node.name in entries]
    draining = [node for node in nodes if entries[node.name] == vocabulary.DRAINING]
    released = any(entries[node.name] == vocabulary.RELEASING and index not in node.pods for node in nodes)
    pending = any(entries[node.name] == vocabulary.PENDING and node.service for node in nodes)
    return [
        "",
        *(["mapping"] if pending else []),
        *(["disable"] if any(node.service == ENABLED for node in draining) else []),
        *(["count"] if draining or released else []),
        *(["pods", "refused"] if released else []),
    ]


def forget() -> None:
    """Forget what the rules decided before one of them was changed."""
    for cached in (_decided, _pool, _aggregate_after, ledgers.terms_of, ledgers.novacompute):
        cached.cache_clear()
