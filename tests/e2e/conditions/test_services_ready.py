# SPDX-License-Identifier: Apache-2.0
"""ServicesReady: registered, mapped, up and leaving compute services, and what keeps the pool from knowing."""

from __future__ import annotations

import os
import pathlib
import signal
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import drain
from e2e.conditions import bench as benches
from e2e.conditions import interposer, objects
from e2e.conditions import own_nova as own_novas
from e2e.world import cluster

NODE = benches.NODE
condition = pytest.mark.condition
event = pytest.mark.event

JOB = f"{benches.NOVA}-discover-hosts"


@pytest.fixture
def unmapped(bench: benches.Bench, settled: str) -> Iterator[str]:
    """The settled pool as it is when its node has registered and Nova has not mapped the host."""
    drop_job(bench)
    bench.stand.sql("nova_api", f"DELETE FROM host_mappings WHERE host = '{NODE}'")
    bench.stand.sql("nova", f"UPDATE compute_nodes SET mapped = 0 WHERE host = '{NODE}'")
    pending = [{**entry, "phase": "Pending"} for entry in cluster.ledger(bench.pool(settled)).values()]
    bench.set_status(settled, {"nodes": pending})
    yield settled
    # Whatever the test left of it, a whole Nova maps the host again.
    bench.end_test()
    drop_job(bench)
    bench.run_until(settled, "the host is mapped", lambda seen: cluster.phases(seen) == {NODE: "Active"})


def drop_job(bench: benches.Bench) -> None:
    """Return when no discovery Job and no pod of one is left: a Job of the same name must not meet them."""
    bench.cluster.delete("Job", JOB)
    bench.wait("no discovery Job is left", lambda: bench.cluster.get("Job", JOB) is None)
    bench.wait(
        "no pod of it is left", lambda: not bench.cluster.all("Pod", labels={"batch.kubernetes.io/job-name": JOB})
    )


def job_ends(bench: benches.Bench) -> cluster.Object:
    """The discovery Job once it has ended."""
    found: cluster.Object = bench.wait(
        "the discovery Job ends",
        lambda: bench.cluster.read("Job", JOB),
        lambda seen: {"Complete", "Failed"} & set(cluster.conditions(seen)),
    )
    return found


@condition("ServicesReady", "ServicesUp")
def test_message_counts_the_services(bench: benches.Bench, settled: str) -> None:
    said = bench.expect(settled, "ServicesReady", "True ServicesUp")
    assert said.message == "1 compute services are registered and up"
    assert said.look == 60
    entry = cluster.ledger(bench.pool(settled))[NODE]
    service = bench.cloud.services()[NODE]
    assert (entry["serviceID"], entry["serviceStatus"], entry["serviceState"]) == (service["id"], "enabled", "up")
    assert entry["zone"] == "az1"


@condition("ServicesReady", "Draining")
@event("ComputeServiceDisabled")
@pytest.mark.phase("Draining")
def test_drain_counts_the_servers_and_disables_the_service_once(
    bench: benches.Bench, settled: str, flavor: str, image: str
) -> None:
    server = bench.cloud.boot("conditions-server", host=NODE, flavor=flavor, image=image)
    bench.undo.callback(bench.drop_server, server)
    bench.wait("the server is ACTIVE", lambda: bench.cloud.server(server)["status"], lambda seen: seen == "ACTIVE")
    selector = bench.pool(settled)["spec"]["nodeSelector"]
    before = len(bench.events(settled, "ComputeServiceDisabled"))
    bench.label(NODE, dict.fromkeys(selector))
    said = bench.expect(settled, "ServicesReady", "True Draining")
    assert said.message == f"Leaving the pool: {NODE} (1 instance)"
    assert said.look == 30
    assert bench.conditions(settled)["NodesReady"]["message"] == "0 nodes selected, 1 leaving"
    service = bench.cloud.services()[NODE]
    reason = f"c5c3.io: leaving NovaCompute {cluster.NAMESPACE}/{settled}"
    assert (service["status"], service["disabled_reason"]) == ("disabled", reason)
    entry = cluster.ledger(bench.pool(settled))[NODE]
    assert (entry["phase"], entry["instances"], entry["disabledReason"]) == ("Draining", 1, reason)
    # Somebody enables it on purpose: the pool counts on and leaves it alone.
    bench.cloud.enable_service(NODE)
    bench.expect(settled, "ServicesReady", "True Draining")
    assert bench.cloud.services()[NODE]["status"] == "enabled"
    events = bench.events(settled, "ComputeServiceDisabled")[before:]
    assert [(one["type"], NODE in one["message"]) for one in events] == [("Normal", True)]
    bench.cluster.set_labels(NODE, selector)
    bench.expect(settled, "NodesReady", "True NodesResolved")
    # The rollout of the drain may have its nova-compute down at this moment.
    bench.run_until(settled, "the node is Active again", lambda seen: cluster.phases(seen) == {NODE: "Active"})
    bench.wait_pod(settled, NODE)


