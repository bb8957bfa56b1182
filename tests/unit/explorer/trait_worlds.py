# SPDX-License-Identifier: Apache-2.0
"""Drives one trait that two pools may declare through every order of so many events, by the real rules.

Each pool has one node with its Hypervisor. A pass is cut after it created the trait, and can die between any two of its
effects; it goes by what it read of the other pool when it began. Around the passes specs change, nodes leave and are
selected again, pools are deleted, a Hypervisor is terminated, a stranger's provider carries the trait, and the
hypervisor operator applies the lists.

    PYTHONPATH=collections:tests python -m unit.explorer.trait_worlds EVENTS
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, status, traits, vocabulary
from unit.explorer import invariants, search
from unit.explorer.invariants import require
from unit.explorer.ledgers import CREATED, DELETING, EXISTING, GONE, LIVE, POOLS

TRAIT: Final = "CUSTOM_ONE"
SELECTED, LEAVING, DROPPED = "selected", "leaving", "dropped"
#: Who created the trait that Placement has: no pool of ours, or a pool.
STRANGER, A_POOL = "a stranger", "a pool"


class Hypervisor(NamedTuple):
    """Of the pool's node: the list in its spec, the list it reports, and what the resource provider carries."""

    wanted: bool = False
    reported: bool = False
    carried: bool = False
    terminated: bool = False


class Read(NamedTuple):
    """What a pass knew of the other pool when it began."""

    life: str
    declares: bool
    recorded: bool


class Middle(NamedTuple):
    """What a pass knows after it created the trait."""

    life: str
    declares: bool
    other: Read
    hypervisor: Hypervisor | None
    made: bool
    failed: bool
    began_empty: bool


class Pool(NamedTuple):
    """A pool with one node; ``created`` and ``recorded`` are its status."""

    life: str = LIVE
    declares: bool = False
    node: str = SELECTED
    created: bool = False
    recorded: bool = False
    hypervisor: Hypervisor = Hypervisor()
    middle: Middle | None = None


class World(NamedTuple):
    """Placement's trait, by who created it, None for no such trait; and who carries it beside the pools' nodes."""

    pools: tuple[Pool, Pool]
    trait: str | None = None
    stranger_carries: bool = False


def with_pool(world: World, index: int, **changes: Any) -> World:
    """The world with a pool changed."""
    pools = tuple(pool._replace(**changes) if place == index else pool for place, pool in enumerate(world.pools))
    return world._replace(pools=pools)  # type: ignore[arg-type]


# --- the rules' plain data


def novacompute(index: int, life: str, declares: bool, created: bool) -> dict[str, Any]:  # noqa: FBT001
    metadata = {"name": POOLS[index], "namespace": "openstack", "creationTimestamp": CREATED[index]}
    if life == DELETING:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    spec: dict[str, Any] = {"novaRef": {"name": "nova"}, "nodeSelector": {"a": "yes"}}
    if declares:
        spec["traits"] = [TRAIT]
    return {"metadata": metadata, "spec": spec, "status": {"createdTraits": [TRAIT]} if created else {}}


def ledger_of(index: int, node: str, recorded: bool) -> list[dict[str, Any]]:  # noqa: FBT001
    if node == DROPPED:
        return []
    phase = vocabulary.ACTIVE if node == SELECTED else vocabulary.DRAINING
    return [{"name": f"node-{index}", "phase": phase, **({"traits": [TRAIT]} if recorded else {})}]


def as_read(hypervisor: Hypervisor) -> dict[str, Any]:
    return {
        "custom_traits": [TRAIT] if hypervisor.wanted else [],
        "lifecycle_enabled": True,
        "maintenance": "termination" if hypervisor.terminated else "",
        "reported": [TRAIT] if hypervisor.reported else [],
        "failure": None,
    }


def sibling(index: int, other: Read) -> list[dict[str, Any]]:
    if other.life not in EXISTING:
        return []
    found = novacompute(index, other.life, other.declares, False)
    nodes = [{"name": "theirs", "phase": "Active", "traits": [TRAIT]}] if other.recorded else []
    return [{**found, "status": {"nodes": nodes}}]


