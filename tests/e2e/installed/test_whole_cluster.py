# SPDX-License-Identifier: Apache-2.0
"""One operator for the whole cluster: it does its job with the chart's rights alone, and needs all of them."""

from __future__ import annotations

import pytest
from e2e.world import cluster, installed, pools, rights
from e2e.world import world as worlds

NODES = ("compute-1", "compute-3")
DRAINED = "compute-3"

#: Rights that this life of a pool has no use for, and what uses them.
OTHERWISE_USED = {
    **rights.OTHERWISE_USED,
    ("nova.openstack.c5c3.io", "novacomputes/finalizers", "update"): "clusters that guard blockOwnerDeletion",
    ("nova.openstack.c5c3.io", "novas/finalizers", "update"): "clusters that guard blockOwnerDeletion",
    ("", "secrets", "delete"): "the mirrors of a ControlPlane, which go with the last pool",
    ("", "configmaps", "delete"): "configurations of earlier specs",
    ("", "secrets", "update"): "the renewal of the webhooks' certificate",
    ("autoscaling.k8s.io", "verticalpodautoscalers", "list"): "clusters with a VerticalPodAutoscaler",
    ("autoscaling.k8s.io", "verticalpodautoscalers", "create"): "clusters with a VerticalPodAutoscaler",
    ("autoscaling.k8s.io", "verticalpodautoscalers", "patch"): "clusters with a VerticalPodAutoscaler",
    ("autoscaling.k8s.io", "verticalpodautoscalers", "delete"): "clusters with a VerticalPodAutoscaler",
    ("kvm.cloud.sap", "hypervisors", "get"): "clusters with a hypervisor operator",
    ("kvm.cloud.sap", "hypervisors", "patch"): "clusters with a hypervisor operator",
}


def test_a_pool_lives_and_goes_without_a_call_that_is_refused(
    world: worlds.World, operator: installed.InstalledOperator
) -> None:
    operator.start()
    name, selector = world.new_pool(*NODES, traits=["CUSTOM_CHART"])
    world.wait_pool(name, "both nodes are Active", lambda seen: cluster.phases(seen) == dict.fromkeys(NODES, "Active"))
    server = world.boot(DRAINED)
    world.unlabel(DRAINED, selector)
    world.wait_draining(name, DRAINED, 1)
    world.delete_server(server)
    world.wait_dropped(name, DRAINED)
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)

    assert operator.refused() == []
    assert operator.granted() - operator.used() - rights.BY_THE_MOMENT == set(OTHERWISE_USED) - rights.BY_THE_MOMENT
    assert operator.used() <= operator.granted()
    assert [
        line for line in operator.lines() if line["msg"] == "Not watched: changes are noticed at the next look"
    ] == []
    assert world.cloud.services() == {}


def test_the_webhooks_of_the_chart_refuse_a_pool(world: worlds.World, operator: installed.InstalledOperator) -> None:
    operator.start()
    manifest = pools.manifest("refused", world.selector(), tolerations=[{"operator": "Exists"}])
    with pytest.raises(cluster.RefusedError, match=r"tolerates kvm\.cloud\.sap/offboarding:NoExecute"):
        world.cluster.apply(manifest)
