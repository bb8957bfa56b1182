# SPDX-License-Identifier: Apache-2.0
"""Visits every state that a pool can be in, whatever surrounds it. There is no bound on events, pools or nodes.

Two facts make that possible. The rules decide each node by itself, so one node stands for any number: of the others the
pool only knows whether it holds one. And everything around the pool is free to change between the halves of its passes,
so it is no part of the state: each half is tried in every surroundings there are. That is more than can happen, and
what holds there holds in every order of events. One older and one younger pool stand for any number of them: the rules
ask whether there is one that holds or selects the node. test_explorer.py holds the rules to both.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from typing import Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary
from unit.explorer import invariants, ledgers, worlds
from unit.explorer.ledgers import DELETING, EXISTING, GONE, LABELS, LIVE
from unit.explorer.worlds import DISABLED, ENABLED, Node, Pool, World

NODE: Final = "node-1"
#: The pool's place among the three, by age.
OWN: Final = 1
_LABELS: Final = (None, *(frozenset(some) for count in range(4) for some in itertools.combinations(LABELS, count)))
_PODS: Final = tuple(frozenset(some) for count in range(3) for some in itertools.combinations((0, OWN), count))


def others() -> list[Pool]:
    """Another pool as the first half can find it: as far as anybody looks, it holds the node, leaves it, or neither."""
    phases = (vocabulary.ACTIVE, vocabulary.RELEASING)
    held = [(), *((ledgers.Entry(NODE, phase, None, False, None),) for phase in phases)]
    return [Pool(life=GONE), *(Pool(life=life, ledger=ledger) for life in EXISTING for ledger in held)]


def before_first_half(own: Pool) -> Iterator[World]:
    """The surroundings that the first half looks at: the other pools and the node's labels."""
    for older, younger, labels in itertools.product(others(), others(), _LABELS):
        yield World(pools=(older, own, younger), nodes=(Node(NODE, labels=labels),))


def before_second_half(own: Pool) -> Iterator[World]:
    """The surroundings that the second half looks at: the host in Nova and its pods, the aggregate, the other pools.

    A pool that stays keeps the aggregate, whatever the others do.
    """
    assert own.middle is not None
    lives, aggregate = ((LIVE,), (True,)) if own.middle.life == LIVE else ((*EXISTING, GONE), (True, False))
    for service, servers, pods, life, is_there in itertools.product(
        (None, ENABLED, DISABLED), (False, True), _PODS, lives, aggregate
    ):
        node = Node(NODE, service=service, servers=servers, pods=pods)
        yield World(pools=(Pool(life=life), own, Pool(life=GONE)), nodes=(node,), aggregate=is_there)


def following(own: Pool) -> Iterator[Pool]:
    """What the pool can be next. Raises BrokenError."""
    if own.life == LIVE:
        yield own._replace(life=DELETING)
    if own.middle is None:
        for after in _after_first_half(own._replace(terms=None)):
            after = after._replace(terms=own.terms)  # noqa: PLW2901 - it has no part in the first half
            yield after
            if after.middle is not None and after.middle.began_empty:
                # Another node is held.
                yield after._replace(middle=after.middle._replace(began_empty=False))
    else:
        for world in before_second_half(own):
            for failing in worlds.failures(world, OWN):
                for left in worlds.second_half(world, OWN, failing=failing):
                    yield left.pools[OWN]._replace(unread=())


@functools.cache
def _after_first_half(own: Pool) -> frozenset[Pool]:
    found = (worlds.first_half(world, OWN).pools[OWN] for world in before_first_half(own))
    return frozenset(after._replace(unread=()) for after in found)


def explore() -> invariants.Report:
    """Visit every state of a pool. Raises BrokenError."""
    worlds.forget()
    _after_first_half.cache_clear()
    seen = {Pool(life=LIVE)}
    queue = deque(seen)
    transitions = 0
    while queue:
        own = queue.popleft()
        if own.life == GONE:
            continue
        for after in following(own):
            transitions += 1
            if after not in seen:
                seen.add(after)
                queue.append(after)
    return invariants.Report(
        world="1 pool, any nodes",
        surroundings="any pools, labels, services, servers and pods",
        states=len(seen),
        transitions=transitions,
        invariants=len(invariants.INVARIANTS),
        bound="none",
    )


if __name__ == "__main__":
    sys.stdout.write(f"{explore()}\n")