# --- the halves of a pass


def node_step(pool: Pool) -> Pool:
    """The pool after its nodes were read: a pool that is being deleted selects none."""
    return pool._replace(node=LEAVING) if pool.life == DELETING and pool.node == SELECTED else pool


def first_half(world: World, index: int, *, failing: str = "") -> World:
    """The world after the pass read everything and created the trait, where a node desires it."""
    began_empty = world.pools[index].node == DROPPED
    own, other = node_step(world.pools[index]), world.pools[1 - index]
    read = Read(other.life, other.declares, other.recorded)
    pool, ledger = novacompute(index, own.life, own.declares, own.created), ledger_of(index, own.node, own.recorded)
    seen = own.hypervisor if traits.managed(pool, ledger) else None
    hypervisors = {} if seen is None else {f"node-{index}": as_read(seen)}
    made = failed = False
    if traits.to_create(pool, hypervisors):
        failed = failing == "create"
        made = not failed and world.trait is None
        world = world._replace(trait=A_POOL) if made else world
    middle = Middle(own.life, own.declares, read, seen, made, failed, began_empty)
    return with_pool(world, index, node=own.node, middle=middle)


def second_half(world: World, index: int, *, failing: str = "") -> Iterator[World]:
    """The world after each prefix of the effects; the last one is that of a whole pass."""
    own = world.pools[index]
    middle = own.middle
    assert middle is not None
    world = with_pool(world, index, middle=None)
    yield world
    if own.life != middle.life or own.declares != middle.declares:
        # The status is written at the version that was read: somebody's change ends the pass.
        return
    siblings = sibling(1 - index, middle.other)
    name = f"node-{index}"
    pool = novacompute(index, middle.life, middle.declares, own.created)
    hypervisors = {} if middle.hypervisor is None else {name: as_read(middle.hypervisor)}
    ledger = traits.next_ledger(pool, ledger_of(index, own.node, own.recorded), hypervisors)
    created = traits.created_after([TRAIT] if own.created else [], [TRAIT] if middle.made else [])
    recorded = any(entry.get("traits") for entry in ledger)
    world = with_pool(world, index, created=bool(created), recorded=recorded)
    yield world

    for node, wanted in {} if middle.failed else traits.to_write(pool, hypervisors).items():
        require(not wanted or recorded, "noted")
        if not own.hypervisor.terminated and failing != "write":
            require(
                node == name and (not wanted or world.trait is not None or middle.other.life in EXISTING), "written"
            )
            world = with_pool(world, index, hypervisor=own.hypervisor._replace(wanted=bool(wanted)))
            yield world

    dropped: list[str] = []
    keep = traits.to_keep(pool, created, siblings)
    for trait in [] if failing == "delete" else traits.to_delete(pool, created, ledger, siblings):
        carried = world.stranger_carries or any(one.hypervisor.carried for one in world.pools)
        require(not (middle.other.life == LIVE and middle.other.declares), "declared")
        require(middle.life == DELETING or not middle.declares, "declared")
        require(not recorded and not (middle.other.life in EXISTING and middle.other.recorded), "recorded")
        dropped.append(trait)
        if not carried:
            require(world.trait != STRANGER, "own")
            world = world._replace(trait=None)
        yield world
    dropped += keep
    left = traits.created_after(created, [], dropped)
    world = with_pool(world, index, created=bool(left))
    yield world

    outcome = "PlacementAPIError" if failing or middle.failed else "TraitsApplied"
    outcomes = [
        conditions.outcome(conditions.AGGREGATES, "AggregatesEnsured", ""),
        conditions.outcome(conditions.TRAITS, outcome, ""),
    ]
    after = novacompute(index, middle.life, middle.declares, bool(left))
    began_with = [] if middle.began_empty else ledger_of(index, own.node, own.recorded)
    if status.may_release(after, began_with, outcomes):
        require(not left, "left")
        yield with_pool(world, index, life=GONE, node=DROPPED, created=False, recorded=False, hypervisor=Hypervisor())


# --- the rest of the world


