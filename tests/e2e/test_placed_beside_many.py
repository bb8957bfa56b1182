# SPDX-License-Identifier: Apache-2.0
"""Fifty pools keep their wake-up times beside a target cluster with thousands of nodes, and beside one that hangs."""

from __future__ import annotations

import contextlib
import pathlib
import time
import uuid
from collections.abc import Collection, Iterator, Sequence

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes, target_clusters
from bench import ground, operating
from e2e.world import placed, stand
from novalab import targets

POOLS = 50
#: How many nodes each pool on the target cluster has. So many pools wait for it at once that they would fill all slots.
NODES = (5000, *[1] * 7)
#: A settled pool is looked at every half minute.
SCALE = 0.5
SLOTS = 2
_SECONDS = 600.0
#: Half of what a pass gives a cluster that hangs: a pool that waits behind such passes waits for what is left of it.
_NOTICEABLE = target_clusters.PROBE_SECONDS / 2
#: The share of passes that may begin late for a reason of the machine's own.
_TOLERATED = 0.05


def held_up(one: operating.Pass, others: Sequence[operating.Pass]) -> float:
    """The longest time at a stretch that it was due and no pass of the others ran: it did not wait for them."""
    longest, free_since = 0.0, one.due
    for other in sorted(others, key=lambda each: each.began):
        if other.ended > free_since and other.began < one.began:
            longest = max(longest, other.began - free_since)
            free_since = other.ended
    return max(longest, one.began - free_since)


def passes(running: operating.Operator, pools: Collection[str]) -> list[operating.Pass]:
    """The passes over these pools, in the order of their ends."""
    return [one for one in operating.timed(running.passes()) if one.pool.partition("/")[2] in pools]


def watch(
    running: operating.Operator, pools: Collection[str], there: Collection[str], *, trouble: Collection[str]
) -> list[float]:
    """How long looks at the pools were held up from now on, until each had one, as each of those on the target had.

    Held up by those of ``trouble``: to stand in line behind any other pool is in order.
    """
    since = time.time()

    def looks(some: Collection[str]) -> list[operating.Pass]:
        return [one for one in passes(running, some) if since < one.due <= one.began]

    def is_over() -> bool:
        looked_at = {one.pool.partition("/")[2] for some in (pools, there) for one in looks(some)}
        return looked_at == {*pools, *there}

    running.wait_for(is_over, f"a look at each of {len(pools)} pools and of {len(there)} on the target", _SECONDS)
    beside = passes(running, {*pools, *there} - set(trouble))
    return [held_up(one, beside) for one in looks(pools)]


def expect_punctual(held_up: Sequence[float]) -> None:
    late = [seconds for seconds in held_up if seconds > _NOTICEABLE]
    assert len(late) <= _TOLERATED * len(held_up), (len(held_up), sorted(late))


def forget(the_ground: ground.Ground, pools: Collection[str]) -> None:
    """Take the pools away, and the aggregates that they leave when they go without a drain."""
    the_ground.forget(pools)
    for row in the_ground.stand.cloud.aggregates().values():
        the_ground.stand.cloud._compute("DELETE", f"/os-aggregates/{row['id']}")


@pytest.fixture
def settled(the_stand: stand.Stand) -> Iterator[tuple[ground.Ground, list[str]]]:
    """Fifty pools of the management cluster, with a node each."""
    the_ground = ground.Ground(the_stand)
    prefix = f"m{uuid.uuid4().hex[:6]}"
    pools = [f"{prefix}{number:02d}" for number in range(POOLS)]
    with contextlib.ExitStack() as undo:
        undo.callback(forget, the_ground, pools)
        for pool in pools:
            the_ground.pool(pool, the_ground.nodes(pool, range(1)))
        with the_ground.heartbeats():
            yield the_ground, pools


@pytest.fixture
def there(settled: tuple[ground.Ground, list[str]], edge: placed.Target) -> Iterator[list[str]]:
    """The pools on the target cluster, the first of which has thousands of nodes."""
    the_ground, _ = settled
    prefix = f"t{uuid.uuid4().hex[:6]}"
    names = [f"{prefix}{number}" for number in range(len(NODES))]
    cluster = kubernetes.Cluster.connect(str(edge.lab.kubeconfig))
    try:
        for name, count in zip(names, NODES, strict=True):
            ground.nodes_on(cluster, name, range(count))
            the_ground.pool(name, [], targetClusterRef={"name": edge.name})
        yield names
    finally:
        the_ground.forget(names)
        for name in names:
            owned = f"--selector={placed.OWNER_LABELS[1]}={name}"
            targets.kubectl(edge.lab, "delete", "daemonset,configmap", f"--namespace={ground.NAMESPACE}", owned)
            # One call for all of them.
            targets.kubectl(edge.lab, "delete", "--raw", f"/api/v1/nodes?labelSelector={ground.LABEL}%3D{name}")


def test_full_target_cluster_and_a_hanging_one_hold_up_no_pool_elsewhere(
    settled: tuple[ground.Ground, list[str]], there: list[str], edge: placed.Target, tmp_path: pathlib.Path
) -> None:
    the_ground, pools = settled
    with operating.operator(the_ground, tmp_path / "operator", scale=SCALE, slots=SLOTS) as running:
        expect_punctual(watch(running, pools, there, trouble=there[:1]))
        assert len(the_ground.cluster.get("NovaCompute", there[0], ground.NAMESPACE)["status"]["nodes"]) == NODES[0]
        with edge.hanging():
            found_out = time.time() + target_clusters.PROBE_SECONDS
            running.wait_for(
                lambda: sum(one.ended > found_out for one in passes(running, there)) >= SLOTS,
                "as many passes as there are slots have found out",
                _SECONDS,
            )
            expect_punctual(watch(running, pools, there, trouble=there))
            for name in there:
                said = the_ground.cluster.get("NovaCompute", name, ground.NAMESPACE)["status"]["conditions"]
                assert "TargetClusterUnavailable" in [one["reason"] for one in said]
