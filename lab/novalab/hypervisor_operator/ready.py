# SPDX-License-Identifier: Apache-2.0
"""The condition Ready of a Hypervisor: the first thing that keeps the host from serving."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from novalab.hypervisor_operator import conditions
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Set Ready."""
    status = copy.deepcopy(hypervisor.get("status") or {})
    reason = first_obstacle(hypervisor["spec"], status)
    conditions.put(status, "Ready", "False" if reason else "True", reason or "Ready")
    world.cluster.write_status(hypervisor, status)
    return None


def first_obstacle(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """The reason of Ready=False, or nothing."""
    obstacles = (
        ("Offboarded", conditions.value(status, "Offboarded") == "True"),
        ("Terminating", conditions.value(status, "Terminating") == "True"),
        ("Onboarding", conditions.value(status, "Onboarding") == "True"),
        ("Evicting", conditions.value(status, "Evicting") == "True"),
        ("Evicted", bool(status.get("evicted"))),
        ("Maintenance", bool(spec.get("maintenance"))),
        ("Onboarding", not conditions.reads(status, "Onboarding", "False", "Succeeded")),
    )
    return next((reason for reason, stands in obstacles if stands), "")
