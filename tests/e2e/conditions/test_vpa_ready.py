# SPDX-License-Identifier: Apache-2.0
"""VPAReady: the VerticalPodAutoscaler of a pool that opts in, and clusters that cannot take one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.conditions import bench as benches
from e2e.world import cluster
from novalab import crds

condition = pytest.mark.condition

OPTED_IN = {"updateMode": "Off", "minAllowed": {"cpu": "100m"}}
OBJECTS = f"/apis/autoscaling.k8s.io/v1/namespaces/{cluster.NAMESPACE}/verticalpodautoscalers"


@pytest.fixture
def vpa_kind(bench: benches.Bench) -> Iterator[None]:
    """A cluster that serves the kind for the length of a test."""
    crds.install(bench.stand.lab, "vpa")
    bench.wait("objects of the kind are served", lambda: bench.cluster.is_there(OBJECTS))
    yield
    crds.remove(bench.stand.lab, "vpa")


@condition("VPAReady", "VPANotRequired")
def test_pool_that_does_not_opt_in_needs_no_vpa(bench: benches.Bench, settled: str) -> None:
    bench.expect(settled, "VPAReady", "True VPANotRequired")


@condition("VPAReady", "VPANotInstalled")
def test_cluster_without_the_vpa_holds_up_nothing_else(bench: benches.Bench, settled: str) -> None:
    bench.set_spec(settled, {"verticalAutoscaling": OPTED_IN})
    said = bench.expect(settled, "VPAReady", "False VPANotInstalled")
    assert "autoscaling.k8s.io/v1" in said.message
    # Nobody watches for the kind, and no wake-up of its own asks for it.
    assert said.look == 60
    false = [one for one, seen in bench.conditions(settled).items() if seen["status"] == "False"]
    assert sorted(false) == ["Ready", "VPAReady"]
    bench.set_spec(settled, {"verticalAutoscaling": None})
    bench.expect(settled, "VPAReady", "True VPANotRequired")
    bench.expect(settled, "Ready", "True AllReady")


@condition("VPAReady", "VPAReady")
@condition("VPAReady", "VPANotRequired")
def test_object_is_named_and_goes_when_the_pool_opts_out(bench: benches.Bench, settled: str, vpa_kind: None) -> None:
    foreign = {"metadata": {"name": "other"}, "spec": {"targetRef": {"kind": "DaemonSet", "name": "other"}}}
    foreign |= {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler"}
    bench.cluster.call("POST", OBJECTS, foreign)
    bench.set_spec(settled, {"verticalAutoscaling": OPTED_IN})
    said = bench.expect(settled, "VPAReady", "True VPAReady")
    name = f"{settled}-nova-compute"
    assert name in said.message
    made = bench.cluster.call("GET", f"{OBJECTS}/{name}")
    assert made["metadata"]["ownerReferences"][0]["name"] == settled
    assert made["spec"]["targetRef"] == {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name}
    assert made["spec"]["updatePolicy"] == {"updateMode": "Off"}
    assert made["spec"]["resourcePolicy"]["containerPolicies"] == [
        {
            "containerName": "*",
            "controlledResources": ["cpu", "memory"],
            "controlledValues": "RequestsOnly",
            "minAllowed": {"cpu": "100m"},
        }
    ]
    assert bench.expect(settled, "VPAReady", "True VPAReady").outcome.changed == 0
    bench.set_spec(settled, {"verticalAutoscaling": None})
    bench.expect(settled, "VPAReady", "True VPANotRequired")
    bench.wait("the object is gone", lambda: not bench.cluster.is_there(f"{OBJECTS}/{name}"))
    assert bench.cluster.is_there(f"{OBJECTS}/other")


@condition("VPAReady", "CapabilityProbeFailed")
def test_group_whose_server_does_not_answer_is_no_missing_kind(bench: benches.Bench, settled: str) -> None:
    bench.set_spec(settled, {"verticalAutoscaling": OPTED_IN})
    bench.break_group("v1.autoscaling.k8s.io")
    said = bench.expect(settled, "VPAReady", "False CapabilityProbeFailed")
    assert "GET /apis/autoscaling.k8s.io/v1: HTTP 503" in said.message
    assert said.look == 30
    assert cluster.verdict(bench.pool(settled), "ServicesReady") == "True ServicesUp"
    bench.mend_group("v1.autoscaling.k8s.io")
    bench.expect(settled, "VPAReady", "False VPANotInstalled")


@condition("VPAReady", "VPAError")
def test_object_that_may_not_be_written_is_a_failure_that_stops_no_later_step(
    bench: benches.Bench, settled: str, vpa_kind: None
) -> None:
    account = bench.account("without-vpa", "verticalpodautoscalers:patch")
    bench.set_spec(settled, {"verticalAutoscaling": OPTED_IN})
    said = bench.expect(settled, "VPAReady", "False VPAError", kubeconfig=account)
    assert f"verticalpodautoscalers/{settled}-nova-compute: HTTP 403" in said.message
    assert said.look == 30
    assert cluster.verdict(bench.pool(settled), "ServicesReady") == "True ServicesUp"
    bench.expect(settled, "VPAReady", "True VPAReady")
    bench.expect(settled, "Ready", "True AllReady")
