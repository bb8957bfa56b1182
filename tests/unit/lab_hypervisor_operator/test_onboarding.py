# SPDX-License-Identifier: Apache-2.0
"""The way of a new host into service, and what holds it up."""

from __future__ import annotations

import pytest
from novalab.hypervisor_operator import conditions, ha, names, onboarding, world
from unit.lab_hypervisor_operator import memory

TEST_AGGREGATES = [{"name": "az1"}, {"name": "tenant_filter_tests"}]


def look(site: memory.Site) -> float | None:
    return onboarding.reconcile(site.world, site.hypervisor)


def test_host_that_nova_does_not_list_yet_is_looked_for_again_after_a_minute(site: memory.Site) -> None:
    site.cloud.rows = []
    assert look(site) == 60.0
    assert site.reads("Onboarding") == ""


def test_host_is_found_by_the_hostname_label_not_by_the_nodes_name(site: memory.Site) -> None:
    item = site.hypervisor
    item["metadata"]["labels"][names.HOSTNAME] = "other.example.org"
    site.cluster.put(item)
    site.cloud.rows = [{"id": "h", "hypervisor_hostname": "other.domain", "service": {"id": "s"}}]
    look(site)
    assert (site.status["hypervisorId"], site.status["serviceId"]) == ("h", "s")
    assert site.reads("Onboarding") == "True Initial"


def test_host_whose_short_name_only_begins_alike_is_another_one(site: memory.Site) -> None:
    site.cloud.rows = [{"id": "h", "hypervisor_hostname": "host-10", "service": {"id": "s"}}]
    assert look(site) == 60.0


def test_ids_are_never_refreshed(site: memory.Site) -> None:
    site.registered(hypervisorId="old")
    site.onboarding("True Testing")
    look(site)
    assert site.status["hypervisorId"] == "old"
    assert site.cloud.asked("hypervisors") == []


@pytest.mark.parametrize("recorded", [[], TEST_AGGREGATES[:1], [*TEST_AGGREGATES, {"name": "more"}]])
def test_initial_waits_for_exactly_both_aggregates(site: memory.Site, recorded: list[dict[str, str]]) -> None:
    site.registered(aggregates=recorded)
    site.onboarding("True Initial")
    with pytest.raises(world.NotYetError):
        look(site)
    assert site.reads("Onboarding") == "True Initial"


def test_initial_of_a_host_without_zone_is_only_an_error(site: memory.Site) -> None:
    site.registered()
    site.onboarding("True Initial")
    item = site.hypervisor
    del item["metadata"]["labels"][names.ZONE]
    site.cluster.put(item)
    with pytest.raises(world.NotYetError, match=names.ZONE):
        look(site)


def test_host_in_its_test_aggregates_is_enabled_and_tested(site: memory.Site) -> None:
    site.registered(aggregates=TEST_AGGREGATES)
    site.onboarding("True Initial")
    look(site)
    assert site.cloud.asked("enable_service") == [(memory.SERVICE,)]
    assert site.reads("Onboarding") == "True Testing"


def test_tests_that_are_skipped_lead_to_the_handover(site: memory.Site) -> None:
    site.registered()
    site.onboarding("True Testing")
    look(site)
    assert site.reads("Onboarding") == "True Handover"


def test_tests_that_are_not_skipped_hold_the_host_and_say_how_to_skip_them(site: memory.Site) -> None:
    site.registered()
    site.spec(skipTests=False)
    site.onboarding("True Testing")
    look(site)
    assert site.reads("Onboarding") == "True Testing"
    assert "skip-tests" in (conditions.find(site.status, "Onboarding") or {})["message"]


@pytest.mark.parametrize("missing", ["AggregatesUpdated", "TraitsUpdated", "HaEnabled"])
def test_handover_waits_for_each_of_its_three_conditions(site: memory.Site, missing: str) -> None:
    site.registered()
    site.onboarding("True Handover")
    for kind in ("AggregatesUpdated", "TraitsUpdated", "HaEnabled"):
        if kind != missing:
            site.condition(kind, "True", "Succeeded")
    look(site)
    assert site.reads("Onboarding") == "True Handover"
    site.condition(missing, "True", "Succeeded")
    look(site)
    assert site.reads("Onboarding") == "False Succeeded"


def test_host_without_high_availability_needs_nobody_to_answer_for_it(site: memory.Site) -> None:
    site.registered()
    site.spec(highAvailability=False)
    site.onboarding("True Handover")
    site.condition("AggregatesUpdated", "True", "Succeeded")
    site.condition("TraitsUpdated", "True", "Succeeded")
    look(site)
    assert site.reads("Onboarding") == "False Succeeded"


@pytest.mark.parametrize(("switch", "verdict"), [(True, "True Succeeded"), (False, "")])
def test_ha_is_answered_for_only_with_the_switch(site: memory.Site, switch: bool, verdict: str) -> None:  # noqa: FBT001
    site.options = world.Options(ha=switch)
    site.onboarding("True Handover")
    ha.reconcile(site.world, site.hypervisor)
    assert site.reads("HaEnabled") == verdict


@pytest.mark.parametrize("change", [{"lifecycleEnabled": False}, {"maintenance": "termination"}])
def test_lifecycle_off_and_termination_abort_what_has_begun(site: memory.Site, change: dict[str, object]) -> None:
    site.registered()
    site.onboarding("True Testing")
    site.spec(**change)
    look(site)
    assert site.reads("Onboarding") == "False Aborted"


@pytest.mark.parametrize("change", [{"lifecycleEnabled": False}, {"maintenance": "termination"}])
def test_what_has_not_begun_is_not_aborted(site: memory.Site, change: dict[str, object]) -> None:
    site.spec(**change)
    look(site)
    assert site.reads("Onboarding") == ""
    assert site.cloud.calls == []


@pytest.mark.parametrize("maintenance", ["manual", "auto", "ha"])
def test_other_maintenance_does_not_stop_it(site: memory.Site, maintenance: str) -> None:
    site.registered()
    site.onboarding("True Testing")
    site.spec(maintenance=maintenance)
    look(site)
    assert site.reads("Onboarding") == "True Handover"


@pytest.mark.parametrize("verdict", ["False Succeeded", "False Aborted"])
def test_known_hypervisor_is_never_onboarded_again(site: memory.Site, verdict: str) -> None:
    site.onboarding(verdict)
    look(site)
    assert site.reads("Onboarding") == verdict
    assert site.cloud.calls == []
