# SPDX-License-Identifier: Apache-2.0
"""The custom traits of a pool's hosts: the desired lists, who created a name, and what a pool shows meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.filter import pool as filters
from ansible_collections.c5c3.nova.plugins.module_utils import packing
from ansible_collections.c5c3.nova.plugins.module_utils.rules import traits, vocabulary
from unit.rules import objects

A, B, GPU = "CUSTOM_A", "CUSTOM_B", "CUSTOM_GPU"


def host(name: str, *names: str, mode: str | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"nodeName": name, "traits": list(names)}
    return entry if mode is None else {**entry, "mode": mode}


def state(*custom: str, reported: tuple[str, ...] | None = None, **fields: Any) -> dict[str, Any]:
    """A Hypervisor that says ``custom`` and reports it, unless ``reported`` says otherwise."""
    return {
        "custom_traits": list(custom),
        "reported": list(custom if reported is None else reported),
        "lifecycle_enabled": True,
        "maintenance": "",
        "failure": None,
        **fields,
    }


def active(name: str = "node-1", **fields: Any) -> dict[str, Any]:
    return objects.entry(vocabulary.ACTIVE, name, **fields)


def judged(pool: dict[str, Any], hypervisors: dict[str, Any], **given: Any) -> tuple[str, str, str]:
    nodes = (*hypervisors, *given.get("annotated", ()), *given.get("missing", ()))
    ledger = given.pop("ledger", [active(name) for name in nodes])
    defaults: dict[str, Any] = {"annotated": [], "missing": [], "created": []}
    condition = traits.judge(pool, ledger, hypervisors, **{**defaults, **given})["condition"]
    return condition["status"], condition["reason"], condition["message"]


# --- the desired list


def test_node_without_an_entry_carries_the_traits_of_the_pool() -> None:
    assert traits.desired({"traits": [B, A]}, "node-1") == [A, B]


def test_append_is_the_default_and_adds_to_the_traits_of_the_pool() -> None:
    assert traits.desired({"traits": [B], "hostTraits": [host("node-1", A)]}, "node-1") == [A, B]


def test_replace_gives_the_traits_of_the_entry_alone() -> None:
    assert traits.desired({"traits": [B], "hostTraits": [host("node-1", A, mode="Replace")]}, "node-1") == [A]


def test_replace_without_traits_clears_the_node() -> None:
    assert traits.desired({"traits": [B], "hostTraits": [host("node-1", mode="Replace")]}, "node-1") == []


def test_entry_of_another_node_changes_nothing() -> None:
    assert traits.desired({"traits": [B], "hostTraits": [host("node-10", A)]}, "node-1") == [B]


@pytest.mark.case("C23")
def test_list_is_deduplicated_and_in_byte_order() -> None:
    spec = {"traits": ["CUSTOM_b", "CUSTOM__", "CUSTOM_B"], "hostTraits": [host("node-1", "CUSTOM_B", "CUSTOM_0")]}
    assert traits.desired(spec, "node-1") == ["CUSTOM_0", "CUSTOM_B", "CUSTOM__", "CUSTOM_b"]


# --- which nodes are the pool's to write


@pytest.mark.parametrize("phase", [vocabulary.PENDING, vocabulary.ACTIVE])
def test_selected_nodes_are_managed(phase: str) -> None:
    assert traits.managed(objects.novacompute(traits=[A]), [objects.entry(phase)]) == ["node-1"]


@pytest.mark.parametrize("phase", [vocabulary.DRAINING, vocabulary.RELEASING, vocabulary.CONFLICT])
def test_other_nodes_are_not_written(phase: str) -> None:
    assert traits.managed(objects.novacompute(traits=[A]), [objects.entry(phase)]) == []


def test_node_that_still_records_a_trait_is_managed_until_it_is_gone() -> None:
    assert traits.managed(objects.novacompute(), [active(traits=[A])]) == ["node-1"]


def test_node_to_be_cleared_is_managed() -> None:
    pool = objects.novacompute(hostTraits=[host("node-1", mode="Replace")])
    assert traits.managed(pool, [active(), active("node-2")]) == ["node-1"]


def test_pool_without_traits_has_nothing_to_do() -> None:
    assert not traits.concerns(objects.novacompute(), [active()])


def test_entry_that_gives_its_node_nothing_is_nothing_to_do_by_itself() -> None:
    pool = objects.novacompute(hostTraits=[host("node-1", mode="Replace")])
    assert not traits.concerns(pool, [active()])
    assert judged(pool, {}, ledger=[active()], annotated=["node-1"])[1] == "NoTraitsDeclared"


def test_traits_of_a_node_that_leaves_are_not_desired() -> None:
    assert not traits.concerns(objects.novacompute(traits=[A]), [objects.entry(vocabulary.DRAINING)])


@pytest.mark.parametrize(
    ("pool", "ledger"),
    [
        (objects.novacompute(traits=[A]), [active()]),
        (objects.novacompute(), [objects.entry(vocabulary.DRAINING, traits=[A])]),
        (objects.novacompute(status={"createdTraits": [A]}), []),
    ],
    ids=["a node desires one", "a node records one", "the pool created one"],
)
def test_pool_has_something_to_do(pool: dict[str, Any], ledger: list[dict[str, Any]]) -> None:
    assert traits.concerns(pool, ledger)


# --- what is read of a Hypervisor


def test_hypervisor_reports_only_its_custom_traits() -> None:
    found = {"spec": {"customTraits": [A]}, "status": {"traits": ["COMPUTE_NODE", A, "HW_CPU_X86_VMX"]}}
    assert traits.hypervisor(found)["reported"] == [A]


def test_hypervisor_without_anything_reads_as_its_defaults() -> None:
    assert traits.hypervisor({}) == state()


def test_message_of_a_failure_is_kept() -> None:
    conditions = [{"type": "TraitsUpdated", "status": "False", "message": "no such trait"}]
    assert traits.hypervisor({"status": {"conditions": conditions}})["failure"] == "no such trait"


# --- creation and the lists


def test_only_traits_that_no_node_reports_are_created() -> None:
    pool = objects.novacompute(traits=[A, B])
    assert traits.to_create(pool, {"node-1": state(A, B), "node-2": state(reported=(B,))}) == [A]


@pytest.mark.case("C23")
def test_only_lists_that_differ_are_written() -> None:
    pool = objects.novacompute(traits=[A])
    assert traits.to_write(pool, {"node-1": state(A), "node-2": state()}) == {"node-2": [A]}


def test_list_in_another_order_is_written_because_the_hypervisor_operator_compares_in_order() -> None:
    assert traits.to_write(objects.novacompute(traits=[A, B]), {"node-1": state(B, A)}) == {"node-1": [A, B]}


def test_hypervisor_in_termination_is_not_written() -> None:
    assert traits.to_write(objects.novacompute(traits=[A]), {"node-1": state(maintenance="termination")}) == {}


def test_node_records_what_it_reports_and_what_is_about_to_be_written() -> None:
    ledger = traits.next_ledger(objects.novacompute(traits=[B]), [active()], {"node-1": state(A)})
    assert ledger == [active(traits=[A, B])]


def test_node_that_carries_nothing_any_more_loses_its_record() -> None:
    assert traits.next_ledger(objects.novacompute(), [active(traits=[A])], {"node-1": state()}) == [active()]


def test_node_records_the_list_that_is_to_be_replaced_until_it_is() -> None:
    listed = {**state(), "custom_traits": [A, "HW_CPU_X86_SSE"]}
    assert traits.next_ledger(objects.novacompute(), [active(traits=[A])], {"node-1": listed}) == [active(traits=[A])]


def test_node_whose_hypervisor_was_not_read_keeps_its_record() -> None:
    assert traits.next_ledger(objects.novacompute(), [active(traits=[A])], {}) == [active(traits=[A])]


UNDECLARED = objects.novacompute()


def test_node_that_has_no_hypervisor_loses_its_record_once_it_desires_nothing() -> None:
    assert traits.next_ledger(UNDECLARED, [active(traits=[A])], {}, ["node-1"]) == [active()]


def test_node_that_has_no_hypervisor_keeps_its_record_while_it_desires_a_trait() -> None:
    ledger = [active(traits=[A])]
    assert traits.next_ledger(objects.novacompute(traits=[B]), ledger, {}, ["node-1"]) == ledger


def test_only_the_node_that_has_no_hypervisor_loses_its_record() -> None:
    ledger = [active(traits=[A]), active("node-2", traits=[A]), objects.entry("Draining", "node-3", traits=[A])]
    assert traits.next_ledger(UNDECLARED, ledger, {}, ["node-2"]) == [ledger[0], active("node-2"), ledger[2]]


def test_annotated_node_is_not_asked_for_and_so_not_known_to_have_no_hypervisor() -> None:
    ledger = [active(name, traits=[A]) for name in ("read", "annotated", "gone")]
    ledger += [active("unmanaged"), objects.entry("Draining", "leaving", traits=[A])]
    assert traits.without_hypervisor(UNDECLARED, ledger, {"read": state()}, ["annotated"]) == ["gone"]


@pytest.mark.parametrize("given", [str, list], ids=["packed", "plain"])
def test_ledger_of_the_playbook_clears_what_is_known_to_be_gone_alone(given: type) -> None:
    ledger = [active(name, traits=[A]) for name in ("annotated", "gone")]
    handed, read = (packing.pack(ledger), "{}") if given is str else (ledger, {})
    after = packing.unpack(filters.traits_ledger(UNDECLARED, handed, read, ["annotated"]))
    assert after == [ledger[0], active("gone")]
    assert packing.unpack(filters.traits_ledger(UNDECLARED, handed, read)) == ledger


def test_node_in_termination_records_the_list_that_stays_on_it() -> None:
    ledger = traits.next_ledger(objects.novacompute(), [active()], {"node-1": state(A, maintenance="termination")})
    assert ledger == [active(traits=[A])]


# --- deletion of created names


def test_created_trait_that_nobody_needs_is_deleted() -> None:
    assert traits.to_delete(objects.novacompute(), [A], [], []) == [A]


def test_created_trait_that_the_pool_declares_stays() -> None:
    assert traits.to_delete(objects.novacompute(traits=[A]), [A], [], []) == []


def test_created_trait_of_a_host_entry_stays() -> None:
    assert traits.to_delete(objects.novacompute(hostTraits=[host("ghost", A)]), [A], [], []) == []


def test_created_trait_waits_for_its_last_carrier() -> None:
    assert traits.to_delete(objects.novacompute(), [A], [objects.entry(vocabulary.DRAINING, traits=[A])], []) == []


def test_created_trait_that_a_sibling_declares_stays() -> None:
    sibling = objects.novacompute("pool-b", traits=[A])
    assert traits.to_delete(objects.novacompute(), [A], [], [sibling]) == []


def test_what_a_deleting_sibling_declares_does_not_count_but_what_it_records_does() -> None:
    declares = objects.novacompute("pool-b", deleting=True, traits=[A])
    records = {**declares, "status": {"nodes": [objects.entry(vocabulary.DRAINING, traits=[A])]}}
    assert traits.to_delete(objects.novacompute(), [A], [], [declares]) == [A]
    assert traits.to_delete(objects.novacompute(), [A], [], [records]) == []


def test_deleting_pool_deletes_what_it_still_declares() -> None:
    assert traits.to_delete(objects.novacompute(deleting=True, traits=[A]), [A], [], []) == [A]


def test_deleting_pool_leaves_a_trait_to_the_pool_that_declares_it() -> None:
    sibling = objects.novacompute("pool-b", traits=[A])
    pool = objects.novacompute(deleting=True)
    assert traits.to_keep(pool, [A, B], [sibling]) == [A]
    assert traits.to_delete(pool, [A, B], [], [sibling]) == [B]


def test_live_pool_leaves_nothing_to_others() -> None:
    assert traits.to_keep(objects.novacompute(), [A], [objects.novacompute("pool-b", traits=[A])]) == []


def test_created_traits_are_kept_in_byte_order_without_what_was_dropped() -> None:
    assert traits.created_after([B], [GPU, A], [B]) == [A, GPU]


# --- the condition


def test_applied_lists_are_counted() -> None:
    pool = objects.novacompute(traits=[A])
    assert judged(pool, {"node-1": state(A), "node-2": state(A)}) == (
        "True",
        "TraitsApplied",
        "The traits of 2 nodes are applied",
    )


def test_list_that_is_not_reported_yet_waits_and_stays_ready() -> None:
    status, reason, message = judged(objects.novacompute(traits=[A]), {"node-1": state(A, reported=())})
    assert (status, reason) == ("True", "WaitingForHypervisorOperator")
    assert "node-1" in message


@pytest.mark.case("C23")
def test_old_failure_beside_an_applied_list_is_no_failure() -> None:
    hypervisors = {"node-1": state(A, failure="Failed to update traits in placement")}
    assert judged(objects.novacompute(traits=[A]), hypervisors)[1] == "TraitsApplied"


def test_failure_carries_the_message_of_the_first_such_node() -> None:
    hypervisors = {"node-2": state(reported=(), failure="second"), "node-1": state(reported=(), failure="first")}
    status, reason, message = judged(objects.novacompute(traits=[A]), hypervisors)
    assert (status, reason, message) == ("False", "HypervisorTraitsFailed", "Hypervisor node-1: first")


def test_annotated_nodes_are_named_first() -> None:
    hypervisors = {"node-1": state(reported=())}
    assert judged(objects.novacompute(traits=[A]), hypervisors, annotated=["node-2"], missing=["node-3"])[:2] == (
        "False",
        "NodesWithCustomTraitsAnnotation",
    )


def test_more_than_twenty_annotated_nodes_are_counted() -> None:
    names = [f"node-{number:02}" for number in range(23)]
    message = judged(objects.novacompute(traits=[A]), {}, annotated=names)[2]
    assert "node-19 and 3 more" in message
    assert "node-20" not in message


def test_node_without_a_hypervisor_is_named() -> None:
    status, reason, message = judged(objects.novacompute(traits=[A]), {}, missing=["node-3"])
    assert (status, reason) == ("False", "NodesWithoutHypervisor")
    assert message.endswith("node-3")


def test_node_that_desires_nothing_needs_no_hypervisor() -> None:
    pool = objects.novacompute(traits=[A], hostTraits=[host("node-2", mode="Replace")])
    given = {"ledger": [active(), active("node-2", traits=[B])], "missing": ["node-2"]}
    assert judged(pool, {"node-1": state(A)}, **given)[:2] == ("True", "TraitsApplied")


def test_last_record_of_a_node_without_a_hypervisor_leaves_nothing_declared() -> None:
    assert judged(UNDECLARED, {}, ledger=[active()], missing=["node-1"])[1] == "NoTraitsDeclared"


def test_cluster_without_the_kind_is_named_while_a_node_desires_a_trait() -> None:
    pool = objects.novacompute(traits=[A])
    assert judged(pool, {}, ledger=[active()], served=False)[:2] == ("False", "HypervisorOperatorNotInstalled")
    assert judged(UNDECLARED, {}, ledger=[active()], served=False)[1] == "NoTraitsDeclared"
    assert judged(UNDECLARED, {}, ledger=[active()], served=False, created=[A])[1] == "TraitsApplied"


def test_switched_off_lifecycle_is_named_only_while_the_list_is_not_applied() -> None:
    pool = objects.novacompute(traits=[A])
    assert judged(pool, {"node-1": state(reported=(), lifecycle_enabled=False)})[1] == "HypervisorLifecycleDisabled"
    assert judged(pool, {"node-1": state(A, lifecycle_enabled=False)})[1] == "TraitsApplied"


def test_hypervisor_in_termination_does_not_hold_the_pool() -> None:
    hypervisors = {"node-1": state(A), "node-2": state(reported=(), maintenance="termination")}
    status, reason, message = judged(objects.novacompute(traits=[A]), hypervisors)
    assert (status, reason) == ("True", "TraitsApplied")
    assert "node-2" in message


def test_entries_that_match_no_held_node_are_named() -> None:
    pool = objects.novacompute(traits=[A], hostTraits=[host("ghost", B)])
    assert judged(pool, {"node-1": state(A)})[2].endswith("match no node of the pool: ghost")


def test_created_traits_that_wait_for_their_carrier_are_named() -> None:
    message = judged(objects.novacompute(traits=[A]), {"node-1": state(A)}, created=[A, GPU])[2]
    assert message.endswith(f"before deletion: {GPU}")


def test_pool_whose_last_trait_is_gone_declares_none() -> None:
    assert judged(objects.novacompute(), {"node-1": state()}, ledger=[active()])[1] == "NoTraitsDeclared"
