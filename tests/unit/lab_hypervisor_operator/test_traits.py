# SPDX-License-Identifier: Apache-2.0
"""How a list of custom traits reaches a resource provider, and what is not noticed on the way."""

from __future__ import annotations

import pytest
from novalab.hypervisor_operator import cloud, conditions, traits
from unit.lab_hypervisor_operator import memory


@pytest.fixture
def site(site: memory.Site) -> memory.Site:
    """A host that is onboarded, with two custom traits that Placement knows."""
    site.registered()
    site.onboarding("False Succeeded")
    site.cloud.trait_names |= {"CUSTOM_A", "CUSTOM_B", "CUSTOM_FOREIGN"}
    return site


def look(site: memory.Site) -> float | None:
    return traits.reconcile(site.world, site.hypervisor)


def message(site: memory.Site) -> str:
    return str((conditions.find(site.status, "TraitsUpdated") or {})["message"])


def test_list_is_added_to_what_the_provider_has_and_recorded_as_a_whole(site: memory.Site) -> None:
    site.spec(customTraits=["CUSTOM_A", "CUSTOM_B"])
    look(site)
    assert site.cloud.traits == ["COMPUTE_NODE", "CUSTOM_A", "CUSTOM_B"]
    assert site.status["traits"] == ["COMPUTE_NODE", "CUSTOM_A", "CUSTOM_B"]
    assert (site.reads("TraitsUpdated"), message(site)) == ("True Succeeded", "Traits successfully updated")


def test_add_and_remove_of_recorded_traits_are_one_put(site: memory.Site) -> None:
    site.cloud.traits = ["COMPUTE_NODE", "CUSTOM_A"]
    site.registered(traits=["COMPUTE_NODE", "CUSTOM_A"])
    site.spec(customTraits=["CUSTOM_B"])
    look(site)
    assert site.cloud.asked("set_provider_traits") == [(memory.HYPERVISOR, ["COMPUTE_NODE", "CUSTOM_B"], 7)]


def test_equal_lists_cost_no_call_and_no_write_and_set_no_condition(site: memory.Site) -> None:
    site.registered(traits=["COMPUTE_NODE", "CUSTOM_A"])
    site.spec(customTraits=["CUSTOM_A"])
    written = len(site.cluster.written)
    look(site)
    assert site.cloud.calls == []
    assert site.cluster.written[written:] == []
    assert site.reads("TraitsUpdated") == ""


def test_host_without_custom_traits_is_never_told_that_they_are_applied(site: memory.Site) -> None:
    site.onboarding("True Handover")
    look(site)
    assert site.reads("TraitsUpdated") == ""


def test_list_that_goes_back_to_what_is_applied_leaves_an_old_failure(site: memory.Site) -> None:
    site.registered(traits=["CUSTOM_A"])
    site.spec(customTraits=["CUSTOM_A", "CUSTOM_UNKNOWN"])
    with pytest.raises(cloud.CloudError):
        look(site)
    site.spec(customTraits=["CUSTOM_A"])
    look(site)
    assert site.reads("TraitsUpdated") == "False Failed"


def test_provider_that_has_the_target_already_is_recorded_without_a_put(site: memory.Site) -> None:
    site.cloud.traits = ["CUSTOM_A", "COMPUTE_NODE"]
    site.spec(customTraits=["CUSTOM_A"])
    look(site)
    assert site.cloud.asked("set_provider_traits") == []
    assert site.status["traits"] == ["COMPUTE_NODE", "CUSTOM_A"]


def test_unknown_trait_is_refused_and_the_servers_text_recorded(site: memory.Site) -> None:
    site.registered(traits=["COMPUTE_NODE"])
    site.spec(customTraits=["CUSTOM_UNKNOWN"])
    with pytest.raises(cloud.CloudError):
        look(site)
    assert site.reads("TraitsUpdated") == "False Failed"
    assert message(site).startswith("Failed to update traits in placement: ")
    assert "No such trait(s): CUSTOM_UNKNOWN." in message(site)
    assert site.status["traits"] == ["COMPUTE_NODE"]


def test_generation_that_moved_on_is_a_failure_of_the_same_kind(site: memory.Site) -> None:
    site.spec(customTraits=["CUSTOM_A"])
    site.cloud.refusals["set_provider_traits"] = 409
    with pytest.raises(cloud.CloudError):
        look(site)
    assert site.reads("TraitsUpdated") == "False Failed"
    assert message(site).startswith("Failed to update traits in placement: ")


