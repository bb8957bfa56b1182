# SPDX-License-Identifier: Apache-2.0
"""An operator that is killed at any moment of a pool's life and started again ends where an undisturbed one does.

A life has four rests: the pool is Ready; one node drains with a server on it; that node is released; the pool is gone.
Kubernetes, Nova and Placement must look the same at each of them, whatever happened on the way.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator

import pytest
from e2e.world import cluster, pools, snapshot, stand
from e2e.world import world as worlds

NAME = "pool-of-many-lives"
LEAVING = "compute-3"
STAYING = ("compute-1", "compute-2")
KILLS = 10
#: What an operator is allowed to achieve between two kills at random, in seconds.
_GAPS = (0.5, 6.0)

RESTS = ("ready", "draining", "released", "gone")


def live(world: worlds.World, selector: dict[str, str], moment: Callable[[str], None]) -> dict[str, snapshot.Snapshot]:
    """Lead a pool through its life; returns what each rest looked like. ``moment`` is called after each act."""
    rests: dict[str, snapshot.Snapshot] = {}

    def rest(name: str) -> None:
        """Wait until nothing is on its way any more."""
        world.wait(
            f"the pool rests, {name}",
            lambda: snapshot.of_pool(world.stand, NAME),
            lambda seen: _is_at_rest(name, seen),
        )
        rests[name] = snapshot.of_pool(world.stand, NAME)

    world.apply(pools.manifest(NAME, selector))
    moment("applied")
    rest("ready")
    server = world.boot(LEAVING)
    world.unlabel(LEAVING, selector)
    moment("label taken off")
    rest("draining")
    world.delete_server(server)
    moment("server deleted")
    rest("released")
    world.cluster.delete("NovaCompute", NAME)
    moment("pool deleted")
    rest("gone")
    return rests


def _is_at_rest(name: str, seen: snapshot.Snapshot) -> bool:
    """Whether the pool is what it is led to, and the conditions and aggregates say what they will in the end."""
    if name == "gone":
        return not any(seen[part] for part in ("finalizers", "conditions", "children", "pods", "aggregates"))
    phases = {node: entry["phase"] for node, entry in seen["ledger"].items()}
    drains = name == "draining"
    staying = STAYING if name == "released" or drains else (*STAYING, LEAVING)
    return (
        phases == {**dict.fromkeys(staying, "Active"), **({LEAVING: "Draining"} if drains else {})}
        and (seen["ledger"].get(LEAVING, {}).get("instances") == 1) == drains
        and len(seen["pods"]) == len(phases)
        and seen["conditions"].get("Ready") == "True AllReady"
        and seen["conditions"].get("AggregatesReady") == "True NodesOutsideZoneAggregate"
        and ("az2" in seen["aggregates"]) == (name != "released")
    )


def kill_and_start(world: worlds.World) -> None:
    """End the operator as the kernel would, and start it again at once: what it had begun may still run."""
    world.operator.kill()
    world.operator.start()


@pytest.fixture(scope="module")
def undisturbed(open_world: worlds.Opener) -> dict[str, snapshot.Snapshot]:
    """What the rests of an undisturbed life look like."""
    with open_world("undisturbed") as world:
        world.operator.start()
        return live(world, label_nodes(world), lambda _: None)


def label_nodes(world: worlds.World) -> dict[str, str]:
    """The label of the pool, which all three nodes carry from now on."""
    selector = world.selector()
    for node in stand.NODES:
        world.label(node, selector)
    return selector


@pytest.fixture
def seed() -> int:
    """Chance, which E2E_SEED repeats."""
    return int(os.environ.get("E2E_SEED") or random.randrange(2**32))


def moments(world: worlds.World) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Ten moments of a life as (act they follow, what is seen, look): each a step that is begun and not yet ended."""

    def pool() -> cluster.Object | None:
        return world.cluster.get("NovaCompute", NAME)

    def entry() -> cluster.Object:
        return cluster.ledger(pool()).get(LEAVING, {})

    yield "applied", "the finalizer is set", lambda: (pool() or {}).get("metadata", {}).get("finalizers")
    yield "applied", "the ledger is written, ahead of the DaemonSet", lambda: cluster.ledger(pool())
    yield "applied", "a first aggregate is made", world.cloud.aggregates
    yield "applied", "host discovery is under way", lambda: world.cluster.all("Job")
    yield "label taken off", "the node is Draining", lambda: entry().get("phase") == "Draining"
    yield "label taken off", "the service is disabled", lambda: world.cloud.services()[LEAVING]["status"] == "disabled"
    yield "server deleted", "the node is Releasing", lambda: entry().get("phase") == "Releasing"
    yield "server deleted", "the service is deleted", lambda: LEAVING not in world.cloud.services()
    yield (
        "pool deleted",
        "the nodes leave",
        lambda: {"Draining", "Releasing"} & set(cluster.phases(pool()).values()) or pool() is None,
    )
    yield "pool deleted", "the services are deleted", lambda: not world.cloud.services()


def test_killed_at_ten_observed_moments_it_ends_in_the_same_state(
    world: worlds.World, undisturbed: dict[str, snapshot.Snapshot]
) -> None:
    kills: list[str] = []

    def disturb(act: str) -> None:
        for follows, seen, look in moments(world):
            if follows == act:
                world.wait(f"after '{act}': {seen}", look)
                kill_and_start(world)
                kills.append(seen)

    rests = live(world, label_nodes(world), disturb)
    assert len(kills) == KILLS
    assert {name: snapshot.differences(rests[name], undisturbed[name]) for name in RESTS} == {
        name: {} for name in RESTS
    }


def test_killed_ten_times_at_random_it_ends_in_the_same_state(
    world: worlds.World, undisturbed: dict[str, snapshot.Snapshot], seed: int
) -> None:
    print(f"E2E_SEED={seed}")
    chance = random.Random(seed)
    over = threading.Event()
    failures: list[BaseException] = []
    kills = 0

    def disturb() -> None:
        nonlocal kills
        try:
            while kills < KILLS and not over.wait(chance.uniform(*_GAPS)):
                kill_and_start(world)
                kills += 1
        except BaseException as error:  # noqa: BLE001 - a thread's failure is told by the test
            failures.append(error)

    killer = threading.Thread(target=disturb)
    killer.start()
    try:
        rests = live(world, label_nodes(world), lambda _: None)
    finally:
        over.set()
        killer.join()
    assert failures == []
    assert kills == KILLS, f"only {kills} kills fell into the pool's life"
    assert {name: snapshot.differences(rests[name], undisturbed[name]) for name in RESTS} == {
        name: {} for name in RESTS
    }
