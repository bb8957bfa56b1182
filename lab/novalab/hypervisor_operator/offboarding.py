# SPDX-License-Identifier: Apache-2.0
"""Deletes the compute service and the resource provider of a host in termination, once nothing on it needs them."""

from __future__ import annotations

import copy

from novalab.hypervisor_operator import conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import NotYetError, World

CONDITION = "Offboarded"


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Take the host out of Nova. Raises NotYetError where the operator waits by its growing delay."""
    spec, status = hypervisor["spec"], copy.deepcopy(hypervisor.get("status") or {})
    if not spec["lifecycleEnabled"] or spec.get("maintenance") != names.TERMINATION:
        return None
    if conditions.value(status, CONDITION) == "True":
        return None
    if conditions.find(status, CONDITION) is None:
        conditions.put(status, CONDITION, "False", "Offboarding", "The host is being taken out of Nova")
        world.cluster.write_status(hypervisor, status)
        return 0.0
    if _has_to_wait(hypervisor):
        # Each of these is a condition of the Hypervisor: its change is the next look.
        return None
    _remove(world, hypervisor)
    conditions.put(status, CONDITION, "True", "Offboarded", "The host is out of Nova")
    world.cluster.write_status(hypervisor, status)
    world.say(f"{hypervisor['metadata']['name']}: offboarded")
    return None


def _has_to_wait(hypervisor: Object) -> bool:
    status = hypervisor.get("status") or {}
    if conditions.value(status, "Onboarding") == "True":
        return True
    if status.get("serviceId") and conditions.value(status, "Evicting") != "False":
        return True
    return conditions.value(status, "AgentPodsEvicted") != "True"


def _remove(world: World, hypervisor: Object) -> None:
    host = names.short((hypervisor["metadata"].get("labels") or {}).get(names.HOSTNAME, hypervisor["metadata"]["name"]))
    found = world.cloud.hypervisors(host)
    if not found:
        return
    if len(found) > 1:
        raise NotYetError(f"several hypervisors match {host}: {', '.join(row['hypervisor_hostname'] for row in found)}")
    provider, service = found[0]["id"], found[0]["service"]["id"]
    if world.cloud.servers_of(provider):
        raise NotYetError("servers are on the host")
    if (hypervisor.get("status") or {}).get("aggregates"):
        raise NotYetError("the host is in aggregates")
    world.cloud.delete_service(service)
    world.say(f"{hypervisor['metadata']['name']}: service deleted")
    for consumer, resources in world.cloud.consumers_of(provider).items():
        if resources:
            raise NotYetError(f"consumer {consumer} holds an allocation of the host")
        world.cloud.drop_consumer(consumer)
    world.cloud.delete_provider(provider)
