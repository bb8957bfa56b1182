# SPDX-License-Identifier: Apache-2.0
"""Taints the Node of a host that was evicted for its termination: Kubernetes then evicts the pods. It stays."""

from __future__ import annotations

from novalab.hypervisor_operator import conditions, names, tolerations
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Add the taint once the host is empty."""
    spec, status = hypervisor["spec"], hypervisor.get("status") or {}
    if not spec["lifecycleEnabled"] or spec.get("maintenance") != names.TERMINATION:
        return None
    if conditions.value(status, "Evicting") != "False":
        return None
    node = world.cluster.get("Node", hypervisor["metadata"]["name"])
    if node is not None and not tolerations.is_tainted(node):
        world.cluster.patch(node, {"spec": {"taints": tolerations.with_taint(node)}})
        world.say(f"{node['metadata']['name']}: tainted")
    return None
