# SPDX-License-Identifier: Apache-2.0
"""Which aggregates a pool creates, uses, keeps and deletes, and what it says of the hosts in them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import aggregates
from unit.rules import objects

MARK = {"c5c3.io:nova": "openstack/nova"}


def aggregate(
    name: str, zone: str | None = "", *, hosts: tuple[str, ...] = (), metadata: dict[str, str] | None = None
) -> objects.Data:
    """An aggregate as Nova lists it; of the zone of its name unless told otherwise."""
    own = name if zone == "" else zone
    keys = {**({"availability_zone": own} if own else {}), **(metadata or {})}
    return {"id": 7, "name": name, "availability_zone": own, "hosts": list(hosts), "metadata": keys}


TENANT = aggregate("tenant_filter_tests", None)


def plan(
    *listed: objects.Data,
    ledger: tuple[objects.Data, ...] = (),
    siblings: tuple[objects.Data, ...] = (),
    pool: objects.Data | None = None,
) -> aggregates.Plan:
    return aggregates.plan(pool or objects.novacompute(), ledger, siblings, listed)


def deleted(*listed: objects.Data, **given: Any) -> list[str]:
    return [item["name"] for item in plan(*listed, **given).delete]


# --- what is created


@pytest.mark.parametrize("phase", ["Pending", "Active"])
def test_zone_of_a_selected_node_is_created_with_itself_as_availability_zone(phase: str) -> None:
    assert plan(TENANT, ledger=(objects.entry(phase, zone="az1"),)).create == (("az1", "az1"),)


@pytest.mark.parametrize("phase", ["Draining", "Releasing", "Conflict"])
def test_zone_of_a_node_that_does_not_stay_is_not_created(phase: str) -> None:
    assert plan(TENANT, ledger=(objects.entry(phase, zone="az1"),)).create == ()


def test_tenant_filter_tests_is_created_without_a_zone() -> None:
    assert plan().create == (("tenant_filter_tests", None),)


def test_pool_being_deleted_creates_nothing_for_itself() -> None:
    assert plan(pool=objects.novacompute(deleting=True)).create == ()


def test_zone_of_many_nodes_is_created_once() -> None:
    ledger = (objects.entry("Active", "n1", zone="az1"), objects.entry("Pending", "n2", zone="az1"))
    assert plan(TENANT, ledger=ledger).create == (("az1", "az1"),)


def test_aggregate_that_exists_is_used_as_it_is() -> None:
    decided = plan(TENANT, aggregate("az1"), ledger=(objects.entry("Active", zone="az1"),))
    assert (decided.create, decided.delete, decided.keep, decided.mismatched) == ((), (), (), ())


def test_marker_names_the_nova_and_its_namespace() -> None:
    assert aggregates.marker("openstack", "nova") == "openstack/nova"


# --- what is deleted


UNFINISHED = aggregate("c5c3.io:nova=openstack/nova: az1", "az1")


def test_aggregate_that_a_killed_pass_did_not_finish_is_finished() -> None:
    found = plan(TENANT, UNFINISHED, ledger=(objects.entry("Pending", zone="az1"),))
    assert (found.create, found.begun, found.delete) == ((("az1", "az1"),), {"az1": UNFINISHED}, ())


def test_aggregate_that_nobody_will_finish_is_deleted() -> None:
    assert deleted(UNFINISHED) == [UNFINISHED["name"]]


def test_unfinished_aggregate_makes_way_for_one_of_its_name() -> None:
    found = plan(TENANT, UNFINISHED, aggregate("az1"), ledger=(objects.entry("Pending", zone="az1"),))
    assert (found.create, found.delete) == ((), (UNFINISHED,))


def test_aggregate_that_another_pool_is_just_creating_is_left_alone() -> None:
    sibling = objects.novacompute(status={"nodes": [objects.entry("Pending", zone="az1")]})
    assert deleted(UNFINISHED, siblings=(sibling,)) == []


def test_aggregate_that_a_pool_of_another_nova_did_not_finish_is_left_alone() -> None:
    assert deleted(aggregate("c5c3.io:nova=openstack/nova2: az1", "az1")) == []


def test_marked_aggregate_that_nobody_needs_is_deleted() -> None:
    assert deleted(TENANT, aggregate("az1", metadata=MARK)) == ["az1"]


def test_unmarked_aggregate_is_never_deleted() -> None:
    assert deleted(TENANT, aggregate("az1")) == []


def test_aggregate_with_the_mark_of_another_nova_is_not_deleted() -> None:
    assert deleted(TENANT, aggregate("az1", metadata={"c5c3.io:nova": "openstack/other"})) == []


@pytest.mark.case("C21")
def test_aggregate_with_a_host_is_not_deleted() -> None:
    assert deleted(TENANT, aggregate("az1", hosts=("node-9",), metadata=MARK)) == []


@pytest.mark.parametrize("phase", ["Pending", "Active", "Draining", "Releasing"])
def test_aggregate_of_a_node_that_the_pool_holds_is_not_deleted(phase: str) -> None:
    ledger = (objects.entry(phase, zone="az1"),)
    assert deleted(TENANT, aggregate("az1", metadata=MARK), ledger=ledger) == []


def test_aggregate_that_only_a_conflict_names_is_deleted() -> None:
    ledger = (objects.entry("Conflict", zone="az1", conflictsWith="pool-b"),)
    assert deleted(TENANT, aggregate("az1", metadata=MARK), ledger=ledger) == ["az1"]


@pytest.mark.parametrize("cluster", [{}, {"targetClusterRef": {"name": "edge"}}], ids=["here", "elsewhere"])
def test_aggregate_that_a_sibling_needs_is_not_deleted(cluster: dict[str, Any]) -> None:
    sibling = objects.novacompute("pool-b", status={"nodes": [objects.entry("Active", zone="az1")]}, **cluster)
    assert deleted(TENANT, aggregate("az1", metadata=MARK), siblings=(sibling,)) == []


def test_last_pool_of_a_nova_deletes_tenant_filter_tests() -> None:
    marked = aggregate("tenant_filter_tests", None, metadata=MARK)
    assert deleted(marked, pool=objects.novacompute(deleting=True)) == ["tenant_filter_tests"]


def test_tenant_filter_tests_stays_for_a_pool_that_lives() -> None:
    marked = aggregate("tenant_filter_tests", None, metadata=MARK)
    deleting = objects.novacompute(deleting=True)
    assert deleted(marked, pool=deleting, siblings=(objects.novacompute("pool-b"),)) == []


def test_sibling_being_deleted_needs_no_tenant_filter_tests() -> None:
    marked = aggregate("tenant_filter_tests", None, metadata=MARK)
    sibling = objects.novacompute("pool-b", deleting=True)
    assert deleted(marked, pool=objects.novacompute(deleting=True), siblings=(sibling,)) == ["tenant_filter_tests"]


def test_aggregate_with_metadata_of_somebody_else_is_kept() -> None:
    kept = aggregate("az1", metadata={**MARK, "filter_tenant_id": "t1"})
    decided = plan(TENANT, kept)
    assert (decided.delete, [item["name"] for item in decided.keep]) == ((), ["az1"])


def test_kept_aggregate_is_told_by_the_keys_that_keep_it() -> None:
    metadata = {**MARK, "pinned_availability_zone": "x", "filter_tenant_id": "t1"}
    assert aggregates.foreign_keys(aggregate("az1", metadata=metadata)) == [
        "filter_tenant_id",
        "pinned_availability_zone",
    ]


# --- AggregatesReady


def judged(ledger: tuple[objects.Data, ...], *listed: objects.Data) -> objects.Data:
    outcome = aggregates.judge(ledger, aggregates.outside_zone(ledger, listed), plan(*listed, ledger=ledger))
    assert outcome["goes_on"]
    condition: objects.Data = outcome["condition"]
    return condition


IN_AZ1 = objects.entry("Active", zone="az1")


def test_aggregates_in_place_are_ensured() -> None:
    condition = judged((IN_AZ1,), TENANT, aggregate("az1", hosts=("node-1",)))
    assert (condition["status"], condition["reason"]) == ("True", "AggregatesEnsured")


def test_active_host_in_no_aggregate_of_its_zone_is_named_with_it() -> None:
    condition = judged((IN_AZ1,), TENANT, aggregate("az1"))
    assert (condition["status"], condition["reason"]) == ("True", "NodesOutsideZoneAggregate")
    assert condition["message"].endswith("node-1 (az1)")


def test_any_aggregate_of_the_zone_counts() -> None:
    other = aggregate("rack-1", "az1", hosts=("node-1",))
    assert judged((IN_AZ1,), TENANT, aggregate("az1"), other)["reason"] == "AggregatesEnsured"


def test_aggregate_without_a_zone_does_not_count() -> None:
    hosts = aggregate("tenant_filter_tests", None, hosts=("node-1",))
    assert judged((IN_AZ1,), hosts, aggregate("az1"))["reason"] == "NodesOutsideZoneAggregate"


def test_aggregate_of_another_zone_does_not_count() -> None:
    other = aggregate("az2", hosts=("node-1",))
    assert judged((IN_AZ1,), TENANT, aggregate("az1"), other)["reason"] == "NodesOutsideZoneAggregate"


@pytest.mark.parametrize("phase", ["Pending", "Draining", "Releasing"])
def test_only_active_nodes_have_to_be_in_an_aggregate(phase: str) -> None:
    ledger = (objects.entry(phase, zone="az1"),)
    assert judged(ledger, TENANT, aggregate("az1"))["reason"] == "AggregatesEnsured"


def test_twenty_hosts_outside_are_named_and_the_rest_counted() -> None:
    ledger = tuple(objects.entry("Active", f"n{number:02}", zone="az1") for number in range(23))
    message = judged(ledger, TENANT, aggregate("az1"))["message"]
    assert "n19 (az1) and 3 more" in message
    assert "n20" not in message


def test_node_without_a_zone_comes_before_everything_else() -> None:
    ledger = (objects.entry("Pending", "n1"), objects.entry("Active", "n2", zone="az1"))
    condition = judged(ledger, TENANT, aggregate("az1", "other"))
    assert (condition["status"], condition["reason"]) == ("False", "NodesWithoutZone")
    assert condition["message"].endswith(": n1")


def settled(before: objects.Data, after: objects.Data, *listed: objects.Data) -> objects.Data:
    """The condition for a node that was ``before`` when the aggregates were read, and ``after`` at the pass's end."""
    outside = aggregates.outside_zone([before], listed)
    outcome = aggregates.judge([before], outside, plan(*listed, ledger=(before,)))
    condition: objects.Data = aggregates.settle(outcome, [after], outside)["condition"]
    return condition


