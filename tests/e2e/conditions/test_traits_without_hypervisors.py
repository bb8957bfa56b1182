# SPDX-License-Identifier: Apache-2.0
"""TraitsReady on a cluster where no hypervisor operator is installed."""

from __future__ import annotations

import pytest
from e2e.conditions import bench as benches
from e2e.world import cluster

condition = pytest.mark.condition


@condition("TraitsReady", "HypervisorOperatorNotInstalled")
def test_cluster_without_the_kind_is_named_and_no_trait_created(bench: benches.Bench, settled: str) -> None:
    bench.set_spec(settled, {"traits": ["CUSTOM_CONDITIONS"]})
    said = bench.expect(settled, "TraitsReady", "False HypervisorOperatorNotInstalled")
    assert "hypervisors.kvm.cloud.sap" in said.message
    assert said.look == 30
    assert "createdTraits" not in bench.pool(settled)["status"]
    assert cluster.verdict(bench.pool(settled), "ServicesReady") == "True ServicesUp"
    bench.set_spec(settled, {"traits": None})
    bench.expect(settled, "TraitsReady", "True NoTraitsDeclared")
    bench.expect(settled, "Ready", "True AllReady")


@condition("TraitsReady", "HypervisorError")
def test_group_whose_server_does_not_answer_is_no_missing_kind(bench: benches.Bench, settled: str) -> None:
    bench.set_spec(settled, {"traits": ["CUSTOM_CONDITIONS"]})
    bench.break_group("v1.kvm.cloud.sap")
    said = bench.expect(settled, "TraitsReady", "False HypervisorError")
    assert "GET /apis/kvm.cloud.sap/v1: HTTP 503" in said.message
    assert said.look == 30
    bench.mend_group("v1.kvm.cloud.sap")
    bench.expect(settled, "TraitsReady", "False HypervisorOperatorNotInstalled")
