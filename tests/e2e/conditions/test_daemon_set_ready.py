# SPDX-License-Identifier: Apache-2.0
"""DaemonSetReady: the rollout of the pods, what holds it up, and a DaemonSet that is not the pool's."""

from __future__ import annotations

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import objects
from e2e.world import cluster
from novalab import ovsdb

condition = pytest.mark.condition


@condition("DaemonSetReady", "DaemonSetReady")
@condition("Ready", "AllReady")
def test_message_counts_the_ready_pods(bench: benches.Bench, settled: str) -> None:
    said = bench.expect(settled, "DaemonSetReady", "True DaemonSetReady")
    assert said.message == "1 of 1 nodes run a ready pod"
    status = bench.pool(settled)["status"]
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (1, 1)
    assert bench.conditions(settled)["Ready"]["message"]


@condition("DaemonSetReady", "DaemonSetProgressing")
@condition("Ready", "NotAllReady")
def test_quota_that_rejects_the_pods_shows_as_a_rollout_and_stops_no_later_step(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    bench.make_at(
        f"{objects.NAMESPACED}/resourcequotas",
        {"metadata": {"name": "no-more-pods"}, "spec": {"hard": {"pods": "0"}}},
    )
    bench.wait(
        "the quota is in force",
        lambda: bench.cluster.call("GET", f"{objects.NAMESPACED}/resourcequotas/no-more-pods")["status"].get("hard"),
    )
    name, _ = bench.new_pool(*crowd[:2])
    bench.run(name)
    bench.wait(
        "the DaemonSet notes that no pod is admitted",
        lambda: bench.cluster.all("Event", fields=f"involvedObject.name={name}-nova-compute,reason=FailedCreate"),
    )
    said = bench.expect(name, "DaemonSetReady", "False DaemonSetProgressing")
    assert said.message == "Waiting for the nova-compute DaemonSet: 0 of 2 nodes run a ready pod"
    status = bench.pool(name)["status"]
    assert (status["desiredNumberScheduled"], status.get("numberReady", 0)) == (2, 0)
    assert "installedImage" not in status
    assert cluster.verdict(bench.pool(name), "AggregatesReady").startswith("True")
    assert cluster.verdict(bench.pool(name), "ServicesReady") == "False WaitingForServices"
    bench.cluster.remove(f"{objects.NAMESPACED}/resourcequotas/no-more-pods")
    bench.wait("the pods run", lambda: [cluster.is_ready(pod) for pod in bench.cluster.pods(name)] == [True, True])
    said = bench.expect(name, "DaemonSetReady", "True DaemonSetReady")
    assert said.message == "2 of 2 nodes run a ready pod"


@pytest.mark.case("C27")
@condition("DaemonSetReady", "DaemonSetProgressing")
def test_chassis_that_never_comes_keeps_its_pod_waiting_and_no_other_node_from_draining(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    node = benches.OTHER_NODE
    bench.undo.callback(ovsdb.set_system_id, bench.stand.lab, node)
    ovsdb.unset_system_id(bench.stand.lab, node)
    name, selector = bench.new_pool(node, crowd[0])
    bench.run(name)
    bench.wait_pod(name, crowd[0])
    bench.wait("the chassis is awaited", lambda: waiting_in(bench, name, node), "wait-for-chassis".__eq__)
    said = bench.expect(name, "DaemonSetReady", "False DaemonSetProgressing")
    assert said.message == "Waiting for the nova-compute DaemonSet: 1 of 2 nodes run a ready pod"
    assert cluster.verdict(bench.pool(name), "ServicesReady") == "False WaitingForServices"

    bench.cluster.set_labels(crowd[0], dict.fromkeys(selector))
    bench.run_until(name, f"{crowd[0]} is dropped", lambda seen: cluster.phases(seen) == {node: "Pending"})
    assert waiting_in(bench, name, node) == "wait-for-chassis"

    ovsdb.set_system_id(bench.stand.lab, node)
    bench.settle(name, node)


def waiting_in(bench: benches.Bench, pool: str, node: str) -> str:
    """The init container that the pool's pod on the node is in, or an empty text."""
    for pod in bench.cluster.pods(pool):
        if cluster.node_of(pod) == node:
            for status in pod["status"].get("initContainerStatuses", []):
                if "running" in status["state"]:
                    return str(status["name"])
    return ""


@pytest.mark.case("C7")
@condition("DaemonSetReady", "DaemonSetProgressing")
def test_nova_compute_that_lost_its_identity_does_not_start_and_the_rollout_says_so(bench: benches.Bench) -> None:
    node = benches.OTHER_NODE
    name, _ = bench.new_pool(node)
    bench.settle(name, node)
    provider = bench.cloud.providers()[node]
    identity = bench.stand.lab.node_root(node) / "var" / "lib" / "nova" / "compute_id"
    kept = identity.read_text()
    bench.undo.callback(identity.write_text, kept)
    identity.unlink()
    bench.cluster.delete("Pod", bench.cluster.pods(name)[0]["metadata"]["name"])
    bench.wait("nova-compute refuses to start", lambda: last_exits(bench, name), lambda seen: max(seen, default=0) > 0)
    said = bench.run_until(
        name,
        "the rollout is said not to be over",
        lambda seen: cluster.verdict(seen, "DaemonSetReady") == "False DaemonSetProgressing",
    )
    assert "0 of 1 nodes" in cluster.conditions(said)["DaemonSetReady"]["message"]
    # Whoever takes the node's state for lost decides that, not the pool.
    assert not identity.exists()

    identity.write_text(kept)
    bench.cluster.delete("Pod", bench.cluster.pods(name)[0]["metadata"]["name"])
    bench.settle(name, node)
    assert bench.cloud.providers()[node] == provider


def last_exits(bench: benches.Bench, pool: str) -> list[int]:
    """The exit codes of the last ended nova-compute of each of the pool's pods."""
    statuses = [one for pod in bench.cluster.pods(pool) for one in pod["status"].get("containerStatuses", [])]
    ended = [one.get("lastState", {}).get("terminated") or one["state"].get("terminated") for one in statuses]
    return [one["exitCode"] for one in ended if one]


@pytest.mark.case("C5")
def test_new_pod_keeps_the_identity_of_its_host(bench: benches.Bench) -> None:
    node = benches.OTHER_NODE
    name, _ = bench.new_pool(node)
    bench.settle(name, node)
    before = (bench.cloud.services()[node]["id"], bench.cloud.providers()[node])
    old = bench.cluster.pods(name)[0]["metadata"]["name"]
    bench.cluster.delete("Pod", old)
    bench.wait("the old pod is gone", lambda: bench.cluster.get("Pod", old) is None)
    bench.wait_pod(name, node)
    bench.settle(name, node)
    assert (bench.cloud.services()[node]["id"], bench.cloud.providers()[node]) == before


@condition("DaemonSetReady", "DaemonSetError")
def test_daemon_set_of_somebody_else_is_left_alone(bench: benches.Bench) -> None:
    name, _ = bench.new_pool()
    labels = {"of": "somebody-else"}
    foreign = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": f"{name}-nova-compute", "namespace": cluster.NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "other", "image": "other"}]},
            },
        },
    }
    bench.make(foreign)
    said = bench.expect(name, "DaemonSetReady", "False DaemonSetError")
    assert f"DaemonSet {cluster.NAMESPACE}/{name}-nova-compute does not belong to NovaCompute {name}" in said.message
    assert said.look == 30
    assert bench.cluster.read("DaemonSet", f"{name}-nova-compute")["spec"]["selector"] == {"matchLabels": labels}
    assert "AggregatesReady" not in bench.conditions(name)
    bench.cluster.delete("DaemonSet", f"{name}-nova-compute")
    bench.run(name)
    bench.wait_observed(name)
    bench.expect(name, "DaemonSetReady", "True DaemonSetReady")


@condition("DaemonSetReady", "DaemonSetError")
def test_daemon_set_that_may_not_be_written_is_a_failure_with_its_http_status(
    bench: benches.Bench, settled: str
) -> None:
    account = bench.account("without-daemon-sets", "daemonsets:patch")
    bench.set_spec(settled, {"updateStrategy": {"type": "OnDelete"}})
    said = bench.expect(settled, "DaemonSetReady", "False DaemonSetError", kubeconfig=account)
    assert f"daemonsets/{settled}-nova-compute: HTTP 403" in said.message
    assert said.look == 30
    bench.run(settled)
    bench.wait_observed(settled)
    bench.expect(settled, "Ready", "True AllReady")
    strategy = bench.cluster.read("DaemonSet", f"{settled}-nova-compute")["spec"]["updateStrategy"]
    assert strategy == {"type": "OnDelete"}
