# SPDX-License-Identifier: Apache-2.0
"""A world of two pools that drives the real rules through every order of events, and says which invariant broke.

A pass is cut where the world can slip in between: its first half reads the nodes and the sibling pool and writes the
ledger, its second half applies the affinity, keeps the aggregate, asks Nova and writes the ledger again. Between and
around the halves nodes are labelled, deleted and return; pools come and go; pods start and end as the applied affinity
says; services register, are lost, disabled and enabled by others, and mapped; servers come and go. A pass can read a
sibling's ledger from before its last write, lose its status write, fail to list pods or to disable a service, have a
delete refused, and die between any two of its effects.

Bounded are: how many events come from outside (passes, controllers and failures are free); one service identity per
node; one aggregate (``tenant_filter_tests``); ``pool-a`` is always the older pool and each pool lives once; a host has
no server or some. ``python tests/unit/rules/explorer.py 2 4`` looks further: two nodes and four events.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    aggregates,
    conditions,
    drain,
    phases,
    status,
    vocabulary,
    workload,
)

ABSENT, LIVE, DELETING, GONE = "absent", "live", "deleting", "gone"
POOLS: Final = ("pool-a", "pool-b")
LABELS: Final = ("a", "b")
CREATED: Final = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
ENABLED, DISABLED = "enabled", "disabled"
SETTLED_OUTCOMES: Final = (
    conditions.outcome(conditions.AGGREGATES, "AggregatesEnsured", ""),
    conditions.outcome(conditions.TRAITS, "NoTraitsDeclared", ""),
)


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


class Middle(NamedTuple):
    """What the second half of a pass remembers of the first. ``claimed`` is what the world says, not the rules.

    A pool that was deleted in between refuses the status write: the resourceVersion is another one.
    """

    life: str
    handed_over: tuple[str, ...]
    claimed: frozenset[str]
    began_empty: bool


class Pool(NamedTuple):
    """A pool: ``unread`` is its ledger before the last write, while the sibling has not passed since."""

    life: str = ABSENT
    ledger: Ledger = ()
    unread: Ledger | None = None
    middle: Middle | None = None
    terms: Terms | None = None
    #: Nodes whose service this drain is known to have disabled; the rules know nothing of it.
    disabled: frozenset[str] = frozenset()


class Node(NamedTuple):
    """A node and its host in Nova. ``labels`` is None for a Node that is deleted."""

    name: str
    labels: frozenset[str] | None = frozenset()
    service: str | None = None
    servers: bool = False
    pods: frozenset[int] = frozenset()


class World(NamedTuple):
    pools: tuple[Pool, Pool]
    nodes: tuple[Node, ...]
    aggregate: bool = False


class BrokenError(AssertionError):
    """An invariant that does not hold; its text names it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    states: int
    transitions: int

    def __str__(self) -> str:
        return f"{self.states} states, {self.transitions} transitions, {len(INVARIANTS)} invariants hold"


INVARIANTS: Final = {
    "pod gone": "a service is deleted only after the pods of every pool on the node are gone",
    "counted": "a service is deleted only where this pass counted no server",
    "releasing": "a service is deleted only on a node that the ledger in the API calls Releasing",
    "taken over": "a service that another pool takes over is not deleted",
    "draining": "a service is disabled only on a node that drains",
    "once": "a service is disabled once in a drain",
    "one holder": "after a pass of the younger pool no two pools hold a node Pending or Active",
    "deleting": "a pool being deleted holds no node Pending or Active after its pass",
    "selected": "a node that the pool selects does not leave it",
    "empty": "a node is released only when it is empty or handed over",
    "kept": "a draining node keeps its pod",
    "dropped": "an entry is dropped only after its pod is gone",
    "clean": "an entry is dropped only with its service, or with a pool that takes both over",
    "finalizer": "a finalizer leaves only after every node is released",
    "aggregate": "the last pool leaves no aggregate of ours behind",
    "rest": "left alone, the world comes to rest",
    "goal": "at rest, every selected node is held by one pool, and what is empty and left is gone",
}


def require(holds: bool, invariant: str) -> None:  # noqa: FBT001
    if not holds:
        raise BrokenError(INVARIANTS[invariant])


