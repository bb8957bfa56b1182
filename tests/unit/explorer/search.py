# SPDX-License-Identifier: Apache-2.0
"""Visits every state of a world that takes so many events from outside to reach, and follows each to its rest.

A world is any hashable value; what may happen in it, and where it may rest, its explorer says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from unit.explorer.invariants import Report, require

World = TypeVar("World")
Steps = Callable[[World], Iterable[World]]


def explore(
    starts: Mapping[World, int],
    *,
    name: str,
    surroundings: str,
    free: Iterable[Steps[World]],
    outside: Steps[World],
    events: int,
    rest: Callable[[World, dict[World, bool]], None],
    invariants: int,
) -> Report:
    """Visit every state that takes at most ``events`` steps from ``outside`` to reach; those of ``free`` cost nothing.

    ``starts`` says what each beginning has cost already, and ``rest`` raises unless a world comes to rest, see
    :func:`come_to_rest`. ``name`` and ``surroundings`` are for the report. Raises BrokenError.
    """
    sources = [*((0, steps) for steps in free), (1, outside)]
    seen = dict(starts)
    queue = deque(seen)
    transitions = 0
    rests: dict[World, bool] = {}
    while queue:
        world = queue.popleft()
        used = seen[world]
        for cost, source in sources:
            if cost and used >= events:
                continue
            for following in source(world):
                transitions += 1
                if following not in seen or seen[following] > used + cost:
                    seen[following] = used + cost
                    # Free steps first: what they reach is reached at the lowest cost.
                    queue.append(following) if cost else queue.appendleft(following)
        rest(world, rests)
    return Report(
        world=name,
        surroundings=surroundings,
        states=len(seen),
        transitions=transitions,
        invariants=invariants,
        bound=f"{counted(events, 'event')} from outside",
    )


def counted(count: int, thing: str) -> str:
    """A number of things: ``1 node``, ``2 nodes``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def come_to_rest(
    world: World,
    known: dict[World, bool],
    *,
    undisturbed: Callable[[World], World | None],
    judge_rest: Callable[[World], None],
    invariant: str,
) -> None:
    """Raise BrokenError unless the undisturbed world ends where it should; ``known`` are the worlds that do.

    ``undisturbed`` is the next step when nobody interferes, None at rest; ``judge_rest`` raises for one that is none.
    """
    path = []
    current: World | None = world
    while current is not None and current not in known:
        known[current] = False
        path.append(current)
        following = undisturbed(current)
        if following is None:
            judge_rest(current)
        current = following
    require(current is None or known[current], invariant)
    for visited in path:
        known[visited] = True


def resting(world: World, undisturbed: Callable[[World], World | None]) -> World:
    """The world that the undisturbed one ends in."""
    while (following := undisturbed(world)) is not None:
        world = following
    return world