def test_node_that_turns_active_outside_its_zone_is_named_by_the_same_pass() -> None:
    condition = settled(objects.entry("Pending", zone="az1"), IN_AZ1, TENANT, aggregate("az1"))
    assert condition["reason"] == "NodesOutsideZoneAggregate"
    assert condition["message"].endswith("node-1 (az1)")


def test_node_that_turns_active_within_its_zone_changes_nothing() -> None:
    condition = settled(objects.entry("Pending", zone="az1"), IN_AZ1, TENANT, aggregate("az1", hosts=("node-1",)))
    assert condition["reason"] == "AggregatesEnsured"


def test_node_that_lost_its_service_is_not_outside_its_zone() -> None:
    condition = settled(IN_AZ1, objects.entry("Pending", zone="az1"), TENANT, aggregate("az1"))
    assert condition["reason"] == "AggregatesEnsured"


def test_node_that_turns_active_hides_no_mismatch() -> None:
    condition = settled(objects.entry("Pending", zone="az1"), IN_AZ1, TENANT, aggregate("az1", "az2"))
    assert condition["reason"] == "AggregateZoneMismatch"


def test_twenty_zones_are_named_and_the_rest_counted() -> None:
    ledger = tuple(objects.entry("Pending", f"n{number:02}", zone=f"az{number:02}") for number in range(23))
    listed = [TENANT, *(aggregate(entry["zone"]) for entry in ledger)]
    assert judged(ledger, *listed)["message"].endswith(", az19 and 3 more")


