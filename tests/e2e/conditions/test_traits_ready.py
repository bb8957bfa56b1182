# SPDX-License-Identifier: Apache-2.0
"""TraitsReady: the lists that a pool writes for the hypervisor operator, whose part the test plays."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import hypervisors as stand_ins
from e2e.conditions import interposer
from e2e.conditions import own_nova as own_novas
from e2e.world import cluster

NODE = benches.NODE
condition = pytest.mark.condition
event = pytest.mark.event

HYPERVISORS = stand_ins.PATH
ANNOTATION = "nova.openstack.cloud.sap/custom-traits"
TRAIT = "CUSTOM_CONDITIONS"
OTHER = "CUSTOM_CONDITIONS_2"


@pytest.fixture
def hypervisors(bench: benches.Bench, hypervisor_kind: None, settled: str) -> Iterator[stand_ins.Hypervisors]:
    """No Hypervisor yet; what the test makes is gone after it, and no trait of it is left."""
    made = stand_ins.Hypervisors(bench.cluster)
    yield made
    bench.end_test()
    made.remove()
    forget_traits(bench, settled)


def forget_traits(bench: benches.Bench, pool: str) -> None:
    """Have neither the pool nor Placement know a trait of these tests."""
    nodes = [{**entry, "traits": None} for entry in cluster.ledger(bench.pool(pool)).values()]
    bare = [{key: value for key, value in entry.items() if value is not None} for entry in nodes]
    bench.set_status(pool, {"createdTraits": None, "nodes": bare})
    for trait in traits_in_placement(bench):
        bench.cloud._call("placement", "DELETE", f"/traits/{trait}", microversion="1.39")


def traits_in_placement(bench: benches.Bench) -> list[str]:
    """The traits of these tests that Placement knows."""
    answer = bench.cloud._call("placement", "GET", f"/traits?name=startswith:{TRAIT}", microversion="1.39")
    return sorted(answer["traits"])


def created(bench: benches.Bench, pool: str) -> list[str]:
    found: list[str] = bench.pool(pool)["status"].get("createdTraits", [])
    return found


@condition("TraitsReady", "NoTraitsDeclared")
def test_pool_without_traits_makes_no_call_for_them(
    bench: benches.Bench, settled: str, interposed: pathlib.Path
) -> None:
    bench.expect(settled, "TraitsReady", "True NoTraitsDeclared", kubeconfig=interposed)
    asked = bench.interposer.take_requests()
    assert [one for one in asked if "kvm.cloud.sap" in one or "placement" in one or "/traits" in one] == []


@condition("TraitsReady", "WaitingForHypervisorOperator")
@condition("TraitsReady", "TraitsApplied")
@condition("TraitsReady", "NoTraitsDeclared")
@event("TraitCreated")
@event("TraitDeleted")
def test_trait_is_created_written_reported_and_deleted_with_its_last_carrier(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    strangers = [{"nodeName": "no-such-node", "traits": [OTHER]}]
    bench.set_spec(settled, {"traits": [TRAIT], "hostTraits": strangers})
    said = bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")
    assert NODE in said.message
    assert said.look == 30
    assert hypervisors.spec(NODE)["customTraits"] == [TRAIT]
    assert traits_in_placement(bench) == created(bench, settled) == [TRAIT]
    assert cluster.ledger(bench.pool(settled))[NODE]["traits"] == [TRAIT]
    bench.expect(settled, "Ready", "True AllReady")

    hypervisors.report(NODE, ["HW_CPU_X86_SSE", TRAIT])
    said = bench.expect(settled, "TraitsReady", "True TraitsApplied")
    assert "1 nodes" in said.message
    assert "no-such-node" in said.message
    assert said.look == 60

    bench.set_spec(settled, {"traits": None, "hostTraits": None})
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")
    assert hypervisors.spec(NODE)["customTraits"] == []
    assert traits_in_placement(bench) == [TRAIT]
    assert bench.events(settled, "TraitDeleted") == []

    hypervisors.report(NODE, ["HW_CPU_X86_SSE"])
    bench.expect(settled, "TraitsReady", "True NoTraitsDeclared")
    assert traits_in_placement(bench) == created(bench, settled) == []
    for reason in ("TraitCreated", "TraitDeleted"):
        events = bench.events(settled, reason)
        assert [(one["type"], TRAIT in one["message"]) for one in events] == [("Normal", True)], reason


@pytest.mark.case("C22")
def test_trait_that_existed_before_is_not_the_pools_and_stays(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    bench.cloud._call("placement", "PUT", f"/traits/{TRAIT}", microversion="1.39")
    bench.set_spec(settled, {"traits": [TRAIT]})
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")
    assert hypervisors.spec(NODE)["customTraits"] == [TRAIT]
    assert created(bench, settled) == []
    bench.set_spec(settled, {"traits": None})
    bench.run(settled)
    bench.expect(settled, "TraitsReady", "True NoTraitsDeclared")
    assert traits_in_placement(bench) == [TRAIT]


@condition("TraitsReady", "PlacementAPIError")
@event("TraitDeleted")
def test_deletion_is_held_until_placement_has_deleted_the_created_traits(
    bench: benches.Bench, crowd: tuple[str, ...], hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(crowd[0])
    name, _ = bench.new_pool(crowd[0], traits=[TRAIT])
    bench.run(name)
    assert created(bench, name) == [TRAIT]
    bench.undo.callback(bench.stand.start_stopped_parts)
    bench.stand.stop_part("placement")
    bench.cluster.delete("NovaCompute", name)
    bench.run_until(name, "no node is held", lambda seen: not cluster.phases(seen))
    said = bench.expect(name, "TraitsReady", "False PlacementAPIError")
    assert said.message.startswith(f"{TRAIT}: DELETE ")
    assert said.look == 30
    assert cluster.DRAIN_FINALIZER in bench.pool(name)["metadata"]["finalizers"]
    bench.stand.start_stopped_parts()
    bench.run_until_gone(name)
    assert traits_in_placement(bench) == []
    assert [TRAIT in one["message"] for one in bench.events(name, "TraitDeleted")] == [True]


@event("TraitKept")
def test_deletion_leaves_a_trait_to_another_pool_that_declares_it(
    bench: benches.Bench, settled: str, crowd: tuple[str, ...], hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(crowd[0])
    name, _ = bench.new_pool(crowd[0], traits=[TRAIT])
    bench.run(name)
    bench.new_pool(traits=[TRAIT])
    bench.cluster.delete("NovaCompute", name)
    bench.run_until_gone(name)
    assert traits_in_placement(bench) == [TRAIT]
    assert [TRAIT in one["message"] for one in bench.events(name, "TraitKept")] == [True]
    assert bench.events(name, "TraitDeleted") == []


@pytest.mark.case("C22")
@event("TraitKept")
def test_trait_that_a_stranger_carries_is_kept(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    bench.run(settled)
    provider = bench.cloud.providers()[NODE]
    path = f"/resource_providers/{provider}/traits"
    had = bench.cloud._call("placement", "GET", path, microversion="1.39")
    carried = {**had, "traits": [*had["traits"], TRAIT]}
    bench.cloud._call("placement", "PUT", path, carried, microversion="1.39")
    bench.undo.callback(take_off, bench, provider)
    # The Hypervisor never says that the host carries it, so to the pool it is somebody else who does.
    bench.set_spec(settled, {"traits": None})
    bench.run(settled)
    bench.expect(settled, "TraitsReady", "True NoTraitsDeclared")
    assert traits_in_placement(bench) == [TRAIT]
    assert created(bench, settled) == []
    events = bench.events(settled, "TraitKept")
    assert [(one["type"], TRAIT in one["message"]) for one in events] == [("Normal", True)]


def take_off(bench: benches.Bench, provider: str) -> None:
    path = f"/resource_providers/{provider}/traits"
    has = bench.cloud._call("placement", "GET", path, microversion="1.39")
    left = [trait for trait in has["traits"] if not trait.startswith(TRAIT)]
    bench.cloud._call("placement", "PUT", path, {**has, "traits": left}, microversion="1.39")


@condition("TraitsReady", "TraitsApplied")
def test_created_trait_that_waits_for_its_last_carrier_is_named(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT, OTHER]})
    bench.run(settled)
    # Another pool of the Nova still records it on a node.
    other, _ = bench.new_pool()
    bench.set_status(other, {"nodes": [{"name": "far-away", "phase": "Active", "traits": [OTHER]}]})
    bench.set_spec(settled, {"traits": [TRAIT]})
    bench.run(settled)
    hypervisors.report(NODE, [TRAIT])
    said = bench.expect(settled, "TraitsReady", "True TraitsApplied")
    assert f"waiting for their last carrier before deletion: {OTHER}" in said.message
    assert traits_in_placement(bench) == [TRAIT, OTHER]


@condition("TraitsReady", "NodesWithoutHypervisor")
def test_nodes_without_a_hypervisor_are_counted_and_the_others_written(
    bench: benches.Bench, crowd: tuple[str, ...], hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(crowd[0])
    name, _ = bench.new_pool(*crowd, traits=[TRAIT])
    said = bench.expect(name, "TraitsReady", "False NodesWithoutHypervisor")
    assert said.message == f"Nodes without a Hypervisor: {', '.join(crowd[1:21])} and {len(crowd) - 21} more"
    assert said.look == 30
    assert hypervisors.spec(crowd[0])["customTraits"] == [TRAIT]
    assert cluster.verdict(bench.pool(name), "ServicesReady") == "False WaitingForServices"
    hypervisors.make(*crowd[1:])
    bench.expect(name, "TraitsReady", "True WaitingForHypervisorOperator")


@condition("TraitsReady", "NodesWithCustomTraitsAnnotation")
def test_annotated_nodes_are_counted_and_left_alone(
    bench: benches.Bench, crowd: tuple[str, ...], hypervisors: stand_ins.Hypervisors, interposed: pathlib.Path
) -> None:
    hypervisors.make(*crowd)
    for node in crowd[1:]:
        bench.cluster.patch("Node", node, {"metadata": {"annotations": {ANNOTATION: ""}}})
        bench.undo.callback(bench.cluster.patch, "Node", node, {"metadata": {"annotations": {ANNOTATION: None}}})
    name, _ = bench.new_pool(*crowd, traits=[TRAIT])
    said = bench.expect(name, "TraitsReady", "False NodesWithCustomTraitsAnnotation", kubeconfig=interposed)
    assert ANNOTATION in said.message
    assert said.message.endswith(f": {', '.join(crowd[1:21])} and {len(crowd) - 21} more")
    assert said.look == 30
    touched = {one.rpartition("/")[2] for one in bench.interposer.take_requests() if HYPERVISORS in one}
    assert touched == {crowd[0]}
    assert hypervisors.spec(crowd[1])["customTraits"] == []
    for node in crowd[1:]:
        bench.cluster.patch("Node", node, {"metadata": {"annotations": {ANNOTATION: None}}})
    bench.expect(name, "TraitsReady", "True WaitingForHypervisorOperator")
    assert hypervisors.spec(crowd[1])["customTraits"] == [TRAIT]


@condition("TraitsReady", "HypervisorLifecycleDisabled")
def test_hypervisor_whose_lifecycle_is_off_is_named(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    hypervisors.set_spec(NODE, lifecycleEnabled=False)
    bench.set_spec(settled, {"traits": [TRAIT]})
    said = bench.expect(settled, "TraitsReady", "False HypervisorLifecycleDisabled")
    assert NODE in said.message
    assert said.look == 30
    hypervisors.set_spec(NODE, lifecycleEnabled=True)
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")


@condition("TraitsReady", "HypervisorTraitsFailed")
def test_message_of_the_hypervisor_operator_is_passed_on(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    bench.run(settled)
    hypervisors.report(NODE, [], failure="placement said: no such trait")
    said = bench.expect(settled, "TraitsReady", "False HypervisorTraitsFailed")
    assert said.message == f"Hypervisor {NODE}: placement said: no such trait"
    assert said.look == 30
    hypervisors.report(NODE, [TRAIT])
    bench.expect(settled, "TraitsReady", "True TraitsApplied")


@condition("TraitsReady", "TraitsApplied")
def test_hypervisor_that_is_being_terminated_is_neither_written_nor_waited_for(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    hypervisors.set_spec(NODE, maintenance="termination")
    version = hypervisors.version(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    said = bench.expect(settled, "TraitsReady", "True TraitsApplied")
    assert f"left alone, their Hypervisors are being terminated: {NODE}" in said.message
    assert hypervisors.version(NODE) == version


@condition("TraitsReady", "HypervisorError")
@condition("TraitsReady", "TraitsApplied")
def test_hypervisor_that_is_terminated_after_it_was_read_refuses_the_list_and_is_left_alone_from_then_on(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors, interposed: pathlib.Path
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    with bench.interposer.meddling(
        "PATCH", f"{HYPERVISORS}/{NODE}$", lambda: hypervisors.set_spec(NODE, maintenance="termination")
    ):
        said = bench.expect(settled, "TraitsReady", "False HypervisorError", kubeconfig=interposed)
    assert said.message.startswith(f"{NODE}: PATCH {HYPERVISORS}/{NODE}: HTTP 422: ")
    assert said.look == 30
    assert hypervisors.spec(NODE)["customTraits"] == []
    bench.interposer.take_requests()
    said = bench.expect(settled, "TraitsReady", "True TraitsApplied", kubeconfig=interposed)
    assert f"left alone, their Hypervisors are being terminated: {NODE}" in said.message
    assert [one for one in bench.interposer.take_requests() if one.startswith("PATCH ") and HYPERVISORS in one] == []
    # What the pool meant to write is on no host, so nothing of it is recorded.
    assert "traits" not in cluster.ledger(bench.pool(settled))[NODE]


@pytest.mark.parametrize("verb", ["get", "patch"])
@condition("TraitsReady", "HypervisorsForbidden")
def test_hypervisors_that_may_not_be_touched_are_named(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors, verb: str
) -> None:
    hypervisors.make(NODE)
    account = bench.account(f"without-hypervisors-{verb}", f"hypervisors:{verb}")
    bench.set_spec(settled, {"traits": [TRAIT]})
    said = bench.expect(settled, "TraitsReady", "False HypervisorsForbidden", kubeconfig=account)
    assert f"{verb.upper()} {HYPERVISORS}/{NODE}: HTTP 403" in said.message
    assert said.look == 30
    assert hypervisors.spec(NODE)["customTraits"] == []
    assert cluster.verdict(bench.pool(settled), "ServicesReady") == "True ServicesUp"
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")


@condition("TraitsReady", "HypervisorError")
def test_write_that_the_api_server_refuses_is_named_with_its_http_status(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors, interposed: pathlib.Path
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    broken = interposer.Reply.of_kubernetes(500, "etcdserver: request timed out")
    with bench.interposer.refusing("PATCH", f"^{HYPERVISORS}/{NODE}$", broken):
        said = bench.expect(settled, "TraitsReady", "False HypervisorError", kubeconfig=interposed)
    assert f"PATCH {HYPERVISORS}/{NODE}: HTTP 500: etcdserver: request timed out" in said.message
    assert said.look == 30
    assert cluster.verdict(bench.pool(settled), "ServicesReady") == "True ServicesUp"
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")


@condition("TraitsReady", "PlacementEndpointNotFound")
def test_region_without_a_placement_is_named(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    bench.cluster.patch("Nova", benches.NOVA, {"spec": {"region": "elsewhere"}})
    bench.set_spec(settled, {"traits": [TRAIT]})
    said = bench.expect(settled, "TraitsReady", "False PlacementEndpointNotFound")
    assert "region elsewhere" in said.message
    assert said.look == 30
    assert hypervisors.spec(NODE)["customTraits"] == []
    own_nova.make_whole()
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")


@condition("TraitsReady", "PlacementAPIError")
def test_trait_that_cannot_be_created_is_named_and_no_list_written(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    bench.undo.callback(bench.stand.start_stopped_parts)
    bench.stand.stop_part("placement")
    said = bench.expect(settled, "TraitsReady", "False PlacementAPIError")
    assert said.message.startswith(f"{TRAIT}: PUT ")
    assert "HTTP 503" in said.message
    assert said.look == 30
    assert hypervisors.spec(NODE)["customTraits"] == []
    assert created(bench, settled) == []
    bench.stand.start_stopped_parts()
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")
    assert created(bench, settled) == [TRAIT]


@condition("TraitsReady", "ComputeAPIError")
def test_token_that_keystone_refuses_is_named_by_the_traits_as_by_the_aggregates(
    bench: benches.Bench, settled: str, hypervisors: stand_ins.Hypervisors, interposed: pathlib.Path
) -> None:
    hypervisors.make(NODE)
    bench.set_spec(settled, {"traits": [TRAIT]})
    refused = interposer.Reply.of_openstack(500, "out of order")
    with bench.interposer.refusing("POST", "/auth/tokens$", refused):
        said = bench.expect(settled, "TraitsReady", "False ComputeAPIError", kubeconfig=interposed)
    assert cluster.verdict(bench.pool(settled), "AggregatesReady") == "False ComputeAPIError"
    assert "POST /v3/auth/tokens: HTTP 500: out of order" in said.message
    assert said.look == 30
    assert hypervisors.spec(NODE)["customTraits"] == []
    bench.expect(settled, "TraitsReady", "True WaitingForHypervisorOperator")
