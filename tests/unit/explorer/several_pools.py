# SPDX-License-Identifier: Apache-2.0
"""Drives two or three pools of one Nova through every order of so many events, and sees that the world comes to rest.

Between and around the halves of passes nodes are labelled, deleted and return; pools come and go; pods start and end as
the applied affinity says; services register, are lost, disabled and enabled by others, and mapped; servers come and go.
A pass can read another pool's ledger from before its last write, lose its status write, fail to list pods, to count, to
read the hypervisors or to disable a service, have a delete refused, and die between any two of its effects.

Bounded are: how many events come from outside (passes, controllers and failures are free); one service identity per
node; one aggregate; the pools' ages are in the order of their names and each lives once; a host has no server or some.
All events there are would be too many: two pools and one node have 164,645 states after five events, 732,642 after six,
and four to five times as many with each further one. :mod:`one_pool` has none of these bounds, but sees a single pool
in whatever surroundings.

    PYTHONPATH=collections:tests python -m unit.explorer.several_pools POOLS NODES EVENTS
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterator

from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary
from unit.explorer import invariants, ledgers, search, worlds
from unit.explorer.invariants import require
from unit.explorer.ledgers import ABSENT, DELETING, EXISTING, LABELS, LIVE
from unit.explorer.worlds import DISABLED, ENABLED, Node, Pool, World, with_node, with_pool

# --- what the rest of the world does


def outside(world: World) -> Iterator[World]:
    """What people, other controllers and Nova's users do: these events are counted where they are limited."""
    for index, pool in enumerate(world.pools):
        if pool.life == ABSENT and (index == 0 or world.pools[index - 1].life != ABSENT):
            yield with_pool(world, index, pool._replace(life=LIVE))
        if pool.life == LIVE:
            yield with_pool(world, index, pool._replace(life=DELETING))
    for node in world.nodes:
        name = node.name
        if node.labels is None:
            yield with_node(world, name, labels=frozenset())
        else:
            yield with_node(world, name, labels=None)
            yield from (with_node(world, name, labels=node.labels ^ {label}) for label in LABELS[: len(world.pools)])
        if node.service:
            yield with_node(world, name, service=DISABLED if node.service == ENABLED else ENABLED)
            if not node.servers:
                yield with_node(world, name, service=None)
            yield with_node(world, name, servers=not node.servers)
        elif node.servers:
            yield with_node(world, name, servers=False)


def controllers(world: World) -> Iterator[World]:
    """What follows by itself: pods as the affinity says, the service of a pod."""
    for node in world.nodes:
        for index, pool in enumerate(world.pools):
            if (index in node.pods) != runs_here(index, pool, node):
                yield with_node(world, node.name, pods=node.pods ^ {index})
        if node.pods and not node.service:
            yield with_node(world, node.name, service=ENABLED)


def runs_here(index: int, pool: Pool, node: Node) -> bool:
    """Whether the applied affinity wants a pod of the pool on the node."""
    if pool.terms is None or node.labels is None:
        return False
    chosen = pool.terms.selects and LABELS[index] in node.labels and node.name not in pool.terms.excluded
    return chosen or node.name in pool.terms.kept


def passes(world: World) -> Iterator[World]:
    """What the next half of each pool's pass can make of the world."""
    for index, pool in enumerate(world.pools):
        if pool.life not in EXISTING:
            continue
        if pool.middle is None:
            old = [place for place, other in worlds.others(world, index) if other.before(index) is not None]
            for count in range(len(old) + 1):
                for stale in itertools.combinations(old, count):
                    yield worlds.first_half(world, index, stale=frozenset(stale))
        else:
            for failing in worlds.failures(world, index):
                yield from worlds.second_half(world, index, failing=failing)


# --- where to begin


