# SPDX-License-Identifier: Apache-2.0
"""NodesReady: which nodes a pool holds, which it may not have, and what keeps it from knowing."""

from __future__ import annotations

import pathlib

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import interposer
from e2e.world import cluster

condition = pytest.mark.condition
event = pytest.mark.event


@condition("NodesReady", "NodesResolved")
def test_message_counts_the_selected_nodes_and_the_leaving_ones(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    name, selector = bench.new_pool(*crowd[:3])
    said = bench.expect(name, "NodesReady", "True NodesResolved")
    assert said.message == "3 nodes selected, 0 leaving"
    bench.cluster.set_labels(crowd[0], dict.fromkeys(selector))
    said = bench.expect(name, "NodesReady", "True NodesResolved")
    assert said.message == "2 nodes selected, 1 leaving"


@condition("NodesReady", "NoMatchingNodes")
def test_selector_that_matches_nothing_stops_no_later_step(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    name, selector = bench.new_pool()
    said = bench.expect(name, "NodesReady", "False NoMatchingNodes")
    assert "spec.nodeSelector" in said.message
    assert said.look == 60
    # By the next pass the controller has seen the DaemonSet that has no node to run on.
    bench.wait_observed(name)
    bench.expect(name, "NodesReady", "False NoMatchingNodes")
    later = ("ConfigReady", "DaemonSetReady", "VPAReady", "AggregatesReady", "TraitsReady", "ServicesReady")
    assert [bench.conditions(name)[one]["status"] for one in later] == ["True"] * len(later)
    bench.label(crowd[0], selector)
    bench.expect(name, "NodesReady", "True NodesResolved")


@condition("NodesReady", "NodeConflict")
@event("NodeConflict")
@pytest.mark.phase("Conflict")
def test_node_of_another_pool_is_left_to_it_and_noted_once(bench: benches.Bench, settled: str) -> None:
    name, _ = bench.new_pool(nodeSelector=bench.pool(settled)["spec"]["nodeSelector"])
    said = bench.expect(name, "NodesReady", "False NodeConflict")
    assert f"compute-1 (held by {settled})" in said.message
    assert bench.conditions(name)["ServicesReady"]["observedGeneration"] == 1, "later steps run"
    entry = cluster.ledger(bench.pool(name))["compute-1"]
    assert (entry["phase"], entry["conflictsWith"]) == ("Conflict", settled)
    bench.expect(name, "NodesReady", "False NodeConflict")
    events = bench.events(name, "NodeConflict")
    assert [one["type"] for one in events] == ["Warning"]
    assert f"compute-1 (held by {settled})" in events[0]["message"]
    assert bench.cluster.pods(name) == []
    assert bench.cloud.services()["compute-1"]["status"] == "enabled"
    bench.set_spec(name, {"nodeSelector": {"none": "such"}})
    bench.expect(name, "NodesReady", "False NoMatchingNodes")
    assert cluster.phases(bench.pool(name)) == {}


@condition("NodesReady", "NodeConflict")
def test_more_than_twenty_conflicts_are_counted(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    holder, selector = bench.new_pool(*crowd)
    bench.run(holder)
    name, _ = bench.new_pool(nodeSelector=selector)
    said = bench.expect(name, "NodesReady", "False NodeConflict")
    named = ", ".join(f"{node} (held by {holder})" for node in crowd[:20])
    assert said.message.endswith(f": {named} and {len(crowd) - 20} more")


@condition("NodesReady", "NodesForbidden")
def test_operator_that_may_not_list_nodes_says_so_and_touches_nothing(bench: benches.Bench, settled: str) -> None:
    account = bench.account("without-nodes", "nodes")
    ledger = cluster.ledger(bench.pool(settled))
    said = bench.expect(settled, "NodesReady", "False NodesForbidden", kubeconfig=account)
    assert "GET /api/v1/nodes: HTTP 403" in said.message
    assert said.look == 30
    assert cluster.ledger(bench.pool(settled)) == ledger
    bench.expect(settled, "NodesReady", "True NodesResolved")
    bench.expect(settled, "Ready", "True AllReady")


@condition("NodesReady", "NodeListError")
def test_failed_list_of_nodes_is_named_with_its_http_status(
    bench: benches.Bench, settled: str, interposed: pathlib.Path
) -> None:
    ledger = cluster.ledger(bench.pool(settled))
    broken = interposer.Reply.of_kubernetes(500, "etcdserver: request timed out")
    with bench.interposer.refusing("GET", "^/api/v1/nodes$", broken):
        said = bench.expect(settled, "NodesReady", "False NodeListError", kubeconfig=interposed)
    assert "GET /api/v1/nodes: HTTP 500: etcdserver: request timed out" in said.message
    assert said.look == 30
    assert cluster.ledger(bench.pool(settled)) == ledger
    bench.expect(settled, "Ready", "True AllReady")
