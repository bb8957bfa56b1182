# SPDX-License-Identifier: Apache-2.0
"""Takes a host out of service and empties it when spec.maintenance says so, and brings it back when it no longer does.

Both are judged by the condition HypervisorDisabled and never by Nova: a service that somebody else disabled stays so.
"""

from __future__ import annotations

import copy
from typing import Any

from novalab.hypervisor_operator import conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World

DISABLED = "HypervisorDisabled"
_ENABLED_MESSAGE = "Hypervisor is enabled"


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Enable, or disable and evict. A host that is being onboarded is left alone, whatever the spec says."""
    status = copy.deepcopy(hypervisor.get("status") or {})
    if conditions.value(status, "Onboarding") == "True":
        return None
    maintenance = hypervisor["spec"].get("maintenance") or ""
    if maintenance == "":
        _bring_back(world, hypervisor, status)
    elif maintenance in names.EVICTING_MAINTENANCE:
        _take_out(world, hypervisor, status, maintenance)
    return None


def _bring_back(world: World, hypervisor: Object, status: dict[str, Any]) -> None:
    name, service = hypervisor["metadata"]["name"], status.get("serviceId")
    known = conditions.find(status, DISABLED) or {}
    enabled = ("False", "Succeeded", _ENABLED_MESSAGE)
    if service and (known.get("status"), known.get("reason"), known.get("message")) != enabled:
        # A service that is gone answers 404 here for as long as anybody asks, and nothing is recorded.
        world.cloud.enable_service(service)
        world.say(f"{name}: service enabled")
        conditions.put(status, DISABLED, *enabled)
    if status.get("evicted") or conditions.find(status, "Evicting") is not None:
        world.cluster.delete("Eviction", name)
        conditions.drop(status, "Evicting")
        status["evicted"] = False
    world.cluster.write_status(hypervisor, status)


def _take_out(world: World, hypervisor: Object, status: dict[str, Any], maintenance: str) -> None:
    name = hypervisor["metadata"]["name"]
    if conditions.value(status, DISABLED) != "True":
        if status.get("serviceId"):
            world.cloud.disable_service(status["serviceId"], f"Hypervisor CRD: spec.maintenance={maintenance}")
            world.say(f"{name}: service disabled")
        conditions.put(status, DISABLED, "True", "Succeeded", "Hypervisor is disabled")
    if conditions.reads(status, "Evicting", "False", "Succeeded"):
        world.cluster.write_status(hypervisor, status)
        return
    eviction = world.cluster.get("Eviction", name)
    if eviction is None:
        world.cluster.create(new_eviction(hypervisor))
    if conditions.value((eviction or {}).get("status") or {}, "Evicting") == "False":
        # However the Eviction ended, the host counts as evicted.
        conditions.put(status, "Evicting", "False", "Succeeded", "The Eviction has ended")
        status["evicted"] = True
        world.say(f"{name}: evicted")
    else:
        conditions.put(status, "Evicting", "True", "Running", "The Eviction is running")
        status["evicted"] = False
    world.cluster.write_status(hypervisor, status)


def new_eviction(hypervisor: Object) -> Object:
    """The Eviction of a host, which goes with its Hypervisor."""
    metadata = hypervisor["metadata"]
    owner = {
        "apiVersion": "kvm.cloud.sap/v1",
        "kind": "Hypervisor",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "kvm.cloud.sap/v1",
        "kind": "Eviction",
        "metadata": {"name": metadata["name"], "ownerReferences": [owner]},
        "spec": {"hypervisor": metadata["name"], "reason": "The Hypervisor is in maintenance"},
    }