@pytest.mark.case("C1")
def test_service_that_nova_refuses_to_delete_returns_the_node_to_draining(
    bench: benches.Bench, settled: str, interposed: pathlib.Path, flavor: str, image: str
) -> None:
    server = bench.cloud.boot("conditions-server", host=NODE, flavor=flavor, image=image)
    bench.undo.callback(bench.drop_server, server)
    bench.wait("the server is ACTIVE", lambda: bench.cloud.server(server)["status"], lambda seen: seen == "ACTIVE")
    selector = bench.pool(settled)["spec"]["nodeSelector"]
    bench.label(NODE, dict.fromkeys(selector))
    # As if the server came back between the count and the delete: only the count does not see it.
    with bench.interposer.refusing("GET", "/servers$", interposer.Reply(200, {"servers": []})):
        bench.run(settled, kubeconfig=interposed)
        assert cluster.phases(bench.pool(settled)) == {NODE: "Releasing"}
        bench.run(settled, kubeconfig=interposed)
        bench.wait_no_pod(settled, NODE)
        bench.wait_observed(settled)
        bench.interposer.take_requests()
        said = bench.expect(settled, "ServicesReady", "True Draining", kubeconfig=interposed)
        asked = [
            one for one in bench.interposer.take_requests() if one.startswith("DELETE ") and "/os-services/" in one
        ]
    assert len(asked) == 1, "the delete is not repeated within the pass"
    assert cluster.phases(bench.pool(settled)) == {NODE: "Draining"}
    assert said.look == 10
    assert bench.events(settled, "ComputeServiceDeleted") == []
    said = bench.expect(settled, "ServicesReady", "True Draining")
    assert said.message == f"Leaving the pool: {NODE} (1 instance)"
    bench.cluster.set_labels(NODE, selector)
    bench.run(settled)
    bench.cloud.enable_service(NODE)


@pytest.mark.case("C16")
@condition("ServicesReady", "WaitingForServices")
def test_nodes_without_a_service_are_counted(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    name, selector = bench.new_pool(*crowd)
    said = bench.expect(name, "ServicesReady", "False WaitingForServices")
    assert said.message == f"No compute service yet: {', '.join(crowd[:20])} and {len(crowd) - 20} more"
    assert said.look == 30
    assert set(cluster.phases(bench.pool(name)).values()) == {"Pending"}
    for node in crowd:
        bench.cluster.set_labels(node, dict.fromkeys(selector))
    bench.run_until(name, "no node is held", lambda seen: not cluster.phases(seen))
    # Nobody's service was there to be deleted.
    assert bench.events(name, "ComputeServiceDeleted") == []
    bench.expect(name, "ServicesReady", "True ServicesUp")


@pytest.mark.case("C5")
@pytest.mark.case("C16")
@pytest.mark.case("C18")
@condition("ServicesReady", "WaitingForHostMapping")
@event("HostDiscoveryStarted")
def test_host_that_is_not_mapped_is_discovered_by_the_job_that_the_message_names(
    bench: benches.Bench, unmapped: str
) -> None:
    before = len(bench.events(unmapped, "HostDiscoveryStarted"))
    said = bench.expect(unmapped, "ServicesReady", "False WaitingForHostMapping")
    assert said.message == f"Not mapped into the cell: {NODE}; host discovery Job {JOB} is running"
    assert said.look == 10
    events = bench.events(unmapped, "HostDiscoveryStarted")[before:]
    assert [(one["type"], NODE in one["message"]) for one in events] == [("Normal", True)]
    job = bench.cluster.read("Job", JOB)
    owner = job["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("Nova", benches.NOVA)
    assert job["spec"]["ttlSecondsAfterFinished"] == 300
    assert "discover_hosts --verbose" in str(job["spec"]["template"]["spec"]["containers"][0]["command"])
    job_ends(bench)
    said = bench.expect(unmapped, "ServicesReady", "True ServicesUp")
    assert cluster.phases(bench.pool(unmapped)) == {NODE: "Active"}
    bench.expect(unmapped, "Ready", "True AllReady")


@condition("ServicesReady", "WaitingForHostMapping")
def test_no_job_is_made_of_a_deployment_that_mounts_no_config(bench: benches.Bench, unmapped: str) -> None:
    pod = bench.cluster.read("Deployment", benches.NOVA)["spec"]["template"]["spec"]
    mounts = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] != "config"]
    path = "/spec/template/spec/containers/0/volumeMounts"
    bench.cluster.patch_items("Deployment", benches.NOVA, [{"op": "replace", "path": path, "value": mounts}])
    bench.undo.callback(renew_deployment, bench)
    said = bench.expect(unmapped, "ServicesReady", "False WaitingForHostMapping")
    assert said.message.endswith("; no host discovery Job: the Nova API Deployment mounts no config")
    assert bench.cluster.get("Job", JOB) is None