# --- between the world's tuples and the rules' plain data


def rules_pool(index: int, pool: Pool, ledger: Ledger) -> phases.Pool:
    return phases.pool_of(novacompute(index, pool.life, ledger))


@functools.cache
def novacompute(index: int, life: str, ledger: Ledger) -> dict[str, Any]:
    metadata = {"name": POOLS[index], "namespace": "openstack", "creationTimestamp": CREATED[index]}
    if life == DELETING:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    spec = {"novaRef": {"name": "nova"}, "nodeSelector": {LABELS[index]: "yes"}}
    return {"metadata": metadata, "spec": spec, "status": {"nodes": data(ledger)}}


def data(ledger: Ledger) -> list[dict[str, Any]]:
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
def in_phases(ledger: Ledger, wanted: frozenset[str]) -> frozenset[str]:
    return frozenset(entry.name for entry in ledger if entry.phase in wanted)


def newly_releasing(before: Ledger, after: Ledger) -> frozenset[str]:
    return in_phases(after, frozenset({vocabulary.RELEASING})) - in_phases(before, frozenset({vocabulary.RELEASING}))


def selects(index: int, pool: Pool, node: Node) -> bool:
    return pool.life == LIVE and node.labels is not None and LABELS[index] in node.labels


# --- the first half of a pass


def first_half(world: World, index: int, *, stale: bool) -> World:
    own, other = world.pools[index], world.pools[1 - index]
    seen = other.unread if stale and other.unread is not None else other.ledger
    ledger, handed_over = _decided(
        index,
        own.life,
        own.ledger,
        other.life,
        seen,
        tuple((node.name, node.labels) for node in world.nodes if node.labels is not None),
    )
    mine = frozenset(node.name for node in world.nodes if selects(index, own, node))
    claimed = frozenset(node.name for node in world.nodes if selects(1 - index, other, node))
    held, others = in_phases(ledger, vocabulary.SELECTED_PHASES), in_phases(other.ledger, vocabulary.SELECTED_PHASES)
    if index == 1 and other.life == LIVE and not stale:
        require(not held & others, "one holder")
    require(own.life == LIVE or not held, "deleting")
    require(not in_phases(ledger, vocabulary.LEAVING_PHASES) & mine, "selected")
    require(newly_releasing(own.ledger, ledger) <= claimed, "empty")
    began_empty = not in_phases(own.ledger, vocabulary.HELD_PHASES)
    moved = own._replace(
        ledger=ledger,
        unread=unread(own, ledger, other),
        middle=Middle(
            own.life,
            handed_over,
            claimed & in_phases(ledger, vocabulary.LEAVING_PHASES),
            began_empty and own.life == DELETING,
        ),
        disabled=own.disabled & in_phases(ledger, vocabulary.LEAVING_PHASES),
    )
    return with_pools(world, index, moved, other._replace(unread=None))


def unread(own: Pool, ledger: Ledger, other: Pool) -> Ledger | None:
    """What the sibling may still read once ``ledger`` is written: of an entry it looks at nothing but the phase."""
    if other.life not in (LIVE, DELETING):
        return None
    before, after = (
        tuple(
            Entry(entry.name, entry.phase, None, False, None) for entry in written if entry.phase != vocabulary.CONFLICT
        )
        for written in (own.ledger, ledger)
    )
    return own.unread if before == after else before


@functools.cache
def _decided(  # noqa: PLR0917
    index: int,
    life: str,
    ledger: Ledger,
    other_life: str,
    seen: Ledger,
    labels: tuple[tuple[str, frozenset[str]], ...],
) -> tuple[Ledger, tuple[str, ...]]:
    """What node_ledger decides from the pools and the nodes that exist."""
    own = phases.pool_of(novacompute(index, life, ledger))
    rivals = [phases.pool_of(novacompute(1 - index, other_life, seen))] if other_life in (LIVE, DELETING) else []
    nodes = {name: dict.fromkeys(having, "yes") for name, having in labels}
    after = phases.next_ledger(own, rivals, nodes, data(ledger))
    return tuples(after), tuple(phases.handovers(rivals, nodes, after))