def test_provider_that_cannot_be_read_is_a_failure_that_says_so(site: memory.Site) -> None:
    site.spec(customTraits=["CUSTOM_A"])
    site.cloud.refusals["provider_traits"] = 503
    with pytest.raises(cloud.CloudError):
        look(site)
    assert site.reads("TraitsUpdated") == "False Failed"
    assert message(site).startswith("Failed to get current traits from placement: ")


def test_foreign_trait_is_unseen_then_recorded_then_removed(site: memory.Site) -> None:
    site.spec(customTraits=["CUSTOM_A"])
    look(site)
    site.cloud.traits = [*site.cloud.traits, "CUSTOM_FOREIGN"]
    look(site)
    assert len(site.cloud.asked("set_provider_traits")) == 1
    site.spec(customTraits=["CUSTOM_A", "CUSTOM_B"])
    look(site)
    assert site.status["traits"] == ["COMPUTE_NODE", "CUSTOM_A", "CUSTOM_B", "CUSTOM_FOREIGN"]
    look(site)
    assert site.cloud.traits == ["COMPUTE_NODE", "CUSTOM_A", "CUSTOM_B"]
    assert len(site.cloud.asked("set_provider_traits")) == 3


def test_recorded_trait_that_somebody_took_off_the_provider_does_not_come_back(site: memory.Site) -> None:
    site.registered(traits=["COMPUTE_NODE", "CUSTOM_A"])
    site.spec(customTraits=["CUSTOM_A", "CUSTOM_B"])
    look(site)
    assert site.cloud.traits == ["COMPUTE_NODE", "CUSTOM_B"]


@pytest.mark.parametrize(
    "listed", [["CUSTOM_B", "CUSTOM_A"], ["CUSTOM_A", "CUSTOM_B", "CUSTOM_B"], ["COMPUTE_NODE", "CUSTOM_A", "CUSTOM_B"]]
)
def test_list_out_of_order_or_with_strange_names_is_read_each_time_and_put_once(
    site: memory.Site, listed: list[str]
) -> None:
    site.spec(customTraits=listed)
    for _ in range(3):
        look(site)
    assert len(site.cloud.asked("provider_traits")) == 3
    assert len(site.cloud.asked("set_provider_traits")) == 1


def test_nothing_left_on_the_provider_is_sent_as_null_and_refused(site: memory.Site) -> None:
    site.cloud.traits = ["CUSTOM_A"]
    site.registered(traits=["CUSTOM_A"])
    with pytest.raises(cloud.CloudError):
        look(site)
    assert site.cloud.asked("set_provider_traits") == [(memory.HYPERVISOR, None, 7)]


def test_host_without_an_id_is_looked_at_again_after_ten_seconds(site: memory.Site) -> None:
    site.registered(hypervisorId="")
    site.spec(customTraits=["CUSTOM_A"])
    assert look(site) == 10.0
    assert site.cloud.calls == []


@pytest.mark.parametrize("change", [{"lifecycleEnabled": False}, {"maintenance": "termination"}])
def test_lifecycle_off_and_termination_stop_it(site: memory.Site, change: dict[str, object]) -> None:
    site.spec(customTraits=["CUSTOM_A"], **change)
    look(site)
    assert site.cloud.calls == []


@pytest.mark.parametrize("maintenance", ["manual", "auto", "ha"])
def test_other_maintenance_does_not_stop_it(site: memory.Site, maintenance: str) -> None:
    site.spec(customTraits=["CUSTOM_A"], maintenance=maintenance)
    look(site)
    assert "CUSTOM_A" in site.cloud.traits


@pytest.mark.parametrize(
    ("verdict", "applied"),
    [
        ("True Initial", False),
        ("True Testing", False),
        ("True Handover", True),
        ("False Succeeded", True),
        ("False Aborted", True),
    ],
)
def test_list_is_applied_from_the_handover_on(site: memory.Site, verdict: str, applied: bool) -> None:  # noqa: FBT001
    site.onboarding(verdict)
    site.spec(customTraits=["CUSTOM_A"])
    look(site)
    assert ("CUSTOM_A" in site.cloud.traits) is applied


def test_host_that_was_never_onboarded_gets_no_trait(site: memory.Site) -> None:
    item = site.hypervisor
    conditions.drop(item["status"], "Onboarding")
    site.cluster.put(item)
    site.spec(customTraits=["CUSTOM_A"])
    look(site)
    assert site.cloud.calls == []
