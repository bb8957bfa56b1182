# SPDX-License-Identifier: Apache-2.0
"""AggregatesReady: the aggregates of the pool's zones, made beside other creators and never filled by the pool."""

from __future__ import annotations

import pathlib

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import interposer
from e2e.conditions import own_nova as own_novas
from e2e.world import cluster

NODE = benches.NODE
condition = pytest.mark.condition
event = pytest.mark.event

ZONE = cluster.ZONE_LABEL
MARKER = {"c5c3.io:nova": f"{cluster.NAMESPACE}/{benches.NOVA}"}


@condition("AggregatesReady", "AggregatesEnsured")
@event("AggregateCreated")
def test_zone_and_tenant_filter_tests_are_created_and_marked_and_hold_no_host(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-a"})
    name, _ = bench.new_pool(crowd[0])
    bench.drop_aggregate("tenant_filter_tests")
    said = bench.expect(name, "AggregatesReady", "True AggregatesEnsured")
    assert "conditions-a" in said.message
    made = bench.cloud.aggregates()
    assert made["conditions-a"]["metadata"] == {**MARKER, "availability_zone": "conditions-a"}
    assert made["tenant_filter_tests"]["metadata"] == MARKER
    assert made["tenant_filter_tests"]["availability_zone"] is None
    assert made["conditions-a"]["hosts"] == made["tenant_filter_tests"]["hosts"] == []
    events = bench.events(name, "AggregateCreated")
    assert sorted(one["message"].split()[-1] for one in events) == ["conditions-a", "tenant_filter_tests"]
    assert {one["type"] for one in events} == {"Normal"}


@condition("AggregatesReady", "NodesOutsideZoneAggregate")
@condition("AggregatesReady", "AggregatesEnsured")
def test_active_node_outside_its_zone_is_named_and_any_aggregate_of_the_zone_will_do(
    bench: benches.Bench, settled: str
) -> None:
    said = bench.expect(settled, "AggregatesReady", "True NodesOutsideZoneAggregate")
    assert f"{NODE} (az1)" in said.message
    assert said.look == 60
    bench.expect(settled, "Ready", "True AllReady")
    bench.make_aggregate("by-hand", "az1")
    bench.join("by-hand", NODE)
    bench.expect(settled, "AggregatesReady", "True AggregatesEnsured")
    assert bench.cloud.aggregates()["az1"]["hosts"] == []


@condition("AggregatesReady", "NodesOutsideZoneAggregate")
def test_more_than_twenty_nodes_outside_their_zone_are_counted(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    name, _ = bench.new_pool(*crowd)
    bench.run(name)
    bench.register(*crowd)
    ledger = [{**entry, "phase": "Active"} for entry in cluster.ledger(bench.pool(name)).values()]
    bench.set_status(name, {"nodes": ledger})
    said = bench.expect(name, "AggregatesReady", "True NodesOutsideZoneAggregate")
    named = ", ".join(f"{node} (az1)" for node in crowd[:20])
    assert said.message.endswith(f": {named} and {len(crowd) - 20} more")


@condition("AggregatesReady", "NodesWithoutZone")
def test_nodes_without_a_zone_are_counted_and_the_other_zones_still_ensured(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    for node in crowd[1:]:
        bench.label(node, {ZONE: None})
    bench.label(crowd[0], {ZONE: "conditions-b"})
    name, _ = bench.new_pool(*crowd)
    said = bench.expect(name, "AggregatesReady", "False NodesWithoutZone")
    assert ZONE in said.message
    assert said.message.endswith(f": {', '.join(crowd[1:21])} and 2 more")
    assert "conditions-b" in bench.cloud.aggregates()
    assert cluster.verdict(bench.pool(name), "ServicesReady") == "False WaitingForServices"
    for node in crowd[1:]:
        bench.cluster.set_labels(node, {ZONE: "conditions-b"})
    bench.expect(name, "AggregatesReady", "True AggregatesEnsured")


@pytest.mark.case("C19")
@condition("AggregatesReady", "AggregateZoneMismatch")
def test_aggregate_of_the_name_with_another_zone_is_left_and_both_are_named(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-c"})
    bench.make_aggregate("conditions-c", "elsewhere")
    name, _ = bench.new_pool(crowd[0])
    said = bench.expect(name, "AggregatesReady", "False AggregateZoneMismatch")
    assert "aggregate conditions-c has availability zone elsewhere, not conditions-c" in said.message
    assert bench.cloud.aggregates()["conditions-c"]["availability_zone"] == "elsewhere"
    assert "c5c3.io:nova" not in bench.cloud.aggregates()["conditions-c"]["metadata"]
    assert cluster.verdict(bench.pool(name), "ServicesReady") == "False WaitingForServices"
    bench.drop_aggregate("conditions-c")
    bench.expect(name, "AggregatesReady", "True AggregatesEnsured")


@condition("AggregatesReady", "WaitingForAggregate")
def test_aggregate_that_another_creator_makes_in_between_is_read_by_the_next_pass(
    bench: benches.Bench, crowd: tuple[str, ...], interposed: pathlib.Path
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-d"})
    name, _ = bench.new_pool(crowd[0])
    with bench.interposer.meddling(
        "POST", "/os-aggregates$", lambda: bench.make_aggregate("conditions-d", "conditions-d")
    ):
        said = bench.expect(name, "AggregatesReady", "False WaitingForAggregate", kubeconfig=interposed)
    assert "conditions-d" in said.message
    assert said.look == 10
    assert "ServicesReady" not in bench.conditions(name)
    bench.expect(name, "AggregatesReady", "True AggregatesEnsured")
    assert bench.cloud.aggregates()["conditions-d"]["metadata"] == {"availability_zone": "conditions-d"}
    assert bench.events(name, "AggregateCreated") == []


@condition("AggregatesReady", "ComputeAPIError")
def test_password_that_keystone_refuses_is_named_with_its_http_status(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    bench.cluster.patch("Secret", benches.USER_SECRET, {"data": {"password": "d3Jvbmc="}})
    said = bench.expect(settled, "AggregatesReady", "False ComputeAPIError")
    assert said.message.startswith("POST /v3/auth/tokens: HTTP 401")
    assert said.look == 30
    own_nova.make_whole()
    bench.expect(settled, "Ready", "True AllReady")


@condition("AggregatesReady", "ComputeAPIError")
@condition("ServicesReady", "ComputeAPIError")
def test_nova_api_that_is_away_is_named_by_each_step_that_asks_it(bench: benches.Bench, settled: str) -> None:
    bench.undo.callback(bench.stand.start_stopped_parts)
    bench.stand.stop_part("nova-api")
    said = bench.expect(settled, "AggregatesReady", "False ComputeAPIError")
    assert "/os-aggregates: HTTP 503" in said.message
    assert said.look == 30
    services = bench.conditions(settled)["ServicesReady"]
    assert (services["status"], services["reason"]) == ("False", "ComputeAPIError")
    assert "/os-services: HTTP 503" in services["message"]
    bench.stand.start_stopped_parts()
    bench.expect(settled, "Ready", "True AllReady")


@condition("AggregatesReady", "ComputeAPIError")
def test_aggregate_that_cannot_be_marked_is_deleted_again(
    bench: benches.Bench, crowd: tuple[str, ...], interposed: pathlib.Path
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-e"})
    name, _ = bench.new_pool(crowd[0])
    with bench.interposer.refusing("POST", "/os-aggregates/.*/action$", interposer.Reply.of_openstack(500, "no")):
        said = bench.expect(name, "AggregatesReady", "False ComputeAPIError", kubeconfig=interposed)
    assert "/action: HTTP 500" in said.message
    assert "conditions-e" not in bench.cloud.aggregates()
    bench.expect(name, "AggregatesReady", "True AggregatesEnsured")
    assert bench.cloud.aggregates()["conditions-e"]["metadata"]["c5c3.io:nova"] == MARKER["c5c3.io:nova"]


def test_aggregate_that_a_killed_pass_did_not_mark_is_finished_by_the_next(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-h"})
    name, _ = bench.new_pool(crowd[0])
    unfinished = f"c5c3.io:nova={cluster.NAMESPACE}/{benches.NOVA}: conditions-h"
    bench.make_aggregate(unfinished, "conditions-h")
    before = bench.cloud.aggregates()[unfinished]["id"]
    bench.expect(name, "AggregatesReady", "True AggregatesEnsured")
    made = bench.cloud.aggregates()
    assert unfinished not in made
    assert made["conditions-h"]["id"] == before
    assert made["conditions-h"]["metadata"] == {**MARKER, "availability_zone": "conditions-h"}


@pytest.mark.case("C21")
@event("AggregateKept")
@event("AggregateDeleted")
def test_aggregate_that_nobody_needs_goes_unless_somebody_put_metadata_on_it(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-f"})
    bench.label(crowd[1], {ZONE: "conditions-g"})
    name, selector = bench.new_pool(*crowd[:2])
    bench.expect(name, "AggregatesReady", "True AggregatesEnsured")
    isolated = bench.cloud.aggregates()["conditions-g"]["id"]
    bench.aggregate_action(isolated, {"set_metadata": {"metadata": {"filter_tenant_id": "tenant"}}})
    for node in crowd[:2]:
        bench.cluster.set_labels(node, dict.fromkeys(selector))
    bench.run_until(name, "both nodes are dropped", lambda seen: not cluster.phases(seen))
    bench.run(name)
    bench.run(name)
    left = bench.cloud.aggregates()
    assert "conditions-f" not in left
    assert left["conditions-g"]["metadata"]["filter_tenant_id"] == "tenant"
    deleted = bench.events(name, "AggregateDeleted")
    assert [one["type"] for one in deleted if one["message"].endswith(" conditions-f")] == ["Normal"]
    assert [one for one in deleted if one["message"].endswith(" conditions-g")] == []
    kept = bench.events(name, "AggregateKept")
    assert [one["type"] for one in kept] == ["Warning"]
    assert "conditions-g" in kept[0]["message"]
    assert "filter_tenant_id" in kept[0]["message"]
    bench.drop_aggregate("conditions-g")
