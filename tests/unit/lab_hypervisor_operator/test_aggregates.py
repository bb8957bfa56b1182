# SPDX-License-Identifier: Apache-2.0
"""Which aggregates a host belongs to in each state, and how it gets there."""

from __future__ import annotations

import pytest
from novalab.hypervisor_operator import aggregates, conditions, world
from unit.lab_hypervisor_operator import memory


@pytest.fixture
def site(site: memory.Site) -> memory.Site:
    """A host that Nova knows."""
    site.registered()
    return site


def look(site: memory.Site) -> float | None:
    return aggregates.reconcile(site.world, site.hypervisor)


def members(site: memory.Site) -> set[str]:
    return {name for name, hosts in site.cloud.hosts_of.items() if memory.HOST in hosts}


def place(site: memory.Site, *names: str, recorded: bool = True) -> None:
    """Put the host into aggregates; the status says so too, or something else."""
    for name in names:
        site.cloud.hosts_of.setdefault(name, []).append(memory.HOST)
    if recorded:
        site.registered(aggregates=[{"name": name} for name in names])


def in_termination(site: memory.Site, evicting: str) -> None:
    site.spec(maintenance="termination")
    site.condition("Evicting", evicting, "Running" if evicting == "True" else "Succeeded")


def test_host_in_termination_leaves_every_aggregate_once_it_is_evicted(site: memory.Site) -> None:
    place(site, "az1", "by-hand")
    in_termination(site, "False")
    look(site)
    assert members(site) == set()
    assert site.reads("AggregatesUpdated") == "False Terminating"


@pytest.mark.parametrize("evicting", ["True", None])
def test_host_in_termination_keeps_its_aggregates_until_then(site: memory.Site, evicting: str | None) -> None:
    place(site, "az1")
    site.spec(aggregates=["other"])
    if evicting:
        in_termination(site, evicting)
    else:
        site.spec(maintenance="termination")
    look(site)
    assert members(site) == {"az1"}
    assert site.reads("AggregatesUpdated") == "False EvictionInProgress"


@pytest.mark.parametrize("phase", ["Initial", "Testing"])
def test_host_that_is_tested_is_in_its_zone_and_the_test_aggregate(site: memory.Site, phase: str) -> None:
    site.onboarding(f"True {phase}")
    site.spec(aggregates=["other"])
    look(site)
    assert members(site) == {"az1", "tenant_filter_tests"}
    assert site.reads("AggregatesUpdated") == "False TestAggregates"


@pytest.mark.parametrize("traits", ["False", None])
def test_host_that_is_handed_over_stays_there_until_its_traits_are_applied(
    site: memory.Site, traits: str | None
) -> None:
    site.onboarding("True Handover")
    if traits:
        site.condition("TraitsUpdated", traits, "Failed")
    look(site)
    assert members(site) == {"az1", "tenant_filter_tests"}
    assert site.reads("AggregatesUpdated") == "False WaitingForTraits"


def test_host_with_its_traits_goes_where_its_spec_says(site: memory.Site) -> None:
    place(site, "az1", "tenant_filter_tests")
    site.onboarding("True Handover")
    site.condition("TraitsUpdated", "True", "Succeeded")
    site.spec(aggregates=["az1"])
    look(site)
    assert members(site) == {"az1"}
    assert site.reads("AggregatesUpdated") == "True Succeeded"


@pytest.mark.parametrize("verdict", ["False Succeeded", "False Aborted", ""])
def test_every_other_state_follows_the_spec_whatever_became_of_the_traits(site: memory.Site, verdict: str) -> None:
    place(site, "az1", "tenant_filter_tests")
    if verdict:
        site.onboarding(verdict)
    site.condition("TraitsUpdated", "False", "Failed")
    look(site)
    assert members(site) == set()
    assert site.reads("AggregatesUpdated") == "True Succeeded"


def test_missing_aggregates_stop_it_before_any_change(site: memory.Site) -> None:
    place(site, "by-hand")
    site.spec(aggregates=["a", "az1", "b"])
    with pytest.raises(world.NotYetError):
        look(site)
    assert members(site) == {"by-hand"}
    found = conditions.find(site.status, "AggregatesUpdated") or {}
    assert (found["reason"], found["message"]) == (
        "Failed",
        "failed to apply aggregates: aggregates not found: [a b]",
    )


def test_membership_is_changed_only_when_the_recorded_names_differ(site: memory.Site) -> None:
    site.registered(aggregates=[{"name": "az1"}])
    site.spec(aggregates=["az1"])
    look(site)
    assert site.cloud.calls == []


def test_names_in_another_order_are_no_difference(site: memory.Site) -> None:
    site.registered(aggregates=[{"name": "b"}, {"name": "a"}])
    site.spec(aggregates=["a", "b"])
    look(site)
    assert site.cloud.calls == []


def test_host_is_added_before_it_is_removed_from_every_other(site: memory.Site) -> None:
    place(site, "by-hand", recorded=False)
    place(site, "tenant_filter_tests")
    site.spec(aggregates=["az1"])
    look(site)
    changes = [call[:2] for call in site.cloud.calls if call[0] in ("add_host", "remove_host")]
    assert changes[0] == ("add_host", "az1")
    assert sorted(changes[1:]) == [("remove_host", "by-hand"), ("remove_host", "tenant_filter_tests")]


def test_status_records_name_id_and_metadata(site: memory.Site) -> None:
    site.spec(aggregates=["az1"])
    look(site)
    assert site.status["aggregates"] == [{"name": "az1", "uuid": "uuid-az1", "metadata": {"of": "az1"}}]


def test_name_that_is_listed_twice_is_added_twice_and_heals_in_the_next_pass(site: memory.Site) -> None:
    site.spec(aggregates=["az1", "az1"])
    with pytest.raises(world.NotYetError, match="409"):
        look(site)
    assert site.reads("AggregatesUpdated") == "False Failed"
    look(site)
    assert site.reads("AggregatesUpdated") == "True Succeeded"
    assert len(site.cloud.asked("add_host")) == 2


def test_failures_are_joined_and_do_not_stop_each_other(site: memory.Site) -> None:
    place(site, "by-hand", recorded=False)
    site.spec(aggregates=["az1"])
    site.cloud.refusals = {"add_host": 500, "remove_host": 409}
    with pytest.raises(world.NotYetError, match=r"(?s)add_host.*500.*remove_host.*409"):
        look(site)


@pytest.mark.parametrize("lacking", ["hypervisorId", "serviceId"])
def test_host_without_both_ids_is_left_alone(site: memory.Site, lacking: str) -> None:
    site.registered(**{lacking: ""})
    site.spec(aggregates=["az1"])
    look(site)
    assert site.cloud.calls == []


def test_host_without_lifecycle_is_left_alone(site: memory.Site) -> None:
    site.spec(aggregates=["az1"], lifecycleEnabled=False)
    look(site)
    assert site.cloud.calls == []
