# SPDX-License-Identifier: Apache-2.0
"""The aggregates and the traits in a pass that did not run the step before them, which lists the pools."""

from __future__ import annotations

import pathlib

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import interposer
from e2e.world import cluster
from nova_compute_operator import passes

condition = pytest.mark.condition

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def runner(bench: benches.Bench, tmp_path: pathlib.Path) -> passes.Passes:
    """What runs the playbook beside this file with the product's roles."""
    for name in ("ansible.cfg", "collections", "inventory", "roles"):
        (tmp_path / name).symlink_to(benches.ROOT / name)
    playbook = tmp_path / "playbooks" / "without_nodes.yml"
    playbook.parent.mkdir()
    playbook.symlink_to(HERE / playbook.name)
    return bench.passes_of(playbook)


@condition("AggregatesReady", "NovaComputeListError")
@condition("TraitsReady", "NovaComputeListError")
def test_failed_list_of_the_other_pools_is_named_and_nothing_deleted(
    bench: benches.Bench, settled: str, interposed: pathlib.Path, runner: passes.Passes
) -> None:
    bench.set_status(settled, {"createdTraits": ["CUSTOM_CONDITIONS"]})
    bench.undo.callback(bench.set_status, settled, {"createdTraits": None})
    aggregates = bench.cloud.aggregates()
    broken = interposer.Reply.of_kubernetes(500, "etcdserver: request timed out")
    with bench.interposer.refusing("GET", "/novacomputes$", broken):
        outcome = bench.run(settled, kubeconfig=interposed, runner=runner)
    assert outcome.next_look == 30
    for step in ("AggregatesReady", "TraitsReady"):
        assert cluster.verdict(bench.pool(settled), step) == "False NovaComputeListError"
        path = f"/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/{cluster.NAMESPACE}/novacomputes"
        message = bench.conditions(settled)[step]["message"]
        assert message == f"GET {path}: HTTP 500: etcdserver: request timed out"
    assert bench.cloud.aggregates() == aggregates
    assert bench.pool(settled)["status"]["createdTraits"] == ["CUSTOM_CONDITIONS"]

    outcome = bench.run(settled, runner=runner)
    assert cluster.verdict(bench.pool(settled), "AggregatesReady") == "True NodesOutsideZoneAggregate"
