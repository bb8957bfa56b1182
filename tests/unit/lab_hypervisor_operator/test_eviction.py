# SPDX-License-Identifier: Apache-2.0
"""How servers are moved off a host, one at a time, and what becomes of those that do not move."""

from __future__ import annotations

from typing import Any

import pytest
from novalab.hypervisor_operator import cloud, conditions, eviction, maintenance, world
from unit.lab_hypervisor_operator import memory

ELSEWHERE = "host-2"


@pytest.fixture
def site(site: memory.Site) -> memory.Site:
    """A host whose service is disabled, with an Eviction that has not begun."""
    site.registered()
    site.onboarding("False Succeeded")
    site.condition("HypervisorDisabled", "True", "Succeeded")
    site.cluster.put({**maintenance.new_eviction(site.hypervisor), "status": {}})
    return site


def serve(site: memory.Site, name: str, status: str = "ACTIVE", *, power: int = 1, **fields: Any) -> None:
    """Put a server on the host."""
    site.cloud.servers[name] = {
        "id": name,
        "status": status,
        "OS-EXT-STS:power_state": power,
        "OS-EXT-STS:task_state": None,
        "OS-EXT-SRV-ATTR:hypervisor_hostname": memory.HOST,
        **fields,
    }


def look(site: memory.Site) -> float | None:
    item = site.cluster.get("Eviction", memory.HOST)
    assert item is not None
    return eviction.reconcile(site.world, item)


def status(site: memory.Site) -> dict[str, Any]:
    found = site.cluster.get("Eviction", memory.HOST)
    assert found is not None
    return dict(found["status"])


def reads(site: memory.Site, kind: str) -> str:
    found = conditions.find(status(site), kind)
    return f"{found['status']} {found['reason']}" if found else ""


def migrations(site: memory.Site) -> list[tuple[Any, ...]]:
    return [call for call in site.cloud.calls if call[0] in ("live_migrate", "cold_migrate")]


def test_host_that_is_not_disabled_is_asked_about_again_after_ten_seconds(site: memory.Site) -> None:
    site.condition("HypervisorDisabled", "False", "Succeeded")
    assert look(site) == 10.0
    assert reads(site, "PreflightChecksSucceeded") == "False Failed"
    assert (conditions.find(status(site), "PreflightChecksSucceeded") or {})["message"] == "hypervisor not disabled"
    assert reads(site, "Evicting") == "True Running"


def test_snapshot_is_taken_once_and_later_arrivals_are_not_moved(site: memory.Site) -> None:
    serve(site, "a")
    look(site)
    serve(site, "late")
    look(site)
    assert status(site)["outstandingInstances"] == ["a"]
    assert len(site.cloud.asked("servers_of")) == 1


def test_snapshot_records_the_hypervisor(site: memory.Site) -> None:
    look(site)
    assert status(site)["hypervisorServiceId"] == memory.HYPERVISOR
    assert reads(site, "PreflightChecksSucceeded") == "True Succeeded"


def test_registered_host_that_nova_does_not_know_is_a_failure(site: memory.Site) -> None:
    site.cloud.rows = []
    look(site)
    assert reads(site, "Evicting") == "False Failed"


def test_unregistered_host_that_nova_does_not_know_is_empty(site: memory.Site) -> None:
    site.registered(hypervisorId="", serviceId="")
    site.cloud.rows = []
    look(site)
    assert reads(site, "Evicting") == "False Succeeded"


def test_host_without_servers_is_evicted(site: memory.Site) -> None:
    look(site)
    look(site)
    assert reads(site, "Evicting") == "False Succeeded"


def test_last_server_of_the_list_is_first(site: memory.Site) -> None:
    serve(site, "a")
    serve(site, "b")
    look(site)
    look(site)
    assert migrations(site) == [("live_migrate", "b")]


@pytest.mark.parametrize(("state", "power"), [("ACTIVE", 1), ("ACTIVE", 0), ("PAUSED", 1)])
def test_server_that_is_active_or_powered_on_is_migrated_live(site: memory.Site, state: str, power: int) -> None:
    serve(site, "a", state, power=power)
    look(site)
    assert look(site) == 10.0
    assert migrations(site) == [("live_migrate", "a")]


@pytest.mark.parametrize(("state", "power"), [("SHUTOFF", 4), ("PAUSED", 3), ("SUSPENDED", 4)])
def test_every_other_server_is_migrated_cold(site: memory.Site, state: str, power: int) -> None:
    serve(site, "a", state, power=power)
    look(site)
    assert look(site) == 10.0
    assert migrations(site) == [("cold_migrate", "a")]


