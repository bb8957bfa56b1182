# SPDX-License-Identifier: Apache-2.0
"""Moves the servers off a host, one at a time.

The servers are those that were on the host when the Eviction began: one that arrives later is not seen. An answer
that refuses a migration is retried and recorded nowhere.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from novalab.hypervisor_operator import conditions, names
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import NotYetError, World

_PREFLIGHT, _EVICTING, _MIGRATING = "PreflightChecksSucceeded", "Evicting", "MigratingInstance"
_SOON, _LATER = 1.0, 10.0
_RUNNING_POWER_STATE = 1


def reconcile(world: World, eviction: Object) -> float | None:
    """Take the Eviction one step further. Raises what a call answered, or NotYetError for a server in ERROR."""
    status = copy.deepcopy(eviction.get("status") or {})
    if conditions.value(status, _EVICTING) == "False":
        return None
    if conditions.find(status, _EVICTING) is None:
        conditions.put(status, _EVICTING, "True", "Running", "The servers are being moved")
    again: float | None
    try:
        if conditions.value(status, _PREFLIGHT) != "True":
            again = _prepare(world, eviction, status)
        elif status.get("outstandingInstances"):
            again = _move_last(world, eviction, status)
        else:
            _end(status, "Succeeded", "No server is left to be moved")
            again = None
    finally:
        world.cluster.write_status(eviction, status)
    return again


def _end(status: dict[str, Any], reason: str, message: str) -> None:
    conditions.put(status, _EVICTING, "False", reason, message)


def _prepare(world: World, eviction: Object, status: dict[str, Any]) -> float | None:
    """Check the host and take the one snapshot of its servers."""
    name = eviction["spec"]["hypervisor"]
    known = (world.cluster.get("Hypervisor", name) or {}).get("status") or {}
    hypervisor = known.get("hypervisorId")
    if hypervisor and conditions.value(known, "HypervisorDisabled") != "True":
        conditions.put(status, _PREFLIGHT, "False", "Failed", "hypervisor not disabled")
        return _LATER
    servers = world.cloud.servers_of(hypervisor) if hypervisor else _servers_of_unregistered(world, name)
    if servers is None:
        # A host that was in Nova and is not now is a failure; one that never was has nothing to be moved.
        _end(status, "Failed" if hypervisor else "Succeeded", f"Nova knows no hypervisor {hypervisor or name}")
        return None
    if hypervisor:
        status["hypervisorServiceId"] = hypervisor
    status["outstandingInstances"] = servers
    conditions.put(status, _PREFLIGHT, "True", "Succeeded", f"{len(servers)} servers are to be moved")
    world.say(f"eviction of {name}: {len(servers)} servers")
    return _SOON


def _servers_of_unregistered(world: World, name: str) -> list[str] | None:
    found = [row for row in world.cloud.hypervisors(name) if names.short(row["hypervisor_hostname"]) == name]
    return world.cloud.servers_of(found[0]["id"]) if found else None


def _move_last(world: World, eviction: Object, status: dict[str, Any]) -> float | None:
    """Look at the last server of the list once."""
    left: list[str] = status["outstandingInstances"]
    server = left[-1]
    found = world.cloud.server(server)
    if found is None:
        return _done(status, server, "is gone")
    state, task = found["status"], found.get("OS-EXT-STS:task_state")
    if state in ("MIGRATING", "RESIZE"):
        return _LATER
    if state == "ERROR":
        _to_the_back(
            status, server, f"is in ERROR: {(found.get('fault') or {}).get('message', 'no fault is recorded')}"
        )
        raise NotYetError(f"server {server} is in ERROR")
    if names.short(found.get("OS-EXT-SRV-ATTR:hypervisor_hostname") or "") != eviction["spec"]["hypervisor"]:
        if state == "VERIFY_RESIZE":
            world.cloud.confirm_resize(server)
        world.say(f"eviction of {eviction['spec']['hypervisor']}: server {server} has moved")
        return _done(status, server, "has moved")
    if task == "deleting":
        _to_the_back(status, server, "is being deleted")
        return _LATER
    _move(world, found)
    return _LATER


def _move(world: World, server: Mapping[str, Any]) -> None:
    if server["status"] == "ACTIVE" or server.get("OS-EXT-STS:power_state") == _RUNNING_POWER_STATE:
        world.cloud.live_migrate(server["id"])
    else:
        world.cloud.cold_migrate(server["id"])


def _done(status: dict[str, Any], server: str, how: str) -> float:
    """Drop the server. A failure before it stays to be seen while others are left."""
    status["outstandingInstances"] = [each for each in status["outstandingInstances"] if each != server]
    failed_before = conditions.reads(status, _MIGRATING, "False", "Failed")
    if not (failed_before and status["outstandingInstances"]):
        conditions.put(status, _MIGRATING, "False", "Succeeded", f"Server {server} {how}")
    return _SOON


def _to_the_back(status: dict[str, Any], server: str, why: str) -> None:
    status["outstandingInstances"] = [server, *status["outstandingInstances"][:-1]]
    conditions.put(status, _MIGRATING, "False", "Failed", f"Server {server} {why}")
