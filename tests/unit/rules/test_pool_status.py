# SPDX-License-Identifier: Apache-2.0
"""The status that a pass leaves, when the next pass is due, and when a pool that is being deleted may go."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, status
from unit.rules import objects

NOW = "2026-01-01T00:01:00Z"


def after(before: objects.Data, **fields: Any) -> objects.Data:
    outcome = conditions.outcome("NovaReady", "NovaResolved", "")
    return status.after_pass(before, outcomes=[outcome], fields=fields, generation=4, now=NOW)


def test_pass_records_the_generation_it_saw() -> None:
    assert after({"observedGeneration": 3})["observedGeneration"] == 4


def test_fields_of_steps_that_did_not_run_keep_their_values() -> None:
    assert after({"installedImage": "i:1", "numberReady": 2}, numberReady=3) == {
        **after({}),
        "installedImage": "i:1",
        "numberReady": 3,
    }


def test_zero_is_a_value() -> None:
    assert after({}, numberReady=0)["numberReady"] == 0


def test_empty_ledger_is_absent() -> None:
    assert "nodes" not in after({"nodes": [objects.entry("Releasing")]}, nodes=[])


@pytest.mark.case("B17")
def test_second_pass_that_finds_the_same_leaves_the_same() -> None:
    once = after({}, numberReady=1, nodes=[objects.entry("Active")])
    assert after(once, numberReady=1, nodes=[objects.entry("Active")]) == once


def test_ledger_is_written_ahead_without_a_condition() -> None:
    before = {"observedGeneration": 1, "conditions": [{"type": "Ready"}], "nodes": [objects.entry("Active")]}
    ahead = status.with_ledger(before, [objects.entry("Draining")], {})
    assert ahead == {**before, "nodes": [objects.entry("Draining")]}


# --- when the pool is looked at again


def look(*looks: float | None, ledger: list[objects.Data] | None = None, scale: float = 1.0) -> float:
    return status.next_look([{"look": seconds} for seconds in looks], ledger or [], scale)


@pytest.mark.parametrize(("looks", "seconds"), [([], 60), ([None], 60), ([None, 30, 10, 15], 10), ([15, None], 15)])
def test_next_look_is_the_shortest_that_a_step_asked_for(looks: list[float | None], seconds: float) -> None:
    assert look(*looks) == seconds


def test_releasing_node_is_looked_at_soon_though_its_step_did_not_run() -> None:
    assert look(15, ledger=[objects.entry("Releasing")]) == 10


def test_scale_shortens_every_look() -> None:
    assert (look(scale=0.1), look(30, scale=0.5)) == (6, 15)


# --- the finalizer

CLEAN = [
    conditions.outcome("NovaReady", "NovaResolved", ""),
    conditions.outcome("AggregatesReady", "AggregatesEnsured", ""),
    conditions.outcome("TraitsReady", "NoTraitsDeclared", ""),
]
DELETING = objects.novacompute(deleting=True)


def test_pool_that_began_without_a_node_and_is_clean_may_go() -> None:
    assert status.may_release(DELETING, [], CLEAN)


def test_pool_that_is_not_being_deleted_stays() -> None:
    assert not status.may_release(objects.novacompute(), [], CLEAN)


@pytest.mark.parametrize("phase", ["Pending", "Active", "Draining", "Releasing"])
def test_pool_stays_for_one_more_pass_after_its_last_node_left(phase: str) -> None:
    assert not status.may_release(DELETING, [objects.entry(phase)], CLEAN)


def test_conflict_that_the_pool_began_with_is_no_node_of_it() -> None:
    assert status.may_release(DELETING, [objects.entry("Conflict", conflictsWith="pool-b")], CLEAN)


@pytest.mark.case("B20")
@pytest.mark.parametrize(
    ("condition", "reason"), [("AggregatesReady", "ComputeAPIError"), ("TraitsReady", "PlacementAPIError")]
)
def test_failing_call_holds_the_deletion(condition: str, reason: str) -> None:
    others = [outcome for outcome in CLEAN if outcome["condition"]["type"] != condition]
    assert not status.may_release(DELETING, [], [*others, conditions.outcome(condition, reason, "")])


@pytest.mark.case("B20")
@pytest.mark.parametrize("missing", ["AggregatesReady", "TraitsReady"])
def test_pass_that_did_not_reach_the_end_holds_the_deletion(missing: str) -> None:
    reached = [outcome for outcome in CLEAN if outcome["condition"]["type"] != missing]
    assert not status.may_release(DELETING, [], reached)


def test_created_trait_that_is_left_holds_the_deletion() -> None:
    pool = objects.novacompute(deleting=True, status={"createdTraits": ["CUSTOM_A"]})
    assert not status.may_release(pool, [], CLEAN)


def test_pool_whose_nova_is_gone_may_go_with_its_nodes() -> None:
    gone = [conditions.outcome("NovaReady", "NovaNotFound", "")]
    assert status.may_release(DELETING, [objects.entry("Active")], gone)


@pytest.mark.parametrize(
    "reason", ["WaitingForInstalledRelease", "ComputeConfigNotPublished", "WaitingForServiceUserSecret", "NovaError"]
)
def test_nova_that_is_merely_not_ready_holds_the_deletion(reason: str) -> None:
    assert not status.may_release(DELETING, [], [conditions.outcome("NovaReady", reason, "")])


# --- overridden owned keys


def overridden(message: str, verdict: str = "False") -> objects.Data:
    return {"conditions": [{"type": "ExtraConfigHealthy", "status": verdict, "message": message}]}


def test_override_is_new_until_the_status_says_it() -> None:
    assert status.new_override({}, overridden("[libvirt] virt_type")) == "[libvirt] virt_type"
    assert status.new_override(overridden("[libvirt] virt_type"), overridden("[libvirt] virt_type")) == ""


def test_override_of_another_key_is_new_again() -> None:
    assert (
        status.new_override(overridden("[libvirt] virt_type"), overridden("[libvirt] cpu_mode")) == "[libvirt] cpu_mode"
    )


def test_override_that_is_taken_back_is_no_news() -> None:
    assert status.new_override(overridden("[libvirt] virt_type"), overridden("none", "True")) == ""


# --- when a pass did not come to its end


def ended(before: objects.Data, now: str = NOW) -> objects.Data:
    message = status.message_of_deadline(600.0)
    return status.after_unfinished(before, reason="RunTimeout", message=message, generation=4, now=now)


def test_ended_pass_shows_in_ready_and_leaves_every_step_its_word() -> None:
    before = after({}, nodes=[objects.entry("Active")])
    (step, ready) = ended(before)["conditions"]
    assert step == before["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("False", "RunTimeout")
    assert "600 s" in ready["message"]
    assert {**ended(before), "conditions": before["conditions"]} == before


def test_second_ended_pass_writes_nothing_new() -> None:
    assert ended(ended({}), "2026-01-01T00:11:00Z") == ended({})


def test_whole_pass_after_an_ended_one_makes_ready_anew() -> None:
    (_, ready) = after(ended(after({})))["conditions"]
    assert ready["reason"] == "NotAllReady"


@pytest.mark.parametrize(
    ("step", "task", "said", "message"),
    [
        ("nodes", "Write the ledger", "HTTP 422", "The last pass failed in nodes: Write the ledger: HTTP 422"),
        ("", "Hold the deletion", "HTTP 422", "The last pass failed in Hold the deletion: HTTP 422"),
        ("", "", "", "The last pass failed: see the log of the operator"),
    ],
)
def test_failed_pass_is_named_by_its_task(step: str, task: str, said: str, message: str) -> None:
    assert status.message_of_failure(step, task, said) == message