def test_twenty_mismatches_are_named_and_the_rest_counted() -> None:
    ledger = tuple(objects.entry("Pending", f"n{number:02}", zone=f"az{number:02}") for number in range(23))
    listed = [TENANT, *(aggregate(entry["zone"], "other") for entry in ledger)]
    assert judged(ledger, *listed)["message"].endswith(
        "; aggregate az19 has availability zone other, not az19 and 3 more"
    )


@pytest.mark.parametrize("phase", ["Draining", "Releasing", "Conflict"])
def test_leaving_node_without_a_zone_is_no_complaint(phase: str) -> None:
    assert judged((objects.entry(phase),), TENANT)["reason"] == "AggregatesEnsured"


def test_aggregate_of_another_zone_is_a_mismatch_that_names_both() -> None:
    condition = judged((IN_AZ1,), TENANT, aggregate("az1", "az2"))
    assert (condition["status"], condition["reason"]) == ("False", "AggregateZoneMismatch")
    assert "aggregate az1 has availability zone az2, not az1" in condition["message"]


def test_aggregate_without_a_zone_is_a_mismatch() -> None:
    assert "az1 has availability zone none, not az1" in judged((IN_AZ1,), TENANT, aggregate("az1", None))["message"]


def test_tenant_filter_tests_with_a_zone_is_a_mismatch() -> None:
    assert judged((), aggregate("tenant_filter_tests", "az1"))["reason"] == "AggregateZoneMismatch"


def test_other_zones_are_created_beside_a_mismatch() -> None:
    ledger = (IN_AZ1, objects.entry("Active", "n2", zone="az2"))
    assert plan(TENANT, aggregate("az1", "x"), ledger=ledger).create == (("az2", "az2"),)


def test_concurrent_creator_is_awaited_for_ten_seconds() -> None:
    outcome = aggregates.concurrent_creator("az1")
    assert (outcome["condition"]["reason"], outcome["look"]) == ("WaitingForAggregate", 10)
    assert "az1" in outcome["condition"]["message"]
