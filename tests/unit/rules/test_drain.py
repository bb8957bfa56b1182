# SPDX-License-Identifier: Apache-2.0
"""What Nova's answers do to a ledger: registration, the drain, the release, and when Nova is looked at again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, drain
from unit.rules import objects

POD = {"node-1": "pool-a-nova-compute-x"}
NO_POD: dict[str, str] = {}
DISABLED = {"status": "disabled", "disabled_reason": "Hypervisor CRD: spec.maintenance=manual"}


def after(
    entry: objects.Data,
    *,
    services: drain.Services | None = None,
    counts: drain.Counts | None = None,
    pods: Mapping[str, str] | None = POD,
    handed_over: Collection[str] = (),
    mapped: Collection[str] = (),
    deletions: Mapping[str, str] | None = None,
) -> objects.Data | None:
    """The entry after the pass asked Nova, None when it was dropped."""
    settled = drain.next_ledger(
        [entry],
        services=services or {},
        counts=counts or {},
        pods=pods,
        handed_over=handed_over,
        mapped=mapped,
        deletions=deletions or {},
    )
    return settled[0] if settled else None


def phase_after(entry: objects.Data, **answers: Any) -> str | None:
    moved = after(entry, **answers)
    return moved["phase"] if moved else None


# --- Pending and Active


def test_pending_node_without_a_service_stays_pending() -> None:
    assert phase_after(objects.entry("Pending"), mapped=["node-1"]) == "Pending"


def test_pending_node_whose_host_is_not_mapped_stays_pending() -> None:
    assert phase_after(objects.entry("Pending"), services=objects.service()) == "Pending"


def test_pending_node_turns_active_once_its_host_is_mapped() -> None:
    assert phase_after(objects.entry("Pending"), services=objects.service(), mapped=["node-1"]) == "Active"


def test_active_node_is_not_checked_again() -> None:
    assert phase_after(objects.entry("Active"), services=objects.service(), mapped=[]) == "Active"


def test_active_node_falls_back_to_pending_when_its_service_disappears() -> None:
    assert phase_after(objects.entry("Active", serviceID="id-node-1")) == "Pending"


@pytest.mark.case("C15")
def test_only_pending_nodes_with_a_service_make_the_hypervisor_list_read() -> None:
    ledger = [
        objects.entry("Pending", "n1"),
        objects.entry("Pending", "n2"),
        objects.entry("Active", "n3"),
        objects.entry("Draining", "n4"),
    ]
    services = {**objects.service("n1"), **objects.service("n3"), **objects.service("n4")}
    assert drain.nodes_to_map(ledger, services) == ["n1"]


def test_node_in_conflict_is_left_to_the_other_pool() -> None:
    entry = objects.entry("Conflict", conflictsWith="pool-b")
    assert after(entry, services=objects.service(), counts={"node-1": 0}, pods=NO_POD) == entry


def test_entry_shows_the_service_as_nova_reports_it() -> None:
    moved = after(objects.entry("Active"), services=objects.service(state="down", **DISABLED))
    assert moved == {
        "name": "node-1",
        "phase": "Active",
        "serviceID": "id-node-1",
        "serviceStatus": "disabled",
        "serviceState": "down",
        "disabledReason": DISABLED["disabled_reason"],
    }


def test_entry_forgets_a_service_that_is_gone() -> None:
    before = objects.entry("Active", serviceID="s", serviceStatus="enabled", serviceState="up", disabledReason="x")
    assert after(before) == objects.entry("Pending")


# --- disabling


def test_service_of_a_node_that_begins_to_drain_is_disabled() -> None:
    assert drain.services_to_disable([objects.entry("Draining")], objects.service()) == [
        {"node": "node-1", "id": "id-node-1"}
    ]


def test_service_that_somebody_else_disabled_is_left_with_its_reason() -> None:
    assert drain.services_to_disable([objects.entry("Draining")], objects.service(**DISABLED)) == []


def test_service_that_was_enabled_again_during_the_drain_is_not_disabled_twice() -> None:
    entry = objects.entry("Draining", instances=1, serviceID="id-node-1")
    assert drain.services_to_disable([entry], objects.service()) == []


def test_node_counted_as_empty_has_had_its_disable() -> None:
    entry = objects.entry("Draining", instances=0, serviceID="id-node-1")
    assert drain.services_to_disable([entry], objects.service()) == []


def test_service_that_registered_anew_during_the_drain_is_disabled_too() -> None:
    entry = objects.entry("Draining", instances=1, serviceID="the one before")
    assert drain.services_to_disable([entry], objects.service()) != []


def test_service_that_registered_after_its_node_was_counted_is_disabled() -> None:
    assert drain.services_to_disable([objects.entry("Draining", instances=1)], objects.service()) != []


def test_failed_disable_of_a_service_that_registered_anew_is_tried_again() -> None:
    entry = objects.entry("Draining", instances=1, serviceID="the one before")
    moved = after(entry, services=objects.service())
    assert moved is not None
    assert drain.services_to_disable([moved], objects.service()) != []


def test_service_that_registered_while_its_node_was_released_is_disabled_when_servers_came() -> None:
    released = after(objects.entry("Releasing", instances=0), services=objects.service())
    assert released is not None
    back = after(released, services=objects.service(), pods=NO_POD, counts={"node-1": 1})
    assert back is not None
    assert back["phase"] == "Draining"
    assert drain.services_to_disable([back], objects.service()) != []


@pytest.mark.parametrize("phase", ["Pending", "Active", "Releasing", "Conflict"])
def test_only_draining_nodes_have_their_service_disabled(phase: str) -> None:
    assert drain.services_to_disable([objects.entry(phase)], objects.service()) == []


def test_draining_node_without_a_service_needs_no_disable() -> None:
    assert drain.services_to_disable([objects.entry("Draining")], {}) == []


# --- counting


def test_servers_are_counted_on_draining_hosts() -> None:
    assert drain.nodes_to_count([objects.entry("Draining")], POD, []) == ["node-1"]


def test_host_whose_disable_failed_is_not_counted() -> None:
    assert drain.nodes_to_count([objects.entry("Draining")], POD, [], not_disabled=["node-1"]) == []


def test_servers_are_counted_once_more_before_the_service_goes() -> None:
    assert drain.nodes_to_count([objects.entry("Releasing")], NO_POD, []) == ["node-1"]


def test_host_is_not_counted_while_its_pod_runs_out() -> None:
    assert drain.nodes_to_count([objects.entry("Releasing")], POD, []) == []


def test_host_handed_over_is_not_counted() -> None:
    assert drain.nodes_to_count([objects.entry("Releasing")], NO_POD, ["node-1"]) == []


def test_draining_hosts_are_counted_though_the_pods_could_not_be_listed() -> None:
    ledger = [objects.entry("Draining", "n1"), objects.entry("Releasing", "n2")]
    assert drain.nodes_to_count(ledger, None, []) == ["n1"]


@pytest.mark.parametrize("phase", ["Pending", "Active", "Conflict"])
def test_servers_of_nodes_that_stay_are_nobodys_business(phase: str) -> None:
    assert drain.nodes_to_count([objects.entry(phase)], NO_POD, []) == []


# --- Draining


def test_draining_node_shows_how_many_servers_nova_counts() -> None:
    moved = after(objects.entry("Draining", instances=3), counts={"node-1": 2})
    assert moved == objects.entry("Draining", instances=2)


def test_empty_draining_node_is_released() -> None:
    assert phase_after(objects.entry("Draining"), counts={"node-1": 0}) == "Releasing"


def test_draining_node_that_was_not_counted_stays() -> None:
    assert after(objects.entry("Draining", instances=3)) == objects.entry("Draining", instances=3)


def test_empty_draining_node_is_not_dropped_in_the_pass_that_releases_its_pod() -> None:
    assert phase_after(objects.entry("Draining"), counts={"node-1": 0}, pods=NO_POD) == "Releasing"


def test_draining_node_without_a_service_is_released_when_it_is_empty() -> None:
    assert phase_after(objects.entry("Draining"), services={}, counts={"node-1": 0}) == "Releasing"


# --- Releasing


def deletable(**changes: Any) -> list[dict[str, str]]:
    given: dict[str, Any] = {
        "ledger": [objects.entry("Releasing")],
        "services": objects.service(),
        "counts": {"node-1": 0},
        "pods": NO_POD,
        "handed_over": [],
        **changes,
    }
    return drain.services_to_delete(**given)


def test_service_is_deleted_once_the_pod_is_gone_and_the_host_is_empty() -> None:
    assert deletable() == [{"node": "node-1", "id": "id-node-1"}]


@pytest.mark.parametrize(
    "missing",
    [
        {"pods": POD},
        {"counts": {"node-1": 1}},
        {"counts": {}},
        {"handed_over": ["node-1"]},
        {"services": {}},
        {"ledger": [objects.entry("Draining")]},
        {"ledger": [objects.entry("Active")]},
    ],
    ids=["pod", "a server", "not counted", "handed over", "no service", "draining", "active"],
)
def test_service_is_not_deleted(missing: dict[str, Any]) -> None:
    assert deletable(**missing) == []


@pytest.mark.case("C4")
@pytest.mark.parametrize("outcome", [drain.DELETED, drain.GONE])
def test_node_whose_service_is_gone_is_dropped(outcome: str) -> None:
    answers = {"services": objects.service(), "counts": {"node-1": 0}, "pods": NO_POD}
    assert after(objects.entry("Releasing"), **answers, deletions={"node-1": outcome}) is None


@pytest.mark.case("C1")
def test_refused_delete_returns_the_node_to_draining() -> None:
    answers = {"services": objects.service(), "counts": {"node-1": 0}, "pods": NO_POD}
    assert phase_after(objects.entry("Releasing"), **answers, deletions={"node-1": drain.REFUSED}) == "Draining"


def test_servers_that_came_back_return_the_node_to_draining() -> None:
    entry = objects.entry("Releasing", instances=0, serviceID="id-node-1")
    moved = after(entry, services=objects.service(**DISABLED), counts={"node-1": 2}, pods=NO_POD)
    assert moved is not None
    assert (moved["phase"], moved["instances"]) == ("Draining", 2)


def test_node_that_drained_before_is_not_disabled_again_when_servers_come_back() -> None:
    entry = objects.entry("Releasing", instances=0, serviceID="id-node-1")
    moved = after(entry, services=objects.service(), counts={"node-1": 2}, pods=NO_POD)
    assert moved is not None
    assert drain.services_to_disable([moved], objects.service()) == []


def test_node_that_was_to_be_handed_over_is_disabled_when_it_has_to_drain_after_all() -> None:
    entry = objects.entry("Releasing", serviceID="id-node-1")
    moved = after(entry, services=objects.service(), counts={"node-1": 2}, pods=NO_POD)
    assert moved is not None
    assert drain.services_to_disable([moved], objects.service()) != []


@pytest.mark.case("C4")
def test_failed_delete_is_tried_again() -> None:
    answers = {"services": objects.service(), "counts": {"node-1": 0}, "pods": NO_POD}
    assert phase_after(objects.entry("Releasing"), **answers, deletions={}) == "Releasing"


def test_node_without_service_and_servers_is_dropped_without_a_delete() -> None:
    assert after(objects.entry("Releasing"), services={}, counts={"node-1": 0}, pods=NO_POD) is None


def test_node_without_service_that_has_servers_goes_on_draining() -> None:
    assert phase_after(objects.entry("Releasing"), services={}, counts={"node-1": 1}, pods=NO_POD) == "Draining"


def test_node_without_service_that_was_not_counted_is_kept() -> None:
    assert phase_after(objects.entry("Releasing"), services={}, pods=NO_POD) == "Releasing"


def test_node_handed_over_is_dropped_with_its_service_left() -> None:
    answers = {"services": objects.service(), "pods": NO_POD, "handed_over": ["node-1"]}
    assert after(objects.entry("Releasing"), **answers) is None


def test_node_handed_over_is_kept_until_its_pod_is_gone() -> None:
    answers = {"services": objects.service(), "pods": POD, "handed_over": ["node-1"]}
    assert phase_after(objects.entry("Releasing"), **answers) == "Releasing"


def test_nobody_is_dropped_when_the_pods_could_not_be_listed() -> None:
    answers = {"services": {}, "counts": {"node-1": 0}, "pods": None, "handed_over": ["node-1"]}
    assert phase_after(objects.entry("Releasing"), **answers) == "Releasing"


# --- when Nova is looked at again


@pytest.mark.parametrize(
    ("before", "left", "seconds"),
    [
        ([], [], 60),
        (["Active"], ["Active"], 60),
        (["Conflict"], ["Conflict"], 60),
        (["Pending"], ["Pending"], 30),
        (["Pending"], ["Active"], 30),
        (["Active"], ["Pending"], 30),
        (["Draining"], ["Draining"], 30),
        (["Draining"], ["Releasing"], 10),
        (["Releasing"], ["Draining"], 10),
        (["Releasing"], ["Releasing"], 10),
        (["Releasing"], [], 10),
    ],
)
def test_look_is_the_shortest_that_entry_or_exit_asks_for(before: list[str], left: list[str], seconds: int) -> None:
    assert drain.look([objects.entry(p) for p in before], [objects.entry(p) for p in left]) == seconds


def test_one_node_on_its_way_out_is_enough_to_look_soon() -> None:
    ledger = [objects.entry("Active", "n1"), objects.entry("Pending", "n2"), objects.entry("Releasing", "n3")]
    assert drain.look(ledger, ledger) == 10


# --- ServicesReady


def up(name: str = "node-1", **fields: Any) -> objects.Data:
    return objects.entry("Active", name, **{"serviceID": "s", "serviceState": "up", **fields})


def judged(*ledger: objects.Data, **more: Any) -> objects.Data:
    return drain.judge(ledger, ledger, **more)


UNREGISTERED = objects.entry("Pending", "n-new")
UNMAPPED = objects.entry("Pending", "n-unmapped", serviceID="s", serviceState="down")
DOWN = up("n-down", serviceState="down")
LEAVING = objects.entry("Draining", "n-leaving", instances=2)


@pytest.mark.parametrize(
    ("ledger", "status", "reason"),
    [
        ([], "True", "ServicesUp"),
        ([up()], "True", "ServicesUp"),
        ([up(), LEAVING], "True", "Draining"),
        ([objects.entry("Releasing")], "True", "Draining"),
        ([up(), DOWN, LEAVING], "False", "ServicesDown"),
        ([UNMAPPED, DOWN, LEAVING], "False", "WaitingForHostMapping"),
        ([UNMAPPED, UNREGISTERED, DOWN, LEAVING], "False", "WaitingForServices"),
        ([objects.entry("Conflict", conflictsWith="b")], "True", "ServicesUp"),
    ],
)
def test_reason_is_the_most_pressing_one(ledger: list[objects.Data], status: str, reason: str) -> None:
    condition = judged(*ledger)["condition"]
    assert (condition["status"], condition["reason"]) == (status, reason)


def test_service_that_is_down_on_a_node_that_leaves_is_no_outage() -> None:
    assert judged({**LEAVING, "serviceID": "s", "serviceState": "down"})["condition"]["reason"] == "Draining"


def test_disabled_service_is_up() -> None:
    assert judged(up(serviceStatus="disabled"))["condition"]["reason"] == "ServicesUp"


def test_message_counts_the_servers_of_each_leaving_node() -> None:
    ledger = [LEAVING, objects.entry("Draining", "n2", instances=1), objects.entry("Releasing", "n3")]
    message = judged(*ledger)["condition"]["message"]
    assert message == "Leaving the pool: n-leaving (2 instances), n2 (1 instance), n3 (releasing)"


def test_message_names_the_hosts_and_the_state_of_the_discovery() -> None:
    message = judged(UNMAPPED, discovery="host discovery Job nova-discover-hosts is running")["condition"]["message"]
    assert message == "Not mapped into the cell: n-unmapped; host discovery Job nova-discover-hosts is running"


def test_unmapped_host_is_looked_at_after_ten_seconds() -> None:
    assert judged(UNMAPPED)["look"] == 10


@pytest.mark.parametrize("ledger", [[UNREGISTERED], [UNMAPPED], [DOWN], [LEAVING]])
def test_no_state_of_the_services_is_a_wait(ledger: list[objects.Data]) -> None:
    assert judged(*ledger)["goes_on"]


FAILED_LIST = {"system": "nova", "kind": None, "call": "GET /os-hypervisors/detail", "status": 503, "detail": "busy"}


def test_failed_call_is_the_reason_whatever_the_services_say() -> None:
    condition = judged(UNREGISTERED, errors=[FAILED_LIST])["condition"]
    assert (condition["status"], condition["reason"]) == ("False", "ComputeAPIError")


def test_failed_call_is_named_with_its_status() -> None:
    message = judged(up(), errors=[{"node": "n1", **FAILED_LIST}])["condition"]["message"]
    assert message == "n1: GET /os-hypervisors/detail: HTTP 503: busy"


def test_failed_call_is_retried_after_thirty_seconds() -> None:
    assert judged(up(), errors=[FAILED_LIST])["look"] == 30


def test_failed_call_keeps_the_look_of_a_releasing_node() -> None:
    assert judged(objects.entry("Releasing"), errors=[FAILED_LIST])["look"] == 10


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("Pod", "PodListError"), ("Job", "HostDiscoveryError"), ("Deployment", "HostDiscoveryError")],
)
def test_failed_call_to_kubernetes_has_a_reason_of_its_own(kind: str, reason: str) -> None:
    error = {"system": "kubernetes", "kind": kind, "call": "GET /x", "status": 500, "detail": ""}
    assert judged(up(), errors=[error])["condition"]["reason"] == reason


def test_same_failure_on_many_nodes_is_said_once() -> None:
    assert judged(up(), errors=[FAILED_LIST, FAILED_LIST])["condition"]["message"].count("HTTP 503") == 1


def test_outcome_is_about_the_services() -> None:
    assert judged(up())["condition"]["type"] == conditions.SERVICES
