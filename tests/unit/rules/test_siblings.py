# SPDX-License-Identifier: Apache-2.0
"""What of the other pools of a Nova goes from the step that read them to the later ones."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import aggregates, phases, traits, vocabulary, workload
from unit.rules import objects

POOL = objects.novacompute("pool-a")
PHASES = sorted({*vocabulary.HELD_PHASES, vocabulary.CONFLICT})
NODES = [
    objects.entry(phase, f"{phase}-{zone}-{number}", zone=zone, traits=recorded, instances=1, serviceID="id")
    for phase, zone, recorded, number in itertools.product(
        PHASES, ("", "az1", "az2"), ([], ["CUSTOM_RECORDED", "CUSTOM_BOTH"]), range(2)
    )
]
DECLARES = {
    "traits": ["CUSTOM_DECLARED"],
    "hostTraits": [{"nodeName": "compute-9", "traits": ["CUSTOM_OF_A_HOST"]}],
}


def sibling(*, nodes: list[objects.Data], deleting: bool = False, cluster: str = "") -> objects.Data:
    place = {"targetClusterRef": {"name": cluster}} if cluster else {}
    extra = {"extraConfig": {"compute-pool.conf": {"DEFAULT": {"note": "x" * 10_000}}}}
    status = {"nodes": nodes, "conditions": [{"type": "Ready", "status": "True"}]}
    return objects.novacompute("pool-b", deleting=deleting, status=status, **DECLARES, **place, **extra)


@pytest.mark.parametrize("cluster", ["", "edge"])
@pytest.mark.parametrize("deleting", [False, True])
def test_later_steps_decide_no_other_way_by_the_trimmed_pool(*, deleting: bool, cluster: str) -> None:
    for nodes in (NODES, [], *([node] for node in NODES)):
        expect_the_same_by_the_trimmed(sibling(deleting=deleting, nodes=nodes, cluster=cluster))


def expect_the_same_by_the_trimmed(whole: objects.Data) -> None:
    trimmed = phases.trimmed(whole)
    created = ["CUSTOM_BOTH", "CUSTOM_DECLARED", "CUSTOM_NOBODYS", "CUSTOM_OF_A_HOST", "CUSTOM_RECORDED"]
    leaving = objects.novacompute("pool-a", deleting=True)
    pods = [
        {
            "metadata": {"name": "pod", "labels": {"app.kubernetes.io/instance": "pool-b"}},
            "spec": {"nodeName": "compute-1"},
        }
    ]
    assert aggregates.needed(POOL, [], [whole]) == aggregates.needed(POOL, [], [trimmed])
    assert traits.to_delete(POOL, created, [], [whole]) == traits.to_delete(POOL, created, [], [trimmed])
    assert traits.to_keep(leaving, created, [whole]) == traits.to_keep(leaving, created, [trimmed])
    assert workload.pods_by_node(pods, POOL, [whole]) == workload.pods_by_node(pods, POOL, [trimmed])


def test_trimmed_pool_does_not_grow_with_its_nodes() -> None:
    def size(count: int) -> int:
        nodes = [objects.entry("Active", f"compute-{number:04}", zone="az1") for number in range(count)]
        return len(str(phases.trimmed(sibling(nodes=nodes))))

    assert size(1) == size(1000) < 1000
