# SPDX-License-Identifier: Apache-2.0
"""The end of a host: the taint, the wait for the pods, and what is deleted in which order."""

from __future__ import annotations

import pytest
from novalab.hypervisor_operator import conditions, nodes, offboarding, taint, tolerations, world
from unit.lab_hypervisor_operator import memory

TAINT = {"key": "kvm.cloud.sap/offboarding", "effect": "NoExecute"}


@pytest.fixture
def site(site: memory.Site) -> memory.Site:
    """A host in termination that is evicted."""
    site.registered()
    site.onboarding("False Succeeded")
    site.spec(maintenance="termination")
    site.condition("Evicting", "False", "Succeeded")
    return site


def tainted(site: memory.Site) -> None:
    taint.reconcile(site.world, site.hypervisor)


def offboard(site: memory.Site) -> None:
    """Two looks: the first one only says that it has begun."""
    offboarding.reconcile(site.world, site.hypervisor)
    offboarding.reconcile(site.world, site.hypervisor)


def deletions(site: memory.Site) -> list[str]:
    return [call[0] for call in site.cloud.calls if call[0] in ("delete_service", "delete_provider", "drop_consumer")]


# --- the taint


def test_taint_has_no_value_and_keeps_others(site: memory.Site) -> None:
    item = site.node
    item["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]
    site.cluster.put(item)
    tainted(site)
    assert site.node["spec"]["taints"] == [{"key": "other", "effect": "NoSchedule"}, TAINT]


@pytest.mark.parametrize("begun", [True, False])
def test_taint_waits_for_the_eviction(site: memory.Site, begun: bool) -> None:  # noqa: FBT001
    item = site.hypervisor
    conditions.drop(item["status"], "Evicting")
    site.cluster.put(item)
    if begun:
        site.condition("Evicting", "True", "Running")
    tainted(site)
    assert not tolerations.is_tainted(site.node)


def test_taint_is_added_once(site: memory.Site) -> None:
    tainted(site)
    tainted(site)
    assert site.node["spec"]["taints"] == [TAINT]


@pytest.mark.parametrize("change", [{"lifecycleEnabled": False}, {"maintenance": "manual"}])
def test_taint_needs_lifecycle_and_termination(site: memory.Site, change: dict[str, object]) -> None:
    site.spec(**change)
    tainted(site)
    assert not tolerations.is_tainted(site.node)


# --- the pods


def test_pods_are_not_judged_before_the_taint(site: memory.Site) -> None:
    nodes.reconcile(site.world, site.node)
    assert site.reads("AgentPodsEvicted") == ""


def test_pods_that_are_left_are_counted_named_in_order_and_looked_at_again(site: memory.Site) -> None:
    tainted(site)
    site.cluster.pods = [memory.pod("b", deleting=True), memory.pod("a"), memory.pod("done", phase="Succeeded")]
    assert nodes.reconcile(site.world, site.node) == 10.0
    found = conditions.find(site.status, "AgentPodsEvicted") or {}
    assert (found["status"], found["reason"]) == ("False", "AgentPodsRunning")
    assert "2 agent pods" in found["message"]
    assert "openstack/a, openstack/b" in found["message"]


def test_pods_of_other_namespaces_are_not_waited_for(site: memory.Site) -> None:
    tainted(site)
    site.options = world.Options(agent_namespaces=("monitoring",))
    site.cluster.pods = [memory.pod("a")]
    nodes.reconcile(site.world, site.node)
    assert site.reads("AgentPodsEvicted") == "True NoAgentPods"


def test_tolerating_pod_is_not_waited_for(site: memory.Site) -> None:
    tainted(site)
    site.cluster.pods = [memory.pod("a", {"operator": "Exists"})]
    nodes.reconcile(site.world, site.node)
    assert site.reads("AgentPodsEvicted") == "True NoAgentPods"


# --- what is deleted


def test_offboarding_begins_with_saying_so(site: memory.Site) -> None:
    offboarding.reconcile(site.world, site.hypervisor)
    assert site.reads("Offboarded") == "False Offboarding"


def test_service_goes_before_the_provider(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    offboard(site)
    assert deletions(site) == ["delete_service", "delete_provider"]
    assert site.reads("Offboarded") == "True Offboarded"


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("Onboarding", "True", "Handover"),
        ("Evicting", "True", "Running"),
        ("AgentPodsEvicted", "False", "AgentPodsRunning"),
    ],
)
def test_nothing_is_deleted_before_each_condition_allows_it(
    site: memory.Site, kind: str, value: str, reason: str
) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.condition(kind, value, reason)
    offboard(site)
    assert deletions(site) == []
    assert site.reads("Offboarded") == "False Offboarding"


def test_host_without_a_service_needs_no_eviction(site: memory.Site) -> None:
    site.registered(serviceId="")
    site.condition("Evicting", "True", "Running")
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.cloud.rows = []
    offboard(site)
    assert site.reads("Offboarded") == "True Offboarded"


def test_host_that_nova_does_not_know_is_done_at_once(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.cloud.rows = []
    offboard(site)
    assert deletions(site) == []
    assert site.reads("Offboarded") == "True Offboarded"


def test_host_whose_name_is_part_of_another_one_is_stuck(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.cloud.rows = [*site.cloud.rows, {"id": "x", "hypervisor_hostname": "host-10", "service": {"id": "y"}}]
    with pytest.raises(world.NotYetError, match="several"):
        offboard(site)
    assert deletions(site) == []


def test_server_on_the_host_stops_it(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.cloud.servers["late"] = {"OS-EXT-SRV-ATTR:hypervisor_hostname": memory.HOST}
    with pytest.raises(world.NotYetError, match="servers"):
        offboard(site)
    assert deletions(site) == []


def test_recorded_aggregates_stop_it(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.registered(aggregates=[{"name": "az1"}])
    with pytest.raises(world.NotYetError, match="aggregates"):
        offboard(site)
    assert deletions(site) == []


def test_consumer_that_holds_nothing_is_dropped_with_the_provider(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.cloud.consumers = {"empty": {}}
    offboard(site)
    assert deletions(site) == ["delete_service", "drop_consumer", "delete_provider"]


def test_real_allocation_stops_the_deletion_of_the_provider(site: memory.Site) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.cloud.consumers = {"real": {"VCPU": 1}}
    with pytest.raises(world.NotYetError, match="real"):
        offboard(site)
    assert "delete_provider" not in deletions(site)
    assert site.reads("Offboarded") == "False Offboarding"


@pytest.mark.parametrize("change", [{"lifecycleEnabled": False}, {"maintenance": "manual"}])
def test_only_termination_with_lifecycle_offboards(site: memory.Site, change: dict[str, object]) -> None:
    site.condition("AgentPodsEvicted", "True", "NoAgentPods")
    site.spec(**change)
    offboard(site)
    assert site.reads("Offboarded") == ""


def test_offboarded_host_is_left_alone(site: memory.Site) -> None:
    site.condition("Offboarded", "True", "Offboarded")
    offboard(site)
    assert site.cloud.calls == []
