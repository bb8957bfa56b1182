# SPDX-License-Identifier: Apache-2.0
"""One Hypervisor for each Node that says which virt driver it runs."""

from __future__ import annotations

import copy
from typing import Any

from novalab.hypervisor_operator import agent_pods, conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World


def reconcile(world: World, node: Object) -> float | None:
    """Create the Node's Hypervisor, or carry over what the Node says. It goes with its Node by its owner reference."""
    if names.VIRT_DRIVER not in _labels(node):
        return None
    hypervisor = world.cluster.get("Hypervisor", node["metadata"]["name"])
    if hypervisor is None:
        world.cluster.create(new_hypervisor(node))
        world.say(f"{node['metadata']['name']}: Hypervisor created")
        return None
    if changes := spec_changes(node, hypervisor):
        # What the API server refuses here ends the pass, so the status stays as it is too.
        world.cluster.patch(hypervisor, changes)
        return 0.0
    status = copy.deepcopy(hypervisor.get("status") or {})
    address = _internal_address(node)
    if address:
        status["internalIp"] = address
    if is_terminating(node):
        conditions.put(status, "Terminating", "True", "Terminating", "The Node is terminating")
    again = agent_pods.judge(world, node, hypervisor, status)
    world.cluster.write_status(hypervisor, status)
    return again


def new_hypervisor(node: Object) -> Object:
    """The Hypervisor of a Node that has none. What the creator does not say is false, not the CRD's default."""
    labels = _labels(node)
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "kvm.cloud.sap/v1",
        "kind": "Hypervisor",
        "metadata": {
            "name": metadata["name"],
            "labels": {key: labels[key] for key in names.COPIED_LABELS if key in labels},
            "ownerReferences": [{**owner, "blockOwnerDeletion": True}],
        },
        "spec": {
            "highAvailability": True,
            "installCertificate": True,
            "lifecycleEnabled": names.LIFECYCLE in labels,
            "skipTests": labels.get(names.LIFECYCLE) == names.SKIP_TESTS,
            "evacuateOnReboot": False,
            "reboot": False,
            "createCertManagerCertificate": False,
            "customTraits": [],
            "aggregates": [],
            "allowedProjects": [],
            # At no later time does the operator write this field: it belongs to people then.
            "maintenance": names.TERMINATION if is_terminating(node) else "",
        },
    }


def spec_changes(node: Object, hypervisor: Object) -> dict[str, Any]:
    """The merge patch that carries over what the Node says now; empty when the Hypervisor says it already.

    A label or annotation that is not there carries nothing over: the field keeps its value and may be another's.
    """
    labels, annotations = _labels(node), node["metadata"].get("annotations") or {}
    spec: dict[str, Any] = {}
    if names.LIFECYCLE in labels:
        spec["lifecycleEnabled"] = True
        spec["skipTests"] = labels[names.LIFECYCLE] == names.SKIP_TESTS
    if names.AGGREGATES in annotations:
        zone = [labels[names.ZONE]] if labels.get(names.ZONE) else []
        spec["aggregates"] = [*_items(annotations[names.AGGREGATES]), *zone]
    if names.CUSTOM_TRAITS in annotations:
        spec["customTraits"] = _items(annotations[names.CUSTOM_TRAITS])
    known = hypervisor["spec"]
    changed = {key: value for key, value in spec.items() if known.get(key) != value}
    wanted = {key: labels[key] for key in names.COPIED_LABELS if key in labels}
    copied = {key: value for key, value in wanted.items() if _labels(hypervisor).get(key) != value}
    return {**({"spec": changed} if changed else {}), **({"metadata": {"labels": copied}} if copied else {})}


def is_terminating(node: Object) -> bool:
    """Whether the Node is about to go."""
    found = (node.get("status") or {}).get("conditions") or []
    told = any(one["type"] == "Terminating" and one["status"] == "True" for one in found)
    return told or bool(node["metadata"].get("deletionTimestamp"))


def _labels(item: Object) -> dict[str, str]:
    return item["metadata"].get("labels") or {}


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _internal_address(node: Object) -> str:
    addresses = (node.get("status") or {}).get("addresses") or []
    return next((one["address"] for one in addresses if one["type"] == "InternalIP"), "")
