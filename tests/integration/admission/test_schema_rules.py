# SPDX-License-Identifier: Apache-2.0
"""The rules of the schema hold with the webhook and without it, in the same words."""

from __future__ import annotations

from typing import Any

import pytest
from integration import kube

CLUSTER = [("spec", "Invalid value: targetClusterRef is immutable")]
TRAIT = "CUSTOM_A"

CREATIONS: dict[str, dict[str, Any]] = {
    "cpuModels": {"libvirt": {"cpuMode": "custom"}},
    "image": {"image": {"repository": "nova"}},
    "hostTraits without traits": {"hostTraits": [{"nodeName": "a"}]},
    "novaRef.name": {"novaRef": {"name": ""}},
    "nodeSelector": {"nodeSelector": {}},
    "virtType": {"libvirt": {"virtType": "xen"}},
    "cpuMode": {"libvirt": {"cpuMode": "any"}},
    "imagesType": {"libvirt": {"imagesType": "rbd"}},
    "item of cpuModels": {"libvirt": {"cpuMode": "custom", "cpuModels": ["a b"]}},
    "updateStrategy.type": {"updateStrategy": {"type": "Recreate"}},
    "too many traits": {"traits": [f"CUSTOM_{number}" for number in range(65)]},
    "no custom trait": {"traits": ["HW_CPU_X86_VMX"]},
    "long trait": {"traits": ["CUSTOM_" + "A" * 249]},
    "a trait twice": {"traits": [TRAIT, TRAIT]},
    "a node twice": {"hostTraits": [{"nodeName": "a", "traits": [TRAIT]}] * 2},
    "too many nodes": {"hostTraits": [{"nodeName": f"n{number}", "traits": [TRAIT]} for number in range(1001)]},
}


@pytest.fixture(params=["with the webhook", "without it"])
def either(request: pytest.FixtureRequest) -> kube.Pools:
    """The pools of a namespace that the webhook watches, and of one that it does not."""
    found: kube.Pools = request.getfixturevalue("pools" if request.param == "with the webhook" else "unwatched")
    return found


@pytest.mark.parametrize("row", CREATIONS)
def test_the_schema_refuses_by_itself(either: kube.Pools, row: str) -> None:
    reply = either.create_with(**CREATIONS[row])
    assert reply.refusals()
    assert "admission webhook" not in reply.body["message"]


def test_a_pool_cannot_move_to_another_nova(either: kube.Pools) -> None:
    either.create_with().accepted()
    assert either.patch({"novaRef": {"name": "other"}}).refusals() == [("spec", "Invalid value: novaRef is immutable")]


def test_a_pool_cannot_get_a_target_cluster(either: kube.Pools) -> None:
    either.create_with().accepted()
    assert either.patch({"targetClusterRef": {"name": "a"}}).refusals() == CLUSTER


def test_a_pool_cannot_lose_its_target_cluster(either: kube.Pools) -> None:
    either.create_with(targetClusterRef={"name": "a"}).accepted()
    assert either.patch({"targetClusterRef": None}).refusals() == CLUSTER


def test_a_pool_cannot_change_its_target_cluster(either: kube.Pools) -> None:
    either.create_with(targetClusterRef={"name": "a"}).accepted()
    assert either.patch({"targetClusterRef": {"name": "b"}}).refusals() == CLUSTER
