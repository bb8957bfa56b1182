# SPDX-License-Identifier: Apache-2.0
"""Ready, observedGeneration, lastTransitionTime and the columns: what `kubectl get` and `kubectl wait` need."""

from __future__ import annotations

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import own_nova as own_novas
from e2e.world import cluster

condition = pytest.mark.condition

#: The order in which the specification's pipeline takes its steps, and Ready, which no step owns.
EIGHT = (
    "NovaReady",
    "NodesReady",
    "ConfigReady",
    "DaemonSetReady",
    "VPAReady",
    "AggregatesReady",
    "TraitsReady",
    "ServicesReady",
)


@condition("Ready", "AllReady")
def test_ready_is_true_when_all_eight_are_and_kubectl_waits_for_it(bench: benches.Bench, settled: str) -> None:
    bench.run(settled)
    found = bench.conditions(settled)
    assert [one for one in found.values() if one["status"] != "True"] == []
    assert set(found) == {*EIGHT, "Ready", "ExtraConfigHealthy"}
    waited = ("kubectl", "wait", f"novacompute/{settled}", "-n", cluster.NAMESPACE, "--timeout=5s")
    for one in (*EIGHT, "Ready"):
        bench.stand.output(*waited, f"--for=condition={one}")


def test_columns_show_ready_desired_and_ready_pods(bench: benches.Bench, settled: str) -> None:
    bench.run(settled)
    header, row = bench.stand.output("kubectl", "get", "novacomputes", settled, "-n", cluster.NAMESPACE).splitlines()
    assert header.split("  ", 1)[0] == "NAME"
    assert [title.strip() for title in header.split("  ") if title.strip()] == [
        "NAME",
        "READY",
        "DESIRED",
        "READY PODS",
        "AGE",
    ]
    assert row.split()[:4] == [settled, "True", "1", "1"]


@pytest.mark.case("C29")
def test_pass_that_finds_nothing_new_writes_nothing(bench: benches.Bench, settled: str) -> None:
    bench.run(settled)
    before = bench.pool(settled)["metadata"]["resourceVersion"]
    assert bench.run(settled).changed == 0
    assert bench.pool(settled)["metadata"]["resourceVersion"] == before


@condition("Ready", "NotAllReady")
def test_transition_time_moves_with_the_status_and_not_with_the_reason(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    healthy = bench.conditions(settled)
    own_nova.set_status({"installedRelease": None})
    bench.expect(settled, "NovaReady", "False WaitingForInstalledRelease")
    waiting = bench.conditions(settled)
    assert waiting["NovaReady"]["lastTransitionTime"] > healthy["NovaReady"]["lastTransitionTime"]
    assert waiting["Ready"]["lastTransitionTime"] > healthy["Ready"]["lastTransitionTime"]
    own_nova.set_status({"computeConfigSecretRef": None})
    bench.expect(settled, "NovaReady", "False ComputeConfigNotPublished")
    still = bench.conditions(settled)
    assert still["NovaReady"]["lastTransitionTime"] == waiting["NovaReady"]["lastTransitionTime"]
    assert still["Ready"] == waiting["Ready"]
    own_nova.set_status({})
    bench.expect(settled, "Ready", "True AllReady")


def test_condition_of_a_step_that_did_not_run_keeps_the_generation_it_saw(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    before = bench.pool(settled)["metadata"]["generation"]
    own_nova.set_status({"installedRelease": None})
    bench.set_spec(settled, {"libvirt": {"virtType": "qemu"}})
    bench.run(settled)
    pool = bench.pool(settled)
    now = pool["metadata"]["generation"]
    assert now == before + 1
    assert pool["status"]["observedGeneration"] == now
    seen = {one: found["observedGeneration"] for one, found in cluster.conditions(pool).items()}
    assert (seen["NovaReady"], seen["Ready"]) == (now, now)
    assert {seen[one] for one in EIGHT[1:]} == {before}
    wait = ("kubectl", "wait", f"novacompute/{settled}", "-n", cluster.NAMESPACE, "--timeout=1s")
    assert bench.stand.run(*wait, "--for=condition=ConfigReady").returncode != 0, "kubectl took an old condition"
