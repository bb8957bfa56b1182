# SPDX-License-Identifier: Apache-2.0
"""Whether the pods that serve a node are off it. Kubernetes evicts them by the taint; here they are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from novalab.hypervisor_operator import conditions, names, tolerations
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World

_FINISHED = ("Succeeded", "Failed")


def judge(world: World, node: Object, hypervisor: Object, status: dict[str, Any]) -> float | None:
    """Set AgentPodsEvicted in ``status``; returns 10 while pods are left. Before the taint nothing is judged."""
    if (
        hypervisor["spec"].get("maintenance") != names.TERMINATION
        or conditions.value(status, "Evicting") != "False"
        or not tolerations.is_tainted(node)
    ):
        return None
    left = sorted(
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for namespace in world.options.agent_namespaces
        for pod in world.cluster.pods_on(node["metadata"]["name"], namespace)
        if counts(pod)
    )
    if left:
        message = f"{len(left)} agent pods are on the node: {', '.join(left)}"
        conditions.put(status, "AgentPodsEvicted", "False", "AgentPodsRunning", message)
        return 10.0
    conditions.put(status, "AgentPodsEvicted", "True", "NoAgentPods", "No agent pod is on the node")
    return None


def counts(pod: Mapping[str, Any]) -> bool:
    """Whether the pod has to go. One that is being deleted counts until it is gone."""
    if (pod.get("status") or {}).get("phase") in _FINISHED:
        return False
    return not tolerations.tolerates_for_ever(pod)