def renew_deployment(bench: benches.Bench) -> None:
    bench.cluster.delete("Deployment", benches.NOVA)
    bench.wait("the Deployment is gone", lambda: bench.cluster.get("Deployment", benches.NOVA) is None)
    own_novas.OwnNova(bench).make_whole()


@pytest.mark.case("C17")
@pytest.mark.case("C32")
@condition("ServicesReady", "WaitingForHostMapping")
@event("HostDiscoveryFailed")
def test_failed_job_is_noted_and_replaced_when_its_time_has_come(bench: benches.Bench, unmapped: str) -> None:
    bench.cluster.create(failing_job(bench))
    job = job_ends(bench)
    assert "Failed" in cluster.conditions(job)
    said = bench.expect(unmapped, "ServicesReady", "False WaitingForHostMapping")
    assert said.message == f"Not mapped into the cell: {NODE}; host discovery Job {JOB} failed"
    assert bench.events(unmapped, "HostDiscoveryFailed") == []
    # Thirty seconds after its end, which a shortened time brings closer.
    bench.run(unmapped, scale=0.001)
    events = bench.events(unmapped, "HostDiscoveryFailed")
    assert [(one["type"], JOB in one["message"]) for one in events] == [("Warning", True)]
    bench.wait("the failed Job is gone", lambda: bench.cluster.get("Job", JOB) is None)
    bench.expect(unmapped, "ServicesReady", "False WaitingForHostMapping")
    assert bench.cluster.read("Job", JOB)["metadata"]["uid"] != job["metadata"]["uid"]
    job_ends(bench)
    bench.expect(unmapped, "ServicesReady", "True ServicesUp")


def failing_job(bench: benches.Bench) -> dict[str, Any]:
    """The Nova's discovery Job, but for its command."""
    nova = bench.cluster.read("Nova", benches.NOVA)
    owner = {"apiVersion": nova["apiVersion"], "kind": "Nova", "name": benches.NOVA, "uid": nova["metadata"]["uid"]}
    container = {"name": "discover-hosts", "image": "any", "command": ["/bin/false"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": JOB, "namespace": cluster.NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "backoffLimit": 0,
            # Not on a node without a kubelet, where every command succeeds.
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"lab.c5c3.io/role": "control"},
                    "containers": [container],
                }
            },
        },
    }


@condition("ServicesReady", "HostDiscoveryError")
def test_job_that_may_not_be_created_is_named_with_its_http_status(bench: benches.Bench, unmapped: str) -> None:
    account = bench.account("without-jobs", "jobs:create")
    said = bench.expect(unmapped, "ServicesReady", "False HostDiscoveryError", kubeconfig=account)
    assert "jobs: HTTP 403" in said.message
    assert said.look == 30
    assert cluster.phases(bench.pool(unmapped)) == {NODE: "Pending"}
    bench.expect(unmapped, "ServicesReady", "False WaitingForHostMapping")
    job_ends(bench)
    bench.expect(unmapped, "ServicesReady", "True ServicesUp")


@condition("ServicesReady", "HostDiscoveryError")
def test_job_of_somebody_else_under_the_name_is_left_alone(bench: benches.Bench, unmapped: str) -> None:
    foreign = failing_job(bench)
    del foreign["metadata"]["ownerReferences"]
    bench.cluster.create(foreign)
    uid = job_ends(bench)["metadata"]["uid"]
    # Long after its end too.
    bench.run(unmapped, scale=0.001)
    said = bench.expect(unmapped, "ServicesReady", "False HostDiscoveryError")
    assert said.message.startswith(f"Job {cluster.NAMESPACE}/{JOB}: it does not belong to the Nova {benches.NOVA}")
    assert bench.cluster.read("Job", JOB)["metadata"]["uid"] == uid
    drop_job(bench)
    bench.expect(unmapped, "ServicesReady", "False WaitingForHostMapping")


