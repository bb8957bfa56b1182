# SPDX-License-Identifier: Apache-2.0
"""Answers for the HA service of a cluster, which is another program: onboarding waits for its HaEnabled.

Without the switch nobody answers, and a host with high availability stays in Handover, as it would there.
"""

from __future__ import annotations

import copy

from novalab.hypervisor_operator import conditions
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Say HaEnabled=True for a host that is being handed over."""
    status = copy.deepcopy(hypervisor.get("status") or {})
    wanted = world.options.ha and hypervisor["spec"].get("highAvailability")
    if wanted and conditions.reads(status, "Onboarding", "True", "Handover"):
        conditions.put(status, "HaEnabled", "True", "Succeeded", "The host is watched")
        world.cluster.write_status(hypervisor, status)
    return None
