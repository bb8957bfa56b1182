# SPDX-License-Identifier: Apache-2.0
"""Brings a new host into service, in the phases Initial, Testing and Handover of the condition Onboarding.

True means that it is going on; False that it is over. Both of the host's ids in Nova are found here, once.
"""

from __future__ import annotations

import copy
from typing import Any

from novalab.hypervisor_operator import conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import NotYetError, World

CONDITION = "Onboarding"
_LOOK_FOR_HOST = 60.0


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Take the host one phase further. Raises NotYetError where the operator waits by its growing delay."""
    spec, status = hypervisor["spec"], copy.deepcopy(hypervisor.get("status") or {})
    onboarding = conditions.find(status, CONDITION)
    if onboarding is not None and onboarding["status"] == "False":
        return None
    if not spec["lifecycleEnabled"] or spec.get("maintenance") == names.TERMINATION:
        if onboarding is not None:
            conditions.put(status, CONDITION, "False", "Aborted", "Onboarding was aborted")
            world.cluster.write_status(hypervisor, status)
        return None
    if not (status.get("hypervisorId") and status.get("serviceId")):
        return _find_host(world, hypervisor, status)
    phase = "Initial" if onboarding is None else onboarding["reason"]
    following = _PHASES[phase](world, hypervisor, status)
    if following is not None:
        running = "False" if following == "Succeeded" else "True"
        conditions.put(status, CONDITION, running, following, _MESSAGES[following])
        world.say(f"{hypervisor['metadata']['name']}: onboarding: {following}")
    world.cluster.write_status(hypervisor, status)
    return None


def _find_host(world: World, hypervisor: Object, status: dict[str, Any]) -> float | None:
    host = names.short((hypervisor["metadata"].get("labels") or {}).get(names.HOSTNAME, ""))
    found = [row for row in world.cloud.hypervisors(host) if names.short(row["hypervisor_hostname"]) == host]
    if not found:
        return _LOOK_FOR_HOST
    status["hypervisorId"], status["serviceId"] = found[0]["id"], found[0]["service"]["id"]
    conditions.put(status, CONDITION, "True", "Initial", _MESSAGES["Initial"])
    world.cluster.write_status(hypervisor, status)
    world.say(f"{hypervisor['metadata']['name']}: onboarding: Initial")
    return None


def _initial(world: World, hypervisor: Object, status: dict[str, Any]) -> str | None:
    if conditions.find(status, CONDITION) is None:
        return "Initial"
    zone = (hypervisor["metadata"].get("labels") or {}).get(names.ZONE)
    if not zone:
        raise NotYetError(f"no label {names.ZONE}")
    recorded = sorted(each["name"] for each in status.get("aggregates") or [])
    if recorded != sorted({zone, names.TEST_AGGREGATE}):
        raise NotYetError(f"the host is not in exactly {zone} and {names.TEST_AGGREGATE} yet")
    world.cloud.enable_service(status["serviceId"])
    return "Testing"


def _testing(world: World, hypervisor: Object, status: dict[str, Any]) -> str | None:  # noqa: ARG001
    if hypervisor["spec"].get("skipTests"):
        return "Handover"
    # No volume service runs in the lab, so the test server, which boots from a volume, could never start.
    message = f"The smoke test cannot pass here: label the Node {names.LIFECYCLE}={names.SKIP_TESTS}"
    conditions.put(status, CONDITION, "True", "Testing", message)
    return None


def _handover(world: World, hypervisor: Object, status: dict[str, Any]) -> str | None:  # noqa: ARG001
    awaited = ["AggregatesUpdated", "TraitsUpdated"]
    if hypervisor["spec"].get("highAvailability"):
        awaited.append("HaEnabled")
    return "Succeeded" if all(conditions.value(status, each) == "True" for each in awaited) else None


_PHASES = {"Initial": _initial, "Testing": _testing, "Handover": _handover}
_MESSAGES = {
    "Initial": "The host is being brought into its test aggregates",
    "Testing": "The smoke test of the host has begun",
    "Handover": "The host is being brought into its own aggregates",
    "Succeeded": "Onboarding is complete",
}
