# SPDX-License-Identifier: Apache-2.0
"""Which nodes a pool holds: one test for each rule of "Node phases" and each arrow of its figure that needs no Nova."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases
from unit.rules import objects

OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
SELECTED = {"node-1": {"pool": "a"}}
BOTH = {"node-1": {"pool": "a", "also": "b"}}
UNLABELLED: dict[str, dict[str, str]] = {"node-1": {}}
ALSO_B = {"also": "b"}


def phase_after(
    before: str | None,
    nodes: phases.Nodes,
    *others: phases.Pool,
    pool: phases.Pool | None = None,
    **fields: Any,
) -> str | None:
    """The phase of node-1 after the nodes were read, None when the ledger has no entry of it."""
    ledger = [] if before is None else [objects.entry(before, **fields)]
    after = phases.next_ledger(pool or objects.pool(created=OLD), others, nodes, ledger)
    return after[0]["phase"] if after else None


# --- selecting


def test_node_with_every_label_of_the_selector_is_selected() -> None:
    pool = objects.pool(selector={"pool": "a", "rack": "1"})
    assert pool.selects({"pool": "a", "rack": "1", "more": "x"})


def test_node_with_one_label_of_two_is_not_selected() -> None:
    assert not objects.pool(selector={"pool": "a", "rack": "1"}).selects({"pool": "a"})


def test_node_with_another_value_is_not_selected() -> None:
    assert not objects.pool(selector={"pool": "a"}).selects({"pool": "A"})


def test_empty_selector_selects_nothing() -> None:
    assert not objects.pool(selector={}).selects({"pool": "a"})


def test_pool_being_deleted_selects_nothing() -> None:
    assert not objects.pool(deleting=True).selects({"pool": "a"})


# --- rule 1: the selector matches


def test_selected_node_that_nobody_holds_is_taken_as_pending() -> None:
    assert phase_after(None, SELECTED) == "Pending"


@pytest.mark.parametrize("phase", ["Pending", "Active"])
def test_held_node_that_stays_selected_keeps_its_phase(phase: str) -> None:
    assert phase_after(phase, SELECTED) == phase


@pytest.mark.parametrize("phase", ["Draining", "Releasing"])
def test_node_selected_again_on_its_way_out_is_pending_until_nova_is_asked_in_the_same_pass(phase: str) -> None:
    assert phase_after(phase, SELECTED) == "Pending"


def test_node_selected_again_forgets_the_servers_of_its_drain() -> None:
    (entry,) = phases.next_ledger(objects.pool(), [], SELECTED, [objects.entry("Draining", instances=3)])
    assert "instances" not in entry


def test_node_selected_again_keeps_the_service_it_had() -> None:
    before = objects.entry("Draining", serviceID="s1", serviceStatus="disabled", disabledReason="leaving")
    (entry,) = phases.next_ledger(objects.pool(), [], SELECTED, [before])
    assert (entry["serviceID"], entry["serviceStatus"], entry["disabledReason"]) == ("s1", "disabled", "leaving")


@pytest.mark.parametrize("held", ["Pending", "Active", "Draining", "Releasing"])
def test_node_that_another_pool_holds_is_in_conflict_though_that_pool_is_younger(held: str) -> None:
    other = objects.pool("pool-b", created=NEW, selector=ALSO_B, held={"node-1": held})
    assert phase_after(None, BOTH, other) == "Conflict"


def test_node_that_a_pool_being_deleted_holds_is_in_conflict() -> None:
    other = objects.pool("pool-b", created=NEW, deleting=True, held={"node-1": "Draining"})
    assert phase_after(None, SELECTED, other) == "Conflict"


def test_node_that_an_older_pool_selects_is_in_conflict_before_that_pool_holds_it() -> None:
    older = objects.pool("pool-b", created=OLD, selector=ALSO_B)
    assert phase_after(None, BOTH, older, pool=objects.pool(created=NEW)) == "Conflict"


def test_node_that_a_younger_pool_selects_is_taken() -> None:
    younger = objects.pool("pool-b", created=NEW, selector=ALSO_B)
    assert phase_after(None, BOTH, younger) == "Pending"


def test_of_two_pools_created_in_one_second_the_first_name_is_older() -> None:
    other = objects.pool("pool-b", created=OLD, selector=ALSO_B)
    assert phase_after(None, BOTH, other, pool=objects.pool("pool-a", created=OLD)) == "Pending"
    assert phase_after(None, BOTH, other, pool=objects.pool("pool-c", created=OLD)) == "Conflict"


def test_older_pool_being_deleted_that_holds_nothing_does_not_stand_in_the_way() -> None:
    older = objects.pool("pool-b", created=OLD, deleting=True)
    assert phase_after(None, SELECTED, older, pool=objects.pool(created=NEW)) == "Pending"


def test_conflict_names_the_pool_that_holds_the_node_before_an_older_one_that_selects_it() -> None:
    selecting = objects.pool("pool-b", created=OLD, selector=ALSO_B)
    holding = objects.pool("pool-c", created=NEW, held={"node-1": "Active"}, selector=ALSO_B)
    (entry,) = phases.next_ledger(objects.pool(created=NEW), [selecting, holding], BOTH, [])
    assert entry["conflictsWith"] == "pool-c"


def test_conflict_entry_turns_pending_once_the_holder_dropped_the_node() -> None:
    assert phase_after("Conflict", SELECTED, conflictsWith="pool-b") == "Pending"


def test_node_taken_over_no_longer_names_the_pool_it_conflicted_with() -> None:
    (entry,) = phases.next_ledger(
        objects.pool(), [], SELECTED, [objects.entry("Conflict", conflictsWith="pool-b", zone="az1")]
    )
    assert entry == {"name": "node-1", "phase": "Pending"}


@pytest.mark.parametrize("held", ["Pending", "Active"])
@pytest.mark.parametrize("own", ["Pending", "Active", "Draining", "Releasing"])
def test_pool_yields_a_node_that_an_older_pool_holds_too(own: str, held: str) -> None:
    older = objects.pool("pool-b", created=OLD, selector=ALSO_B, held={"node-1": held})
    assert phase_after(own, BOTH, older, pool=objects.pool(created=NEW)) == "Conflict"


def test_yielded_node_leaves_its_service_to_the_older_pool() -> None:
    older = objects.pool("pool-b", created=OLD, selector=ALSO_B, held={"node-1": "Active"})
    before = objects.entry("Active", serviceID="s1", serviceStatus="enabled", serviceState="up")
    (entry,) = phases.next_ledger(objects.pool(created=NEW), [older], BOTH, [before])
    assert entry == {"name": "node-1", "phase": "Conflict", "conflictsWith": "pool-b"}


def test_pool_does_not_yield_to_a_younger_one() -> None:
    younger = objects.pool("pool-b", created=NEW, selector=ALSO_B, held={"node-1": "Active"})
    assert phase_after("Active", BOTH, younger) == "Active"


def test_pool_does_not_yield_to_an_older_one_that_is_being_deleted() -> None:
    older = objects.pool("pool-b", created=OLD, deleting=True, held={"node-1": "Active"})
    assert phase_after("Active", SELECTED, older, pool=objects.pool(created=NEW)) == "Active"


@pytest.mark.parametrize("held", ["Draining", "Releasing"])
def test_pool_does_not_yield_to_an_older_one_that_the_node_leaves(held: str) -> None:
    older = objects.pool("pool-b", created=OLD, selector=ALSO_B, held={"node-1": held})
    assert phase_after("Active", SELECTED, older, pool=objects.pool(created=NEW)) == "Active"


# --- rule 2: no longer selected, gone, or the pool is being deleted


@pytest.mark.parametrize("phase", ["Pending", "Active", "Draining"])
def test_node_that_lost_its_label_drains(phase: str) -> None:
    assert phase_after(phase, UNLABELLED) == "Draining"


@pytest.mark.parametrize("phase", ["Pending", "Active", "Draining"])
def test_node_that_is_gone_from_the_cluster_drains(phase: str) -> None:
    assert phase_after(phase, {}) == "Draining"


@pytest.mark.parametrize("phase", ["Pending", "Active", "Draining"])
def test_node_of_a_pool_being_deleted_drains(phase: str) -> None:
    assert phase_after(phase, SELECTED, pool=objects.pool(deleting=True)) == "Draining"


@pytest.mark.parametrize("nodes", [UNLABELLED, {}], ids=["no label", "no node"])
def test_releasing_node_stays_releasing(nodes: phases.Nodes) -> None:
    assert phase_after("Releasing", nodes) == "Releasing"


def test_draining_node_keeps_its_count_while_it_drains() -> None:
    (entry,) = phases.next_ledger(objects.pool(), [], UNLABELLED, [objects.entry("Draining", instances=2)])
    assert entry["instances"] == 2


@pytest.mark.parametrize("phase", ["Pending", "Active", "Draining", "Releasing"])
@pytest.mark.parametrize("created", [OLD, NEW], ids=["older", "younger"])
def test_node_that_another_pool_selects_is_released_without_a_drain(phase: str, created: str) -> None:
    other = objects.pool("pool-b", created=created, selector=ALSO_B)
    assert phase_after(phase, {"node-1": {"also": "b"}}, other) == "Releasing"


def test_nodes_of_a_pool_being_deleted_are_released_to_the_pool_that_selects_them() -> None:
    other = objects.pool("pool-b", created=NEW)
    assert phase_after("Active", SELECTED, other, pool=objects.pool(deleting=True)) == "Releasing"


def test_pool_being_deleted_takes_nothing_over() -> None:
    other = objects.pool("pool-b", selector=ALSO_B, deleting=True)
    assert phase_after("Active", {"node-1": {"also": "b"}}, other) == "Draining"


def test_node_that_is_gone_is_not_handed_over() -> None:
    other = objects.pool("pool-b", selector=ALSO_B)
    assert phase_after("Active", {}, other) == "Draining"


def test_handover_names_the_releasing_nodes_that_another_pool_selects() -> None:
    other = objects.pool("pool-b", selector=ALSO_B)
    ledger = [
        objects.entry("Releasing", "taken"),
        objects.entry("Releasing", "left"),
        objects.entry("Active", "stays"),
        objects.entry("Releasing", "gone"),
    ]
    nodes = {"taken": {"also": "b"}, "left": {}, "stays": {"pool": "a", "also": "b"}}
    assert phases.handovers([other], nodes, ledger) == ["taken"]


def test_handover_ends_when_the_other_pool_selects_the_node_no_more() -> None:
    other = objects.pool("pool-b", selector=ALSO_B)
    ledger = [objects.entry("Releasing")]
    assert phases.handovers([other], UNLABELLED, ledger) == []


# --- rule 3


@pytest.mark.parametrize("nodes", [UNLABELLED, {}], ids=["no label", "no node"])
def test_conflict_entry_that_is_no_longer_selected_is_dropped(nodes: phases.Nodes) -> None:
    assert phase_after("Conflict", nodes, conflictsWith="pool-b") is None


def test_conflict_entry_of_a_pool_being_deleted_is_dropped() -> None:
    assert phase_after("Conflict", SELECTED, pool=objects.pool(deleting=True), conflictsWith="pool-b") is None


# --- the ledger


def test_ledger_is_sorted_by_node_name() -> None:
    nodes = {"node-2": {"pool": "a"}, "node-10": {"pool": "a"}, "node-1": {"pool": "a"}}
    assert [entry["name"] for entry in phases.next_ledger(objects.pool(), [], nodes, [])] == [
        "node-1",
        "node-10",
        "node-2",
    ]


def test_zone_is_the_label_of_the_node() -> None:
    nodes = {"node-1": {"pool": "a", "topology.kubernetes.io/zone": "az1"}}
    (entry,) = phases.next_ledger(objects.pool(), [], nodes, [objects.entry("Active", zone="az0")])
    assert entry["zone"] == "az1"


def test_zone_goes_with_the_label() -> None:
    (entry,) = phases.next_ledger(objects.pool(), [], SELECTED, [objects.entry("Active", zone="az0")])
    assert "zone" not in entry


def test_zone_of_a_node_that_is_gone_is_remembered() -> None:
    (entry,) = phases.next_ledger(objects.pool(), [], {}, [objects.entry("Active", zone="az0")])
    assert entry["zone"] == "az0"


def test_second_look_at_the_same_nodes_changes_nothing() -> None:
    holder = objects.pool("pool-b", selector=ALSO_B, held={"node-2": "Active"})
    nodes = {"node-1": {"pool": "a"}, "node-2": {"pool": "a", "also": "b"}}
    once = phases.next_ledger(objects.pool(), [holder], nodes, [objects.entry("Draining", "node-3", instances=1)])
    assert phases.next_ledger(objects.pool(), [holder], nodes, once) == once


def test_given_ledger_is_left_as_it_was() -> None:
    ledger = [objects.entry("Draining", instances=1)]
    phases.next_ledger(objects.pool(), [], SELECTED, ledger)
    assert ledger == [objects.entry("Draining", instances=1)]


def test_held_nodes_are_those_in_any_phase_but_conflict() -> None:
    phases_of = {"n1": "Pending", "n2": "Active", "n3": "Draining", "n4": "Releasing", "n5": "Conflict"}
    assert phases.held([objects.entry(phase, name) for name, phase in phases_of.items()]) == ["n1", "n2", "n3", "n4"]


# --- who rivals whom


@pytest.mark.parametrize(
    ("other", "is_rival"),
    [
        (objects.novacompute("pool-b"), True),
        (objects.novacompute("pool-a"), False),
        (objects.novacompute("pool-b", nova="other"), False),
        (objects.novacompute("pool-b", namespace="elsewhere"), False),
        (objects.novacompute("pool-b", targetClusterRef={"name": "edge"}), False),
    ],
    ids=["same Nova", "itself", "another Nova", "another namespace", "another cluster"],
)
def test_only_pools_of_one_nova_on_one_cluster_conflict(other: objects.Data, is_rival: bool) -> None:  # noqa: FBT001
    rivals = phases.rivals(objects.novacompute("pool-a"), [other])
    assert [rival.name for rival in rivals] == (["pool-b"] if is_rival else [])


def test_pools_on_one_target_cluster_are_rivals() -> None:
    edge = {"targetClusterRef": {"name": "edge"}}
    rivals = phases.rivals(objects.novacompute("pool-a", **edge), [objects.novacompute("pool-b", **edge)])
    assert [rival.name for rival in rivals] == ["pool-b"]


def test_pool_on_another_cluster_is_a_sibling_and_no_rival() -> None:
    placed = objects.novacompute("pool-b", targetClusterRef={"name": "edge"})
    assert phases.siblings(objects.novacompute("pool-a"), [placed]) == [placed]


def test_pool_holds_what_its_status_says_in_any_phase_but_conflict() -> None:
    status = {"nodes": [objects.entry("Releasing", "n1"), objects.entry("Conflict", "n2")]}
    assert phases.pool_of(objects.novacompute(status=status)).held == {"n1": "Releasing"}


# --- NodesReady


def reason_of(*ledger: objects.Data) -> str:
    return str(phases.judge(ledger)["condition"]["reason"])


def test_pool_that_selects_and_holds_nothing_matches_no_nodes() -> None:
    assert reason_of() == "NoMatchingNodes"


def test_pool_that_still_drains_its_last_node_has_resolved_its_nodes() -> None:
    assert reason_of(objects.entry("Draining")) == "NodesResolved"


def test_message_counts_the_selected_and_the_leaving_nodes() -> None:
    ledger = [objects.entry("Pending"), objects.entry("Active"), objects.entry("Releasing")]
    assert phases.judge(ledger)["condition"]["message"] == "2 nodes selected, 1 leaving"


def test_conflict_names_the_node_and_the_holder() -> None:
    outcome = phases.judge([objects.entry("Active", "n1"), objects.entry("Conflict", "n2", conflictsWith="pool-b")])
    assert outcome["condition"]["reason"] == "NodeConflict"
    assert outcome["condition"]["message"].endswith("n2 (held by pool-b)")


@pytest.mark.parametrize("ledger", [[], [objects.entry("Conflict", conflictsWith="b")]], ids=["none", "conflict"])
def test_later_steps_run_without_nodes_and_in_conflict(ledger: list[objects.Data]) -> None:
    outcome = phases.judge(ledger)
    assert (outcome["condition"]["type"], outcome["condition"]["status"]) == (conditions.NODES, "False")
    assert outcome["goes_on"]


def test_conflict_is_new_once() -> None:
    conflict = objects.entry("Conflict", conflictsWith="pool-b")
    assert phases.new_conflicts([objects.entry("Active")], [conflict]) == [conflict]
    assert phases.new_conflicts([conflict], [conflict]) == []


def test_conflict_with_another_holder_is_new_again() -> None:
    before, after = (objects.entry("Conflict", conflictsWith=name) for name in ("pool-b", "pool-c"))
    assert phases.new_conflicts([before], [after]) == [after]
