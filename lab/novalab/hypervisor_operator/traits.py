# SPDX-License-Identifier: Apache-2.0
"""Applies spec.customTraits to the host's resource provider.

``status.traits`` is a memory of what was written last, not a view of Placement: while it agrees with the spec, nothing
is read or written. No name of a trait is ever created or deleted.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import requests
from keystoneauth1 import exceptions as keystone_errors

from novalab.hypervisor_operator import cloud, conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World

CONDITION = "TraitsUpdated"
_LOOK_FOR_ID = 10.0
_FAILURES = (cloud.CloudError, keystone_errors.ClientException, requests.RequestException)


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Bring the provider's custom traits to the list. Raises what Placement answered, after it was written down."""
    spec, status = hypervisor["spec"], copy.deepcopy(hypervisor.get("status") or {})
    if not spec["lifecycleEnabled"] or spec.get("maintenance") == names.TERMINATION or not _is_due(status):
        return None
    provider = status.get("hypervisorId")
    if not provider:
        return _LOOK_FOR_ID
    wanted = list(spec.get("customTraits") or [])
    recorded = [trait for trait in status.get("traits") or [] if trait.startswith(names.CUSTOM)]
    if wanted == recorded:
        return None
    doing = "get current traits from"
    try:
        found = world.cloud.provider_traits(provider)
        target = merged(found.traits, recorded, wanted)
        if target != sorted(found.traits):
            doing = "update traits in"
            world.cloud.set_provider_traits(provider, target or None, found.generation)
            world.say(f"{hypervisor['metadata']['name']}: traits {', '.join(wanted) or '(no custom one)'}")
    except _FAILURES as error:
        conditions.put(status, CONDITION, "False", "Failed", f"Failed to {doing} placement: {error}")
        world.cluster.write_status(hypervisor, status)
        raise
    status["traits"] = target
    conditions.put(status, CONDITION, "True", "Succeeded", "Traits successfully updated")
    world.cluster.write_status(hypervisor, status)
    return None


def merged(current: list[str], recorded: list[str], wanted: list[str]) -> list[str]:
    """The provider's traits as they shall be: only recorded ones are taken away, so a stranger's stay."""
    removed = {trait for trait in recorded if trait not in wanted}
    added = {trait for trait in wanted if trait not in recorded}
    return sorted({trait for trait in current if trait not in removed} | added)


def _is_due(status: Mapping[str, Any]) -> bool:
    over = conditions.value(status, "Onboarding") == "False"
    return over or conditions.reads(status, "Onboarding", "True", "Handover")