@condition("ServicesReady", "ServicesDown")
def test_service_of_a_hung_nova_compute_is_named_once_nova_reports_it_down(bench: benches.Bench, settled: str) -> None:
    process = benches.process_of(bench.cluster.pods(settled)[0])
    bench.undo.callback(bench.wait_service, NODE)
    bench.undo.callback(os.kill, process, signal.SIGCONT)
    os.kill(process, signal.SIGSTOP)
    # As if it had not reported for two minutes.
    long_ago = "now() at time zone 'utc' - interval '2 minutes'"
    bench.stand.sql("nova", f"UPDATE services SET updated_at={long_ago}, last_seen_up={long_ago} WHERE host='{NODE}'")
    bench.wait("Nova reports the service down", lambda: bench.cloud.services()[NODE]["state"], "down".__eq__)
    said = bench.expect(settled, "ServicesReady", "False ServicesDown")
    assert said.message == f"Compute service down: {NODE}"
    assert said.look == 60
    assert cluster.phases(bench.pool(settled)) == {NODE: "Active"}
    os.kill(process, signal.SIGCONT)
    bench.wait_service(NODE)
    bench.expect(settled, "ServicesReady", "True ServicesUp")
    bench.expect(settled, "Ready", "True AllReady")


@pytest.mark.case("C12")
@condition("ServicesReady", "ComputeAPIError")
def test_cell_that_does_not_answer_fails_the_step_and_moves_no_node(bench: benches.Bench, settled: str) -> None:
    ledger = cluster.ledger(bench.pool(settled))
    bench.undo.callback(bench.stand.start_stopped_parts)
    bench.stand.stop_part("cell")
    said = bench.expect(settled, "ServicesReady", "False ComputeAPIError")
    assert "/os-services: HTTP 200: a cell did not answer" in said.message
    assert said.look == 30
    assert cluster.ledger(bench.pool(settled)) == ledger
    bench.stand.start_stopped_parts()
    bench.wait_service(NODE)
    bench.expect(settled, "ServicesReady", "True ServicesUp")


@pytest.mark.case("C13")
@condition("ServicesReady", "ComputeAPIError")
def test_zero_servers_are_not_believed_while_a_cell_does_not_answer(bench: benches.Bench, settled: str) -> None:
    bench.label(NODE, dict.fromkeys(bench.pool(settled)["spec"]["nodeSelector"]))
    bench.undo.callback(bench.stand.start_stopped_parts)
    bench.stand.stop_part("cell")
    bench.expect(settled, "ServicesReady", "False ComputeAPIError")
    entry = cluster.ledger(bench.pool(settled))[NODE]
    assert (entry["phase"], entry.get("instances")) == ("Draining", None)
    bench.stand.start_stopped_parts()
    bench.wait_service(NODE)
    assert bench.cloud.services()[NODE]["status"] == "enabled"


@condition("ServicesReady", "ComputeAPIError")
def test_failed_hypervisor_list_keeps_the_node_pending(
    bench: benches.Bench, unmapped: str, interposed: pathlib.Path
) -> None:
    broken = interposer.Reply.of_openstack(500, "no compute answered in time")
    with bench.interposer.refusing("GET", "/os-hypervisors/detail$", broken):
        said = bench.expect(unmapped, "ServicesReady", "False ComputeAPIError", kubeconfig=interposed)
    assert "/os-hypervisors/detail: HTTP 500: no compute answered in time" in said.message
    assert said.look == 30
    assert cluster.phases(bench.pool(unmapped)) == {NODE: "Pending"}
    assert bench.cluster.get("Job", JOB) is None


@condition("ServicesReady", "ComputeAPIError")
@pytest.mark.phase("Releasing")
def test_failed_hypervisor_list_holds_no_other_node_and_no_earlier_look(
    bench: benches.Bench, unmapped: str, crowd: tuple[str, ...], interposed: pathlib.Path
) -> None:
    selector = bench.pool(unmapped)["spec"]["nodeSelector"]
    broken = interposer.Reply.of_openstack(500, "no compute answered in time")
    with bench.interposer.refusing("GET", "/os-hypervisors/detail$", broken):
        bench.label(crowd[0], selector)
        bench.run(unmapped, kubeconfig=interposed)
        assert cluster.phases(bench.pool(unmapped)) == {NODE: "Pending", crowd[0]: "Pending"}
        bench.cluster.set_labels(crowd[0], dict.fromkeys(selector))
        said = bench.expect(unmapped, "ServicesReady", "False ComputeAPIError", kubeconfig=interposed)
        assert cluster.phases(bench.pool(unmapped)) == {NODE: "Pending", crowd[0]: "Releasing"}
        assert said.look == 10
        bench.run(unmapped, kubeconfig=interposed)
        bench.wait_no_pod(unmapped, crowd[0])
        bench.wait_observed(unmapped)
        said = bench.expect(unmapped, "ServicesReady", "False ComputeAPIError", kubeconfig=interposed)
    assert "/os-hypervisors/detail: HTTP 500" in said.message
    assert cluster.phases(bench.pool(unmapped)) == {NODE: "Pending"}