def with_pools(world: World, index: int, own: Pool, other: Pool) -> World:
    return world._replace(pools=(own, other) if index == 0 else (other, own))


# --- the second half: effect after effect, and what is left when the pass dies after any of them


def second_half(world: World, index: int, *, failing: str = "") -> Iterator[World]:  # noqa: PLR0915
    """The world after each prefix of the effects; the last one is that of a whole pass.

    One function on purpose: it reads as the playbook does, from top to bottom.
    """
    own, other = world.pools[index], world.pools[1 - index]
    middle = own.middle
    assert middle is not None
    life = middle.life
    crashed = own._replace(middle=None)
    terms = _terms(index, life, own.ledger)
    observed = terms == own.terms
    draining = in_phases(own.ledger, frozenset({vocabulary.DRAINING}))
    require(draining <= (terms.kept if terms else frozenset()), "kept")
    crashed = crashed._replace(terms=terms)
    world = with_pools(world, index, crashed, other)
    yield world

    wanted = aggregates_after(index, own._replace(life=life), other, present=world.aggregate)
    if wanted != world.aggregate:
        world = world._replace(aggregate=wanted)
        yield world

    ledger = data(own.ledger)
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
    }
    deletions = {}
    for due in [] if pods is None else drain.services_to_delete(ledger, services, counts, pods, middle.handed_over):
        name = due["node"]
        require(name not in all_pods, "pod gone")
        require(counts.get(name) == 0 and not by_name[name].servers, "counted")
        require(name in in_phases(own.ledger, frozenset({vocabulary.RELEASING})), "releasing")
        require(name not in middle.claimed, "taken over")
        if failing == "refused":
            deletions[name] = drain.REFUSED
            world = with_node(world, name, servers=True)
        else:
            deletions[name] = drain.DELETED
            world = with_node(world, name, service=None)
        yield world

    after = tuples(
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
    gone -= in_phases(own.ledger, frozenset({vocabulary.CONFLICT}))
    require(not gone & own_pods and (observed or not gone), "dropped")
    left = {node.name for node in world.nodes if node.service}
    require(gone & left <= middle.claimed, "clean")
    require(all(counts.get(name) == 0 for name in newly_releasing(own.ledger, after)), "empty")
    known = draining & frozenset(name for name, service in services.items() if service["status"] == DISABLED)
    settled = crashed._replace(
        ledger=after,
        unread=unread(own, after, other),
        disabled=(own.disabled | known) & in_phases(after, vocabulary.LEAVING_PHASES) & frozenset(services),
    )
    if own.life != life:
        return
    world = with_pools(world, index, settled, other)
    yield world

    began_with = [] if middle.began_empty else data(own.ledger)
    if status.may_release(novacompute(index, life, after), began_with, SETTLED_OUTCOMES):
        require(not phases.held(data(after)) and life == DELETING, "finalizer")
        require(not world.aggregate or other.life in (LIVE, DELETING), "aggregate")
        yield with_pools(world, index, Pool(life=GONE), other._replace(unread=None))


@functools.cache
def _terms(index: int, life: str, ledger: Ledger) -> Terms | None:
    made = workload.affinity_terms(novacompute(index, life, ledger), data(ledger))
    fields = [(field, "matchExpressions" in term) for term in made for field in term.get("matchFields", [])]
    if not made:
        return None
    return Terms(
        any("matchExpressions" in term for term in made),
        frozenset(field["values"][0] for field, _ in fields if field["operator"] == "NotIn"),
        frozenset(field["values"][0] for field, of_pool in fields if field["operator"] == "In" and not of_pool),
    )


def _services(world: World) -> dict[str, dict[str, Any]]:
    return {
        node.name: {"host": node.name, "id": f"id-{node.name}", "status": node.service, "state": "up"}
        for node in world.nodes
        if node.service
    }


def with_node(world: World, name: str, **changes: Any) -> World:
    return world._replace(nodes=tuple(node._replace(**changes) if node.name == name else node for node in world.nodes))


def aggregates_after(index: int, own: Pool, other: Pool, *, present: bool) -> bool:
    """Whether tenant_filter_tests, marked by us and without hosts, exists after the step."""
    return _aggregate_after(index, own.life, own.ledger, other.life, other.ledger, present)


@functools.cache
def _aggregate_after(  # noqa: PLR0917
    index: int,
    life: str,
    ledger: Ledger,
    other_life: str,
    other_ledger: Ledger,
    present: bool,  # noqa: FBT001
) -> bool:
    listed = [
        {
            "id": 1,
            "name": vocabulary.TENANT_FILTER_TESTS,
            "availability_zone": None,
            "hosts": [],
            "metadata": {vocabulary.AGGREGATE_MARKER: "openstack/nova"},
        }
    ]
    siblings = [novacompute(1 - index, other_life, other_ledger)] if other_life in (LIVE, DELETING) else []
    plan = aggregates.plan(novacompute(index, life, ledger), data(ledger), siblings, listed if present else [])
    return (present and not plan.delete) or bool(plan.create)


# --- what the rest of the world does


def outside(world: World) -> Iterator[World]:
    """What people, other controllers and Nova's users do: these events are counted where they are limited."""
    for index, pool in enumerate(world.pools):
        if pool.life == ABSENT and (index == 0 or world.pools[0].life != ABSENT):
            yield with_pools(world, index, pool._replace(life=LIVE), world.pools[1 - index])
        if pool.life == LIVE:
            yield with_pools(world, index, pool._replace(life=DELETING), world.pools[1 - index])
    for node in world.nodes:
        name = node.name
        if node.labels is None:
            yield with_node(world, name, labels=frozenset())
        else:
            yield with_node(world, name, labels=None)
            yield from (with_node(world, name, labels=node.labels ^ {label}) for label in LABELS)
        if node.service:
            yield with_node(world, name, service=DISABLED if node.service == ENABLED else ENABLED)
            if not node.servers:
                yield with_node(world, name, service=None)
            yield with_node(world, name, servers=not node.servers)
        elif node.servers:
            yield with_node(world, name, servers=False)


def controllers(world: World) -> Iterator[World]:
    """What follows by itself: pods as the affinity says, the service of a pod, its mapping."""
    for node in world.nodes:
        for index, pool in enumerate(world.pools):
            if (index in node.pods) != runs_here(index, pool, node):
                yield with_node(world, node.name, pods=node.pods ^ {index})
        if node.pods and not node.service:
            yield with_node(world, node.name, service=ENABLED)


def runs_here(index: int, pool: Pool, node: Node) -> bool:
    if pool.terms is None or node.labels is None:
        return False
    chosen = pool.terms.selects and LABELS[index] in node.labels and node.name not in pool.terms.excluded
    return chosen or node.name in pool.terms.kept


def passes(world: World) -> Iterator[World]:
    for index, pool in enumerate(world.pools):
        if pool.life not in (LIVE, DELETING):
            continue
        if pool.middle is None:
            yield first_half(world, index, stale=False)
            if world.pools[1 - index].unread is not None:
                yield first_half(world, index, stale=True)
        else:
            for failing in failures(world, index):
                yield from second_half(world, index, failing=failing)


def failures(world: World, index: int) -> list[str]:
    """What can fail in this second half so that it ends differently; an empty text is nothing."""
    entries = {entry.name: entry.phase for entry in world.pools[index].ledger}
    nodes = [node for node in world.nodes if node.name in entries]
    draining = any(entries[node.name] == vocabulary.DRAINING and node.service == ENABLED for node in nodes)
    released = any(entries[node.name] == vocabulary.RELEASING and index not in node.pods for node in nodes)
    pending = any(entries[node.name] == vocabulary.PENDING and node.service for node in nodes)
    return [
        "",
        *(["mapping"] if pending else []),
        *(["disable"] if draining else []),
        *(["pods", "refused"] if released else []),
    ]


# --- the exploration


def starts(nodes: int) -> Iterator[tuple[World, int]]:
    """Where to begin, and how many events that counts for, so that the rare beginnings are looked at too.

    A pool at rest with a server; a conflict at rest; a node that both hold after a stale read; two pools; nothing.
    """
    empty = World(pools=(Pool(), Pool()), nodes=tuple(Node(f"node-{number + 1}") for number in range(nodes)))
    both = empty._replace(pools=(Pool(life=LIVE), Pool(life=LIVE)))
    for label in LABELS:
        yield with_node(at_rest(both, {label}), "node-1", servers=True), 2
    yield at_rest(both, set(LABELS)), 3
    yield doubly_held(both), 4
    yield both, 2
    yield empty, 0


def at_rest(both: World, labels: set[str]) -> World:
    """What two pools make of nodes with these labels."""
    nodes = tuple(node._replace(labels=frozenset(labels)) for node in both.nodes)
    following: World | None = both._replace(nodes=nodes)
    while following is not None:
        settled, following = following, undisturbed(following)
    return settled


def doubly_held(both: World) -> World:
    """The older pool took a node because it read the younger one's status from before that one took it."""
    world = first_half(with_node(both, "node-1", labels=frozenset({LABELS[1]})), 1, stale=False)
    *_, world = second_half(world, 1)
    world = first_half(with_node(world, "node-1", labels=frozenset(LABELS)), 0, stale=True)
    *_, world = second_half(world, 0)
    return world


def explore(nodes: int, events: int) -> Report:
    """Visit every state that takes at most ``events`` events from outside to reach. Raises BrokenError."""
    _decided.cache_clear()
    _terms.cache_clear()
    _aggregate_after.cache_clear()
    novacompute.cache_clear()
    seen = dict(starts(nodes))
    queue = deque(seen)
    transitions = 0
    at_rest: dict[World, bool] = {}
    while queue:
        world = queue.popleft()
        used = seen[world]
        for cost, source in ((0, passes), (0, controllers), (1, outside)):
            if cost and used >= events:
                continue
            for following in source(world):
                transitions += 1
                if following not in seen or seen[following] > used + cost:
                    seen[following] = used + cost
                    # Free steps first: what they reach is reached at the lowest cost.
                    queue.append(following) if cost else queue.appendleft(following)
        comes_to_rest(world, at_rest)
    return Report(states=len(seen), transitions=transitions)


def undisturbed(world: World) -> World | None:
    """The next step when nobody interferes and nothing fails; None when a whole round of passes changes nothing."""
    following = next(controllers(world), None)
    if following is not None:
        return following
    for index, pool in enumerate(world.pools):
        if pool.life not in (LIVE, DELETING):
            continue
        begun = first_half(world, index, stale=False) if pool.middle is None else world
        *_, after = second_half(begun, index)
        if pool.middle is not None or _settled(after) != _settled(world):
            return after
    return None


def _settled(world: World) -> World:
    """The world without what a pass merely remembers."""
    pools = tuple(pool._replace(unread=None, middle=None) for pool in world.pools)
    return world._replace(pools=pools)  # type: ignore[arg-type]


def comes_to_rest(world: World, known: dict[World, bool]) -> None:
    path = []
    current: World | None = world
    while current is not None and current not in known:
        known[current] = False
        path.append(current)
        following = undisturbed(current)
        if following is None:
            judge_rest(current)
        current = following
    require(current is None or known[current], "rest")
    for visited in path:
        known[visited] = True


def judge_rest(world: World) -> None:
    for node in world.nodes:
        held = [
            (index, entry)
            for index, pool in enumerate(world.pools)
            for entry in pool.ledger
            if entry.name == node.name and entry.phase != vocabulary.CONFLICT
        ]
        wanting = [index for index, pool in enumerate(world.pools) if selects(index, pool, node)]
        if wanting:
            require(len(held) == 1 and held[0][1].phase == vocabulary.ACTIVE and held[0][0] in wanting, "goal")
        else:
            require(all(entry.phase == vocabulary.DRAINING and node.servers for _, entry in held), "goal")
    for pool in world.pools:
        require(pool.life != DELETING or bool(in_phases(pool.ledger, frozenset({vocabulary.DRAINING}))), "goal")


if __name__ == "__main__":
    sys.stdout.write(f"{explore(int(sys.argv[1]), int(sys.argv[2]))}\n")
