# SPDX-License-Identifier: Apache-2.0
"""The rules that look at more than one field, with the words in which the API server refuses.

Each refusal is compared whole: these fields, these messages and no others.
"""

from __future__ import annotations

from typing import Any

import pytest
from integration import kube

schema = pytest.mark.schema
NOVA_REF = [("spec", "Invalid value: novaRef is immutable")]
TARGET_CLUSTER_REF = [("spec", "Invalid value: targetClusterRef is immutable")]
CPU_MODELS = [
    ("spec.libvirt", "Invalid value: cpuModels is required when cpuMode is custom and must be empty otherwise")
]
IMAGE = [("spec.image", "Invalid value: exactly one of image.tag or image.digest must be set")]
HOST_TRAITS = [("spec.hostTraits[0]", "Invalid value: traits must not be empty unless mode is Replace")]

DIGEST = "sha256:" + "0123456789abcdef" * 4


@schema("spec", "self.novaRef.name == oldSelf.novaRef.name")
def test_a_pool_cannot_move_to_another_nova(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    assert pools.patch({"novaRef": {"name": "other"}}).refusals() == NOVA_REF


def test_an_update_that_names_the_same_nova_is_accepted(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    updated = pools.patch({"novaRef": {"name": "nova"}, "nodeSelector": {"more": "labels"}}).accepted()
    assert updated["metadata"]["generation"] == 2


def test_the_refusal_reads_in_the_reply_as_kubectl_prints_it(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    message = pools.patch({"novaRef": {"name": "other"}}).body["message"]
    assert message.startswith('NovaCompute.nova.openstack.c5c3.io "pool-a" is invalid: spec: Invalid value: ')
    assert message.endswith("novaRef is immutable")


@schema("spec", "has(self.targetClusterRef) == has(oldSelf.targetClusterRef)")
def test_a_local_pool_cannot_move_to_a_target_cluster(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    assert pools.patch({"targetClusterRef": {"name": "edge"}}).refusals() == TARGET_CLUSTER_REF


@schema("spec", "has(self.targetClusterRef) == has(oldSelf.targetClusterRef)")
def test_a_placed_pool_cannot_move_to_the_local_cluster(pools: kube.Pools) -> None:
    pools.create_with(targetClusterRef={"name": "edge"}).accepted()
    assert pools.patch({"targetClusterRef": None}).refusals() == TARGET_CLUSTER_REF


@schema(
    "spec",
    "!has(self.targetClusterRef) || !has(oldSelf.targetClusterRef) "
    "|| self.targetClusterRef.name == oldSelf.targetClusterRef.name",
)
def test_a_placed_pool_cannot_move_to_another_target_cluster(pools: kube.Pools) -> None:
    pools.create_with(targetClusterRef={"name": "edge"}).accepted()
    assert pools.patch({"targetClusterRef": {"name": "core"}}).refusals() == TARGET_CLUSTER_REF


def test_a_placed_pool_may_change_otherwise(pools: kube.Pools) -> None:
    pools.create_with(targetClusterRef={"name": "edge"}).accepted()
    assert pools.patch({"nodeSelector": {"more": "labels"}}).accepted()["metadata"]["generation"] == 2


@schema(
    "spec.libvirt",
    "(has(self.cpuMode) && self.cpuMode == 'custom') == (has(self.cpuModels) && size(self.cpuModels) > 0)",
)
@pytest.mark.parametrize(
    "libvirt",
    [
        {"cpuMode": "custom"},
        {"cpuMode": "custom", "cpuModels": []},
        {"cpuMode": "host-model", "cpuModels": ["Skylake-Server"]},
        {"cpuMode": "none", "cpuModels": ["Skylake-Server"]},
        {"cpuModels": ["Skylake-Server"]},
    ],
    ids=["custom-without", "custom-with-empty-list", "host-model-with", "none-with", "no-mode-with"],
)
def test_cpu_models_that_do_not_fit_the_cpu_mode_are_refused(pools: kube.Pools, libvirt: dict[str, Any]) -> None:
    assert pools.create_with(libvirt=libvirt).refusals() == CPU_MODELS


@pytest.mark.parametrize(
    "libvirt",
    [
        {"cpuMode": "custom", "cpuModels": ["Skylake-Server", "qemu64"]},
        {"cpuMode": "host-passthrough"},
        {"cpuMode": "host-passthrough", "cpuModels": []},
        {"cpuModels": []},
    ],
    ids=["custom-with", "other-without", "other-with-empty-list", "no-mode-with-empty-list"],
)
def test_cpu_models_that_fit_the_cpu_mode_are_kept(pools: kube.Pools, libvirt: dict[str, Any]) -> None:
    created = pools.create_with(libvirt=libvirt).accepted()
    assert created["spec"]["libvirt"] == {"virtType": "kvm"} | libvirt


def test_an_update_to_custom_needs_cpu_models(pools: kube.Pools) -> None:
    pools.create_with().accepted()
    assert pools.patch({"libvirt": {"cpuMode": "custom"}}).refusals() == CPU_MODELS


@schema("spec.image", "has(self.tag) != has(self.digest)")
@pytest.mark.parametrize(
    "naming", [{}, {"tag": "2026.1", "digest": DIGEST}], ids=["neither-tag-nor-digest", "tag-and-digest"]
)
def test_an_image_needs_either_a_tag_or_a_digest(pools: kube.Pools, naming: dict[str, str]) -> None:
    assert pools.create_with(image={"repository": "ghcr.io/c5c3/nova-compute"} | naming).refusals() == IMAGE


@pytest.mark.parametrize("naming", [{"tag": "2026.1"}, {"digest": DIGEST}], ids=["tag", "digest"])
def test_an_image_with_one_of_tag_and_digest_is_kept(pools: kube.Pools, naming: dict[str, str]) -> None:
    image = {"repository": "ghcr.io/c5c3/nova-compute"} | naming
    assert pools.create_with(image=image).accepted()["spec"]["image"] == image


@schema("spec.hostTraits[]", "self.mode == 'Replace' || (has(self.traits) && size(self.traits) > 0)")
@pytest.mark.parametrize(
    "entry",
    [{}, {"traits": []}, {"mode": "Append"}, {"mode": "Append", "traits": []}],
    ids=["default-without", "default-with-empty-list", "append-without", "append-with-empty-list"],
)
def test_appending_no_traits_to_a_node_is_refused(pools: kube.Pools, entry: dict[str, Any]) -> None:
    assert pools.create_with(hostTraits=[{"nodeName": "node-1"} | entry]).refusals() == HOST_TRAITS


@pytest.mark.parametrize(
    "entry",
    [
        {"mode": "Replace"},
        {"mode": "Replace", "traits": []},
        {"mode": "Replace", "traits": ["CUSTOM_A"]},
        {"mode": "Append", "traits": ["CUSTOM_A"]},
    ],
    ids=["replace-without", "replace-with-empty-list", "replace-with", "append-with"],
)
def test_replacing_traits_and_appending_some_are_kept(pools: kube.Pools, entry: dict[str, Any]) -> None:
    entry = {"nodeName": "node-1"} | entry
    assert pools.create_with(hostTraits=[entry]).accepted()["spec"]["hostTraits"] == [entry]


@schema("spec.verticalAutoscaling.{field}", "self.all(key, key in ['cpu', 'memory'])")
@pytest.mark.parametrize("field", ["minAllowed", "maxAllowed"])
def test_the_autoscaler_may_only_bound_cpu_and_memory(pools: kube.Pools, field: str) -> None:
    reply = pools.create_with(verticalAutoscaling={"updateMode": "Initial", field: {"cpu": "1", "storage": "1Gi"}})
    expected = f"Invalid value: {field} may only name cpu and memory"
    assert reply.refusals() == [(f"spec.verticalAutoscaling.{field}", expected)]


@pytest.mark.parametrize("field", ["minAllowed", "maxAllowed"])
def test_the_autoscaler_may_bound_cpu_and_memory(pools: kube.Pools, field: str) -> None:
    autoscaling = {"updateMode": "Initial", field: {"cpu": "100m", "memory": "1Gi"}}
    assert pools.create_with(verticalAutoscaling=autoscaling).accepted()["spec"]["verticalAutoscaling"] == autoscaling


def test_every_broken_rule_is_named_in_one_reply(pools: kube.Pools) -> None:
    reply = pools.create_with(
        libvirt={"cpuMode": "custom"},
        image={"repository": "ghcr.io/c5c3/nova-compute"},
        hostTraits=[{"nodeName": "node-1"}],
    )
    assert reply.refusals() == sorted(CPU_MODELS + IMAGE + HOST_TRAITS)