def starts(pools: int, nodes: int) -> Iterator[tuple[World, int]]:
    """Where to begin, and how many events that counts for, so that the rare beginnings are looked at too.

    A pool at rest with a server; a conflict at rest; a node that two hold after a stale read; the pools; nothing.
    """
    empty = World(pools=(Pool(),) * pools, nodes=tuple(Node(f"node-{number + 1}") for number in range(nodes)))
    all_live = empty._replace(pools=(Pool(life=LIVE),) * pools)
    for label in LABELS[:pools]:
        yield with_node(at_rest(all_live, {label}), "node-1", servers=True), 2
    yield at_rest(all_live, set(LABELS[:pools])), 3
    yield doubly_held(all_live), 4
    yield all_live, 2
    yield empty, 0


def at_rest(world: World, labels: set[str]) -> World:
    """What the pools make of nodes with these labels."""
    nodes = tuple(node._replace(labels=frozenset(labels)) for node in world.nodes)
    return search.resting(world._replace(nodes=nodes), undisturbed)


def doubly_held(world: World) -> World:
    """The older pool took a node because it read the younger one's status from before that one took it."""
    world = worlds.first_half(with_node(world, "node-1", labels=frozenset({LABELS[1]})), 1)
    *_, world = worlds.second_half(world, 1)
    labels = frozenset(LABELS[: len(world.pools)])
    world = worlds.first_half(with_node(world, "node-1", labels=labels), 0, stale=frozenset({1}))
    *_, world = worlds.second_half(world, 0)
    return world


# --- the exploration


def explore(*, pools: int, nodes: int, events: int) -> invariants.Report:
    """Visit every state that takes at most ``events`` events from outside to reach. Raises BrokenError."""
    worlds.forget()
    return search.explore(
        dict(starts(pools, nodes)),
        name=f"{search.counted(pools, 'pool')}, {search.counted(nodes, 'node')}",
        surroundings="labels, services, servers and pools change",
        free=(passes, controllers),
        outside=outside,
        events=events,
        rest=functools.partial(search.come_to_rest, undisturbed=undisturbed, judge_rest=judge_rest, invariant="rest"),
        invariants=len(invariants.INVARIANTS) + len(invariants.OF_REST),
    )


def undisturbed(world: World) -> World | None:
    """The next step when nobody interferes and nothing fails; None when a whole round of passes changes nothing."""
    following = next(controllers(world), None)
    if following is not None:
        return following
    for index, pool in enumerate(world.pools):
        if pool.life not in EXISTING:
            continue
        begun = worlds.first_half(world, index) if pool.middle is None else world
        *_, after = worlds.second_half(begun, index)
        if pool.middle is not None or _settled(after) != _settled(world):
            return after
    return None


def _settled(world: World) -> World:
    """The world without what a pass merely remembers."""
    return world._replace(pools=tuple(pool._replace(unread=(), middle=None) for pool in world.pools))


def judge_rest(world: World) -> None:
    """Raise BrokenError unless this is where a world may rest."""
    for node in world.nodes:
        held = [
            (index, entry)
            for index, pool in enumerate(world.pools)
            for entry in pool.ledger
            if entry.name == node.name and entry.phase != vocabulary.CONFLICT
        ]
        wanting = [index for index, pool in enumerate(world.pools) if worlds.selects(index, pool, node)]
        if wanting:
            require(len(held) == 1 and held[0][1].phase == vocabulary.ACTIVE and held[0][0] in wanting, "goal")
        else:
            draining = [entry for _, entry in held if entry.phase == vocabulary.DRAINING]
            # Whoever had handed it over waits with it for its servers, should the other pool have to let it go in turn.
            waiting = [entry for _, entry in held if entry.phase == vocabulary.RELEASING] if draining else []
            require(len(held) == len(draining + waiting) and (node.servers or not held), "goal")
    for pool in world.pools:
        holds = bool(ledgers.in_phases(pool.ledger, frozenset({vocabulary.DRAINING, vocabulary.RELEASING})))
        require(pool.life != DELETING or holds, "goal")


if __name__ == "__main__":
    sys.stdout.write(f"{explore(pools=int(sys.argv[1]), nodes=int(sys.argv[2]), events=int(sys.argv[3]))}\n")
