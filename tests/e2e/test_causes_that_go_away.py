# SPDX-License-Identifier: Apache-2.0
"""What a pool waits for, it names; when the cause goes it heals by itself, and nothing is lost meanwhile."""

from __future__ import annotations

import base64
import copy
from typing import Any

from e2e.world import cluster, pools, stand
from e2e.world import world as worlds

NODE = "compute-1"
LATE_NOVA = "late-nova"


def copy_of(item: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under another name, without what the API server filled in."""
    made = {key: copy.deepcopy(value) for key, value in item.items() if key not in ("status", "metadata")}
    made["metadata"] = {"name": name, "namespace": cluster.NAMESPACE}
    return made


def test_pool_applied_before_its_nova_names_each_missing_part_and_joins_when_it_is_there(world: worlds.World) -> None:
    name, _ = world.new_pool(NODE, novaRef={"name": LATE_NOVA})
    world.wait_verdict(name, "NovaReady", "False NovaNotFound")
    assert world.cluster.children(name) == []

    nova = world.cluster.read("Nova", stand.NOVA)
    late = copy_of(nova, LATE_NOVA)
    late["spec"]["serviceUser"]["secretRef"]["name"] = "late-user"
    # The API of the late Nova is that of the real one; its Deployment only says what the discovery Job runs.
    service = copy_of(world.cluster.read("Service", stand.NOVA), LATE_NOVA)
    service["spec"] = {"selector": service["spec"]["selector"], "ports": service["spec"]["ports"]}
    deployment = copy_of(world.cluster.read("Deployment", stand.NOVA), LATE_NOVA)
    deployment["spec"]["replicas"] = 0
    world.make(service)
    world.make(deployment)
    world.make(late)
    world.wait_verdict(name, "NovaReady", "False WaitingForInstalledRelease")

    status = {"installedRelease": nova["status"]["installedRelease"]}
    world.cluster.patch("Nova", LATE_NOVA, {"status": status}, subresource="status")
    world.wait_verdict(name, "NovaReady", "False ComputeConfigNotPublished")

    status["computeConfigSecretRef"] = nova["status"]["computeConfigSecretRef"]
    world.cluster.patch("Nova", LATE_NOVA, {"status": status}, subresource="status")
    waits = world.wait_verdict(name, "NovaReady", "False WaitingForServiceUserSecret")
    assert "late-user" in waits["message"]
    assert world.cluster.children(name) == []

    reference = nova["spec"]["serviceUser"]["secretRef"]["name"]
    world.make(copy_of(world.cluster.read("Secret", reference), "late-user"))
    world.wait_settled(name, NODE)


def test_selector_that_matches_nothing_says_so_and_takes_the_first_node_that_it_matches(world: worlds.World) -> None:
    name, selector = world.new_pool()
    world.wait_verdict(name, "NodesReady", "False NoMatchingNodes")
    assert world.cluster.pods(name) == []

    world.label(NODE, selector)
    world.wait_settled(name, NODE)


def test_contract_without_transport_url_is_named_and_stops_nothing_that_runs(world: worlds.World) -> None:
    name, _ = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    children = world.cluster.children(name)
    pods = [pod["metadata"]["uid"] for pod in world.cluster.pods(name)]
    contract = world.cluster.read("Nova", stand.NOVA)["status"]["computeConfigSecretRef"]["name"]
    url = world.cluster.read("Secret", contract)["data"]["transport_url"]
    world.undo.callback(world.cluster.patch, "Secret", contract, {"data": {"transport_url": url}})

    world.cluster.patch("Secret", contract, {"data": {"transport_url": None}})
    incomplete = world.wait_verdict(name, "ConfigReady", "False ComputeConfigIncomplete")
    assert "transport_url" in incomplete["message"]
    pool = world.wait_verdict(name, "Ready", "False NotAllReady")
    world.wait_passes(name, 2)
    assert world.cluster.children(name) == children
    assert [pod["metadata"]["uid"] for pod in world.cluster.pods(name)] == pods
    pool = world.cluster.read("NovaCompute", name)
    assert cluster.phases(pool) == {NODE: "Active"}
    assert world.cloud.services()[NODE]["status"] == "enabled"

    world.cluster.patch("Secret", contract, {"data": {"transport_url": url}})
    world.wait_settled(name, NODE)
    # The restored contract is the one of before: no pod had to start anew for it.
    assert [pod["metadata"]["uid"] for pod in world.cluster.pods(name)] == pods


def test_password_of_the_broker_is_in_no_condition_event_or_log(world: worlds.World) -> None:
    name, _ = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    contract = world.cluster.read("Nova", stand.NOVA)["status"]["computeConfigSecretRef"]["name"]
    data = world.cluster.read("Secret", contract)["data"]
    secrets = [base64.b64decode(data[key]).decode() for key in ("transport_url", "password")]
    told = (
        str(world.cluster.read("NovaCompute", name)) + str(world.cluster.events(name)) + world.operator.log.read_text()
    )
    assert [secret for secret in secrets if secret in told] == []


def test_nova_that_stops_in_the_middle_of_a_drain_is_named_and_the_drain_goes_on_when_it_is_back(
    world: worlds.World,
) -> None:
    name, selector = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    server = world.boot(NODE)
    world.unlabel(NODE, selector)
    world.wait_draining(name, NODE, 1)

    world.stand.stop_part("nova-api")
    failed = world.wait_verdict(name, "ServicesReady", "False ComputeAPIError")
    assert "/os-services: HTTP 503" in failed["message"]
    world.wait_passes(name, 2)
    entry = cluster.ledger(world.cluster.read("NovaCompute", name))[NODE]
    assert (entry["phase"], entry["instances"], entry["serviceStatus"]) == ("Draining", 1, "disabled")
    assert len(world.pods_on(name, NODE)) == 1

    world.stand.start_stopped_parts()
    world.wait_verdict(name, "ServicesReady", "True Draining")
    assert world.cloud.server(server)["status"] == "ACTIVE"
    world.delete_server(server)
    world.wait_dropped(name, NODE)
    assert world.cloud.services() == {}


def test_deletion_is_held_while_nova_is_away_and_completed_when_it_is_back(world: worlds.World) -> None:
    name, _ = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    world.stand.stop_part("nova-api")
    world.cluster.delete("NovaCompute", name)
    world.wait_pool(
        name,
        "a condition reads False ComputeAPIError",
        lambda seen: "False ComputeAPIError" in [cluster.verdict(seen, one) for one in cluster.conditions(seen)],
    )
    world.wait_passes(name, 1)
    pool = world.cluster.read("NovaCompute", name)
    assert cluster.DRAIN_FINALIZER in pool["metadata"]["finalizers"]
    assert cluster.phases(pool) == {NODE: "Draining"}

    world.stand.start_stopped_parts()
    world.wait_gone(name)
    assert (world.cloud.services(), world.cloud.aggregates(), world.stand.host_mappings()) == ({}, {}, set())


def test_pool_of_a_nova_that_is_not_there_can_be_deleted(world: worlds.World) -> None:
    name = world.apply(pools.manifest("pool-of-no-nova", world.selector(), nova="no-such-nova"))
    world.wait_verdict(name, "NovaReady", "False NovaNotFound")
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