def outside(world: World) -> Iterator[World]:
    """What people do: these events are counted where they are limited."""
    for index, pool in enumerate(world.pools):
        if pool.life == LIVE:
            yield with_pool(world, index, life=DELETING)
            yield with_pool(world, index, declares=not pool.declares)
            yield with_pool(world, index, node=LEAVING if pool.node == SELECTED else SELECTED)
        if pool.life in EXISTING and not pool.hypervisor.terminated:
            yield with_pool(world, index, hypervisor=pool.hypervisor._replace(terminated=True))
    if world.trait is not None:
        yield world._replace(stranger_carries=not world.stranger_carries)
    elif not any(pool.created for pool in world.pools):
        yield world._replace(trait=STRANGER)


def controllers(world: World) -> Iterator[World]:
    """What follows by itself: the hypervisor operator applies a list, and an empty host loses its provider."""
    for index, pool in enumerate(world.pools):
        state = pool.hypervisor
        has_provider = pool.node != DROPPED and pool.life in EXISTING
        can_apply = has_provider and not state.terminated and not (state.wanted and world.trait is None)
        if can_apply and state.wanted != state.reported:
            applied = state._replace(reported=state.wanted, carried=state.wanted)
            yield with_pool(world, index, hypervisor=applied)
        if pool.node == LEAVING and pool.middle is None:
            # Its Node goes, and the Hypervisor with it; one that comes back is a new one.
            yield with_pool(world, index, node=DROPPED, recorded=False, hypervisor=Hypervisor())


def passes(world: World) -> Iterator[World]:
    """What the next half of each pool's pass can make of the world."""
    for index, pool in enumerate(world.pools):
        if pool.life not in EXISTING:
            continue
        if pool.middle is None:
            yield from (first_half(world, index, failing=failing) for failing in ("", "create"))
        else:
            for failing in ("", "write", "delete"):
                yield from second_half(world, index, failing=failing)


def starts() -> Iterator[World]:
    """Where to begin: nobody declares the trait, or a stranger made it; a pool does from now on, or it or both do."""
    nobody = World(pools=(Pool(), Pool()))
    yield nobody
    yield nobody._replace(trait=STRANGER)
    one = with_pool(nobody, 0, declares=True)
    yield one
    for declared in (one, with_pool(one, 1, declares=True)):
        settled = search.resting(declared, undisturbed)
        yield settled
        yield with_pool(settled, 1, declares=False)


def explore(*, events: int) -> invariants.Report:
    """Visit every state that takes at most ``events`` events from outside to reach. Raises BrokenError."""
    return search.explore(
        dict.fromkeys(starts(), 0),
        name="2 pools, 1 trait",
        surroundings="specs, nodes and Hypervisors change",
        free=(passes, controllers),
        outside=outside,
        events=events,
        rest=functools.partial(
            search.come_to_rest, undisturbed=undisturbed, judge_rest=judge_rest, invariant="trait rest"
        ),
        invariants=len(invariants.OF_TRAITS),
    )


def undisturbed(world: World) -> World | None:
    """The next step when nobody interferes and nothing fails; None when a whole round of passes changes nothing."""
    following = next(controllers(world), None)
    if following is not None:
        return following
    for index, pool in enumerate(world.pools):
        if pool.life in EXISTING:
            begun = first_half(world, index) if pool.middle is None else world
            *_, after = second_half(begun, index)
            if after != world:
                return after
    return None


def judge_rest(world: World) -> None:
    """Raise BrokenError unless this is where a world may rest."""
    declared = any(pool.life == LIVE and pool.declares for pool in world.pools)
    for pool in world.pools:
        state = pool.hypervisor
        require(pool.life != DELETING, "trait goal")
        if pool.life == LIVE and pool.node == SELECTED and not state.terminated:
            require(state.reported == state.wanted == pool.declares, "trait goal")
            require(not pool.declares or world.trait is not None, "trait goal")
        require(not pool.created or declared or any(one.recorded for one in world.pools), "trait goal")


if __name__ == "__main__":
    sys.stdout.write(f"{explore(events=int(sys.argv[1]))}\n")
