# SPDX-License-Identifier: Apache-2.0
"""ConfigReady and ExtraConfigHealthy: the compute contract, compute-pool.conf, and what its owner puts over it."""

from __future__ import annotations

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import own_nova as own_novas
from e2e.world import cluster

condition = pytest.mark.condition
event = pytest.mark.event


@condition("ConfigReady", "ConfigRendered")
def test_message_names_the_config_map_that_the_pods_mount(bench: benches.Bench, settled: str) -> None:
    said = bench.expect(settled, "ConfigReady", "True ConfigRendered")
    name = said.message.split()[-1]
    assert bench.cluster.read("ConfigMap", name)["immutable"] is True
    volumes = bench.cluster.pods(settled)[0]["spec"]["volumes"]
    assert name in [volume["configMap"]["name"] for volume in volumes if "configMap" in volume]


@condition("ConfigReady", "WaitingForComputeConfig")
def test_missing_contract_is_waited_for_and_stops_no_pod(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    pods = [pod["metadata"]["uid"] for pod in bench.cluster.pods(settled)]
    bench.cluster.delete("Secret", benches.CONTRACT)
    said = bench.expect(settled, "ConfigReady", "False WaitingForComputeConfig")
    assert benches.CONTRACT in said.message
    assert said.look == 15
    own_nova.make_whole()
    bench.expect(settled, "Ready", "True AllReady")
    assert [pod["metadata"]["uid"] for pod in bench.cluster.pods(settled)] == pods


@condition("ConfigReady", "ComputeConfigIncomplete")
def test_keys_that_the_contract_lacks_are_named(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    bench.cluster.patch("Secret", benches.CONTRACT, {"data": {"transport_url": None, "password": ""}})
    said = bench.expect(settled, "ConfigReady", "False ComputeConfigIncomplete")
    assert benches.CONTRACT in said.message
    assert said.message.endswith(": transport_url, password")
    assert said.look == 15
    bench.cluster.patch("Secret", benches.CONTRACT, {"data": {"nova-compute.conf": None}})
    said = bench.expect(settled, "ConfigReady", "False ComputeConfigIncomplete")
    assert said.message.endswith(": nova-compute.conf, transport_url, password")
    own_nova.make_whole()
    bench.expect(settled, "Ready", "True AllReady")


@condition("ConfigReady", "ConfigError")
def test_config_maps_that_may_not_be_read_are_a_failure(bench: benches.Bench, settled: str) -> None:
    account = bench.account("without-config-maps", "configmaps")
    said = bench.expect(settled, "ConfigReady", "False ConfigError", kubeconfig=account)
    assert f"GET /api/v1/namespaces/{cluster.NAMESPACE}/configmaps: HTTP 403" in said.message
    assert said.look == 30
    bench.expect(settled, "Ready", "True AllReady")


@condition("ConfigReady", "ConfigError")
def test_config_map_of_somebody_else_under_the_pools_name_is_left_alone(bench: benches.Bench, settled: str) -> None:
    # The name is made of the content, and this pool's content is that of the settled one.
    digest = bench.conditions(settled)["ConfigReady"]["message"].rpartition("-")[2]
    name, _ = bench.new_pool()
    foreign = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-config-{digest}", "namespace": cluster.NAMESPACE},
        "data": {"of": "somebody else"},
    }
    bench.make(foreign)
    said = bench.expect(name, "ConfigReady", "False ConfigError")
    where = f"{cluster.NAMESPACE}/{foreign['metadata']['name']}"
    assert f"ConfigMap {where} does not belong to NovaCompute {name}" in said.message
    assert bench.cluster.read("ConfigMap", foreign["metadata"]["name"])["data"] == foreign["data"]
    assert "DaemonSetReady" not in bench.conditions(name)
    bench.cluster.delete("ConfigMap", foreign["metadata"]["name"])
    bench.expect(name, "ConfigReady", "True ConfigRendered")


@condition("ExtraConfigHealthy", "NoOwnedKeysOverridden")
@condition("ExtraConfigHealthy", "OwnedKeysOverridden")
@condition("Ready", "AllReady")
@event("ExtraConfigOwnedKeyOverride")
def test_owned_keys_that_the_owner_overrides_are_reported_and_leave_ready_alone(
    bench: benches.Bench, settled: str
) -> None:
    bench.expect(settled, "ExtraConfigHealthy", "True NoOwnedKeysOverridden")
    extra = bench.pool(settled)["spec"]["extraConfig"]
    overridden = {"libvirt": {"virt_type": "qemu", "cpu_mode": "none"}}
    bench.set_spec(settled, {"extraConfig": {**extra, **overridden}, "updateStrategy": {"type": "OnDelete"}})
    said = bench.expect(settled, "ExtraConfigHealthy", "False OwnedKeysOverridden")
    assert said.message == (
        "spec.extraConfig overrides operator-owned keys: "
        "[libvirt] cpu_mode (spec.libvirt.cpuMode); [libvirt] virt_type (spec.libvirt.virtType)"
    )
    bench.run(settled)
    events = bench.events(settled, "ExtraConfigOwnedKeyOverride")
    assert [(one["type"], one["message"]) for one in events] == [("Warning", said.message)]
    # It stays out of Ready, which only waits for the pod with the old file to be deleted.
    steps = [one for one, seen in bench.conditions(settled).items() if seen["status"] == "False"]
    assert set(steps) == {"DaemonSetReady", "Ready", "ExtraConfigHealthy"}
    bench.cluster.delete("Pod", bench.cluster.pods(settled)[0]["metadata"]["name"])
    bench.wait_pod(settled, "compute-1")
    bench.run_until(
        settled, "Ready in spite of the overridden keys", lambda seen: cluster.verdict(seen, "Ready") == "True AllReady"
    )
    assert cluster.verdict(bench.pool(settled), "ExtraConfigHealthy") == "False OwnedKeysOverridden"
    config = bench.conditions(settled)["ConfigReady"]["message"].split()[-1]
    assert "virt_type = qemu" in bench.cluster.read("ConfigMap", config)["data"]["compute-pool.conf"]
    bench.set_spec(settled, {"extraConfig": extra})
    bench.expect(settled, "ExtraConfigHealthy", "True NoOwnedKeysOverridden")
