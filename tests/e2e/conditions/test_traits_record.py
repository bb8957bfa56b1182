# SPDX-License-Identifier: Apache-2.0
"""What a node records of its traits when its Hypervisor is gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import hypervisors as stand_ins
from e2e.world import cluster

condition = pytest.mark.condition

TRAIT = "CUSTOM_OF_THE_GONE"


@pytest.fixture
def hypervisors(bench: benches.Bench, hypervisor_kind: None) -> Iterator[stand_ins.Hypervisors]:
    """No Hypervisor yet; what the test makes is gone after it."""
    made = stand_ins.Hypervisors(bench.cluster)
    yield made
    bench.end_test()
    made.remove()


@condition("TraitsReady", "NodesWithoutHypervisor")
@condition("TraitsReady", "NoTraitsDeclared")
def test_record_of_a_node_whose_hypervisor_is_gone_clears_with_its_traits(
    bench: benches.Bench, crowd: tuple[str, ...], hypervisors: stand_ins.Hypervisors
) -> None:
    node = crowd[0]
    hypervisors.make(node)
    name, _ = bench.new_pool(node, traits=[TRAIT])
    bench.expect(name, "TraitsReady", "True WaitingForHypervisorOperator")
    hypervisors.remove()
    bench.expect(name, "TraitsReady", "False NodesWithoutHypervisor")
    assert cluster.ledger(bench.pool(name))[node]["traits"] == [TRAIT]
    bench.set_spec(name, {"traits": None})
    bench.expect(name, "TraitsReady", "True NoTraitsDeclared")
    assert "traits" not in cluster.ledger(bench.pool(name))[node]
    assert "createdTraits" not in bench.pool(name)["status"]


@condition("TraitsReady", "NoTraitsDeclared")
def test_entry_that_gives_its_node_nothing_asks_for_no_hypervisor(
    bench: benches.Bench, crowd: tuple[str, ...], hypervisors: stand_ins.Hypervisors
) -> None:
    del hypervisors
    name, _ = bench.new_pool(crowd[0], hostTraits=[{"nodeName": crowd[0], "mode": "Replace"}])
    bench.interposer.take_requests()
    bench.expect(name, "TraitsReady", "True NoTraitsDeclared", kubeconfig=bench.interposer.kubeconfig)
    asked = bench.interposer.take_requests()
    assert [one for one in asked if "kvm.cloud.sap" in one or "placement" in one or "/traits" in one] == []
