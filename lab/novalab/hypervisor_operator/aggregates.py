# SPDX-License-Identifier: Apache-2.0
"""Keeps a host in its aggregates and in no other, whenever their names differ from those in the status.

A membership that somebody changes by hand is not noticed until then. No aggregate is ever created.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import requests
from keystoneauth1 import exceptions as keystone_errors

from novalab.hypervisor_operator import cloud, conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import NotYetError, World

CONDITION = "AggregatesUpdated"
_FAILURES = (NotYetError, cloud.CloudError, keystone_errors.ClientException, requests.RequestException)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """The names of the aggregates, in order, and what AggregatesUpdated reads once the host is in them."""

    aggregates: list[str]
    status: str
    reason: str


def reconcile(world: World, hypervisor: Object) -> float | None:
    """Move the host into its aggregates. Raises what failed, after it was written down."""
    status = copy.deepcopy(hypervisor.get("status") or {})
    if not (hypervisor["spec"]["lifecycleEnabled"] and status.get("hypervisorId") and status.get("serviceId")):
        return None
    wish = wished(hypervisor)
    if sorted(wish.aggregates) != sorted(_recorded(status)):
        try:
            status["aggregates"] = _apply(world, hypervisor["metadata"]["name"], wish.aggregates)
        except _FAILURES as error:
            conditions.put(status, CONDITION, "False", "Failed", f"failed to apply aggregates: {error}")
            world.cluster.write_status(hypervisor, status)
            raise
    conditions.put(status, CONDITION, wish.status, wish.reason, _MESSAGES[wish.reason])
    world.cluster.write_status(hypervisor, status)
    return None


def wished(hypervisor: Object) -> Wish:
    """Where the host belongs now."""
    spec, status = hypervisor["spec"], hypervisor.get("status") or {}
    if spec.get("maintenance") == names.TERMINATION:
        if conditions.value(status, "Evicting") == "False":
            return Wish(aggregates=[], status="False", reason="Terminating")
        return Wish(aggregates=_recorded(status), status="False", reason="EvictionInProgress")
    testing = [(hypervisor["metadata"].get("labels") or {}).get(names.ZONE, ""), names.TEST_AGGREGATE]
    if any(conditions.reads(status, "Onboarding", "True", phase) for phase in ("Initial", "Testing")):
        return Wish(aggregates=testing, status="False", reason="TestAggregates")
    handover = conditions.reads(status, "Onboarding", "True", "Handover")
    if handover and conditions.value(status, "TraitsUpdated") != "True":
        return Wish(aggregates=testing, status="False", reason="WaitingForTraits")
    return Wish(aggregates=list(spec.get("aggregates") or []), status="True", reason="Succeeded")


def _recorded(status: Mapping[str, Any]) -> list[str]:
    return [each["name"] for each in status.get("aggregates") or []]


def _apply(world: World, host: str, wanted: list[str]) -> list[dict[str, Any]]:
    """What the status records once the host is where it belongs. Raises NotYetError with everything that failed."""
    known = {row["name"]: row for row in world.cloud.aggregates()}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise NotYetError(f"aggregates not found: [{' '.join(missing)}]")
    failures = []
    for name in wanted:
        if host not in known[name]["hosts"]:
            try:
                world.cloud.add_host(known[name]["id"], host)
                world.say(f"{host}: added to aggregate {name}")
            except cloud.CloudError as error:
                failures.append(str(error))
    for name, row in known.items():
        if name not in wanted and host in row["hosts"]:
            try:
                world.cloud.remove_host(row["id"], host)
                world.say(f"{host}: removed from aggregate {name}")
            except cloud.CloudError as error:
                failures.append(str(error))
    if failures:
        raise NotYetError("\n".join(failures))
    return [
        {"name": name, "uuid": known[name]["uuid"], "metadata": known[name].get("metadata") or {}} for name in wanted
    ]


_MESSAGES = {
    "Terminating": "The host is being taken out of every aggregate",
    "EvictionInProgress": "The aggregates are kept while the host is being evicted",
    "TestAggregates": "The host is in its test aggregates",
    "WaitingForTraits": "The test aggregates are kept until the traits are applied",
    "Succeeded": "The aggregates are applied",
}
