# SPDX-License-Identifier: Apache-2.0
"""What no pool ever does, seen on the live thing: by a witness in Nova's databases and by the servers' own logs.

That no service was ever enabled and no host ever put into an aggregate is asserted after each test of this folder; here
stand the promises that need a life led for them.
"""

from __future__ import annotations

import datetime as dt

import pytest
from e2e.world import cluster, stand, writes
from e2e.world import world as worlds

NODE = "compute-1"


@pytest.mark.case("C8")
def test_service_is_deleted_only_after_its_pod_is_gone(world: worlds.World) -> None:
    name, selector = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    world.unlabel(NODE, selector)
    world.wait_dropped(name, NODE)

    deletes = [
        request.at
        for request in writes.requests(world.stand, stand.NOVA)
        if request.method == "DELETE" and "/os-services/" in request.path and request.status == 204
    ]
    last_pod_gone = max(_ends_of_pods(world, name))
    assert len(world.witness.hosts("deleted")) == 1
    assert last_pod_gone < deletes[-1]
    assert "create" not in _pod_verbs_after(world, name, last_pod_gone)


def test_drain_disables_the_service_once_and_leaves_a_service_alone_that_a_person_enables(world: worlds.World) -> None:
    name, selector = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    server = world.boot(NODE)
    world.unlabel(NODE, selector)
    world.wait_draining(name, NODE, 1)
    world.wait_passes(name, 2)
    assert world.witness.hosts("disabled") == [NODE]

    world.enable_service(NODE)
    world.wait_passes(name, 2)
    assert world.witness.hosts("disabled") == [NODE]
    assert world.cloud.services()[NODE]["status"] == "enabled"
    world.delete_server(server)
    world.wait_dropped(name, NODE)


def test_node_selected_again_while_draining_is_active_with_its_service_still_disabled(world: worlds.World) -> None:
    name, selector = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    world.boot(NODE)
    service = world.cloud.services()[NODE]["id"]
    world.unlabel(NODE, selector)
    world.wait_draining(name, NODE, 1)

    world.cluster.set_labels(NODE, selector)
    world.wait_pool(name, f"{NODE} is Active", lambda seen: cluster.phases(seen) == {NODE: "Active"})
    world.wait_passes(name, 2)
    after = world.cloud.services()[NODE]
    assert (after["id"], after["status"]) == (service, "disabled")
    assert after["disabled_reason"] == f"c5c3.io: leaving NovaCompute openstack/{name}"
    assert world.witness.hosts("deleted") == []


def test_reason_of_a_service_that_somebody_else_disabled_is_kept(world: worlds.World) -> None:
    name, selector = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    server = world.boot(NODE)
    world.stand.output(
        *("openstack", "compute", "service", "set", "--disable", "--disable-reason", "a person's reason"),
        *(NODE, "nova-compute"),
    )
    world.unlabel(NODE, selector)
    world.wait_draining(name, NODE, 1)
    assert world.cloud.services()[NODE]["disabled_reason"] == "a person's reason"
    assert "ComputeServiceDisabled" not in world.reasons(name)
    world.delete_server(server)
    world.wait_dropped(name, NODE)


@pytest.mark.parametrize("metadata", [{}, {"filter_tenant_id": "somebody"}], ids=["its own", "with foreign metadata"])
def test_marked_aggregate_that_no_pool_needs_goes_unless_somebody_wrote_into_it(
    world: worlds.World, metadata: dict[str, str]
) -> None:
    name, _ = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    for key, value in metadata.items():
        world.stand.output("openstack", "aggregate", "set", "--property", f"{key}={value}", "az1")
    world.undo.callback(_delete_aggregates, world)
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert set(world.cloud.aggregates()) == ({"az1"} if metadata else set())
    assert ("AggregateKept" in world.reasons(name)) == bool(metadata)


def _delete_aggregates(world: worlds.World) -> None:
    for aggregate in world.cloud.aggregates():
        world.stand.output("openstack", "aggregate", "delete", aggregate)


def _ends_of_pods(world: worlds.World, pool: str) -> list[dt.datetime]:
    """When the node's kubelet removed each pod of a pool of one node for good: its processes have ended by then."""
    return [
        dt.datetime.fromisoformat(entry["stageTimestamp"])
        for entry in writes.audit_entries(world.stand)
        if entry["verb"] == "delete"
        and _is_pod_of(pool, entry)
        and "controller" not in entry["userAgent"]
        and entry["responseStatus"].get("code") == 200
    ]


def _pod_verbs_after(world: worlds.World, pool: str, moment: dt.datetime) -> list[str]:
    return [
        entry["verb"]
        for entry in writes.audit_entries(world.stand)
        if _is_pod_of(pool, entry) and dt.datetime.fromisoformat(entry["stageTimestamp"]) > moment
    ]


def _is_pod_of(pool: str, entry: dict[str, dict[str, str]]) -> bool:
    about = entry.get("objectRef") or {}
    return about.get("resource") == "pods" and about.get("name", "").startswith(f"{pool}-nova-compute-")