@pytest.mark.case("C15")
def test_active_node_is_never_checked_again(bench: benches.Bench, settled: str, interposed: pathlib.Path) -> None:
    bench.expect(settled, "ServicesReady", "True ServicesUp", kubeconfig=interposed)
    asked = [one for one in bench.interposer.take_requests() if "/os-hypervisors" in one or "/servers" in one]
    assert asked == []


@pytest.mark.case("C3")
@event("ComputeServiceDeleted")
def test_provider_that_outlives_its_service_is_left_with_its_allocations(
    bench: benches.Bench, interposed: pathlib.Path
) -> None:
    node = benches.OTHER_NODE
    name, selector = bench.new_pool(node)
    bench.settle(name, node)
    provider = bench.cloud.providers()[node]
    bench.undo.callback(forget_allocation, bench, provider)
    project = {"project_id": str(uuid.uuid4()), "user_id": str(uuid.uuid4()), "consumer_type": "SOMEBODY"}
    wanted = {"allocations": {provider: {"resources": {"VCPU": 1}}}, "consumer_generation": None, **project}
    bench.cloud._call("placement", "PUT", f"/allocations/{CONSUMER}", wanted, microversion="1.39")

    bench.cluster.set_labels(node, dict.fromkeys(selector))
    bench.interposer.take_requests()
    for _ in range(2):
        bench.run(name, kubeconfig=interposed)
        bench.wait_observed(name)
    bench.wait_no_pod(name, node)
    ended = bench.run(name, kubeconfig=interposed)
    assert cluster.phases(bench.pool(name)) == {}
    assert node not in bench.cloud.services()
    assert [one["type"] for one in bench.events(name, "ComputeServiceDeleted")] == ["Normal"]
    # Nova says 204 and leaves the provider, which somebody's allocation holds; that is for a person to look at.
    assert [one.message for one in ended.warnings] == [drain.leftover(node, provider)]
    assert bench.cloud.providers()[node] == provider
    left = bench.cloud._call("placement", "GET", f"/allocations/{CONSUMER}", microversion="1.39")["allocations"]
    assert left[provider]["resources"] == {"VCPU": 1}
    asked = [one for one in bench.interposer.take_requests() if "/allocations" in one or "/resource_providers" in one]
    assert [one.partition(" ")[0] for one in asked] == ["GET"]


CONSUMER = "11111111-2222-4333-8444-555555555555"


def forget_allocation(bench: benches.Bench, provider: str) -> None:
    """Take the allocation away, and a provider that no compute has any more."""
    bench.cloud._call("placement", "DELETE", f"/allocations/{CONSUMER}", microversion="1.39")
    if benches.OTHER_NODE not in bench.cloud.services():
        bench.cloud._call("placement", "DELETE", f"/resource_providers/{provider}", microversion="1.39")


@condition("ServicesReady", "PodListError")
def test_pods_that_may_not_be_listed_keep_the_node_releasing(bench: benches.Bench, crowd: tuple[str, ...]) -> None:
    name, selector = bench.new_pool(crowd[0])
    bench.run(name)
    bench.wait_pod(name, crowd[0])
    bench.cluster.set_labels(crowd[0], dict.fromkeys(selector))
    bench.run(name)
    assert cluster.phases(bench.pool(name)) == {crowd[0]: "Releasing"}
    account = bench.account("without-pods", "pods")
    # This pass takes the node's pod away, and the next one may not see that it is gone.
    bench.run(name, kubeconfig=account)
    bench.wait_no_pod(name, crowd[0])
    said = bench.expect(name, "ServicesReady", "False PodListError", kubeconfig=account)
    assert f"GET {objects.NAMESPACED}/pods: HTTP 403" in said.message
    # The failure would look again after 30 seconds, the node that is being released after 10.
    assert said.look == 10
    assert cluster.phases(bench.pool(name)) == {crowd[0]: "Releasing"}
    bench.expect(name, "ServicesReady", "True ServicesUp")
    assert cluster.phases(bench.pool(name)) == {}