@pytest.mark.parametrize("state", ["MIGRATING", "RESIZE"])
def test_server_on_its_way_is_looked_at_again_after_ten_seconds(site: memory.Site, state: str) -> None:
    serve(site, "a", state)
    look(site)
    assert look(site) == 10.0
    assert migrations(site) == []


def test_server_that_is_gone_is_dropped(site: memory.Site) -> None:
    serve(site, "a")
    look(site)
    site.cloud.servers.clear()
    assert look(site) == 1.0
    assert status(site)["outstandingInstances"] == []
    assert reads(site, "MigratingInstance") == "False Succeeded"


def test_server_on_another_host_is_done(site: memory.Site) -> None:
    serve(site, "a")
    look(site)
    site.cloud.servers["a"]["OS-EXT-SRV-ATTR:hypervisor_hostname"] = ELSEWHERE
    look(site)
    assert status(site)["outstandingInstances"] == []
    assert reads(site, "MigratingInstance") == "False Succeeded"
    assert migrations(site) == []


def test_cold_migration_is_confirmed(site: memory.Site) -> None:
    serve(site, "a", "SHUTOFF", power=4)
    look(site)
    site.cloud.servers["a"] |= {"OS-EXT-SRV-ATTR:hypervisor_hostname": ELSEWHERE, "status": "VERIFY_RESIZE"}
    look(site)
    assert site.cloud.asked("confirm_resize") == [("a",)]
    assert status(site)["outstandingInstances"] == []


def test_server_in_error_goes_to_the_back_with_its_fault_and_is_not_migrated(site: memory.Site) -> None:
    serve(site, "a")
    serve(site, "broken", "ERROR", fault={"message": "no disk"})
    look(site)
    with pytest.raises(world.NotYetError):
        look(site)
    assert status(site)["outstandingInstances"] == ["broken", "a"]
    found = conditions.find(status(site), "MigratingInstance") or {}
    assert (found["status"], found["reason"], "no disk" in found["message"]) == ("False", "Failed", True)
    assert migrations(site) == []


def test_server_in_error_alone_keeps_the_eviction_going(site: memory.Site) -> None:
    serve(site, "broken", "ERROR")
    look(site)
    for _ in range(3):
        with pytest.raises(world.NotYetError):
            look(site)
    assert reads(site, "Evicting") == "True Running"
    assert migrations(site) == []


def test_failure_stays_to_be_seen_while_servers_are_left_and_goes_with_the_last(site: memory.Site) -> None:
    serve(site, "a")
    serve(site, "broken", "ERROR")
    look(site)
    with pytest.raises(world.NotYetError):
        look(site)
    del site.cloud.servers["a"]
    look(site)
    assert reads(site, "MigratingInstance") == "False Failed"
    del site.cloud.servers["broken"]
    look(site)
    assert reads(site, "MigratingInstance") == "False Succeeded"


def test_server_that_is_being_deleted_goes_to_the_back(site: memory.Site) -> None:
    serve(site, "a")
    serve(site, "leaving", **{"OS-EXT-STS:task_state": "deleting"})
    look(site)
    assert look(site) == 10.0
    assert status(site)["outstandingInstances"] == ["leaving", "a"]
    assert reads(site, "MigratingInstance") == "False Failed"


def test_refused_migration_is_an_error_that_no_condition_tells(site: memory.Site) -> None:
    serve(site, "a")
    look(site)
    site.cloud.refusals["live_migrate"] = 400
    with pytest.raises(cloud.CloudError):
        look(site)
    assert reads(site, "MigratingInstance") == ""
    assert status(site)["outstandingInstances"] == ["a"]


def test_ended_eviction_asks_nothing_more(site: memory.Site) -> None:
    look(site)
    look(site)
    asked = len(site.cloud.calls)
    assert look(site) is None
    assert len(site.cloud.calls) == asked


def test_host_with_a_dot_in_its_name_counts_as_empty_with_its_servers_on_it(site: memory.Site) -> None:
    name = "host-3.example.org"
    site.cloud.rows = [{"id": memory.HYPERVISOR, "hypervisor_hostname": name, "service": {"id": memory.SERVICE}}]
    serve(site, "a", **{"OS-EXT-SRV-ATTR:hypervisor_hostname": name})
    hypervisor = site.hypervisor
    hypervisor["metadata"]["name"] = name
    site.cluster.put(hypervisor)
    site.cluster.put({**maintenance.new_eviction(hypervisor), "status": {}})
    for _ in range(3):
        item = site.cluster.get("Eviction", name)
        assert item is not None
        eviction.reconcile(site.world, item)
    ended = site.cluster.get("Eviction", name)
    assert conditions.reads((ended or {})["status"], "Evicting", "False", "Succeeded")
    assert migrations(site) == []
