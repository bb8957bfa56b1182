# SPDX-License-Identifier: Apache-2.0
"""Two pools that select the same node: one holds it, the other says who, and a handover disturbs nobody."""

from __future__ import annotations

import pytest
from e2e.world import cluster, pools
from e2e.world import world as worlds

NODE = "compute-1"


@pytest.fixture
def pair(world: worlds.World) -> tuple[str, str, dict[str, str]]:
    """A settled pool that holds the node, a younger one that selects it too, and the label of the older one."""
    older, selector = world.new_pool(NODE)
    world.wait_settled(older, NODE)
    younger, _ = world.new_pool(NODE)
    world.wait_verdict(younger, "NodesReady", "False NodeConflict")
    return older, younger, selector


def test_conflict_names_the_node_and_its_holder_and_runs_no_pod(
    world: worlds.World, pair: tuple[str, str, dict[str, str]]
) -> None:
    older, younger, _ = pair
    conflict = world.wait_verdict(younger, "NodesReady", "False NodeConflict")
    assert f"{NODE} (held by {older})" in conflict["message"]
    world.wait_passes(younger, 2)
    assert cluster.ledger(world.cluster.read("NovaCompute", younger)) == {
        NODE: {"name": NODE, "phase": "Conflict", "zone": "az1", "conflictsWith": older}
    }
    assert world.cluster.pods(younger) == []
    assert world.reasons(younger).count("NodeConflict") == 1
    assert cluster.phases(world.cluster.read("NovaCompute", older)) == {NODE: "Active"}


def test_handover_keeps_the_service_enabled_and_the_server_running(
    world: worlds.World, pair: tuple[str, str, dict[str, str]]
) -> None:
    older, younger, selector = pair
    server = world.boot(NODE)
    service = world.cloud.services()[NODE]["id"]

    world.unlabel(NODE, selector)
    world.wait_dropped(older, NODE)
    world.wait_settled(younger, NODE)
    after = world.cloud.services()[NODE]
    assert (after["id"], after["status"]) == (service, "enabled")
    assert world.cloud.server(server)["status"] == "ACTIVE"
    assert (world.witness.hosts("disabled"), world.witness.hosts("deleted")) == ([], [])
    assert len(world.pods_on(younger, NODE)) == 1


def test_deleting_the_holder_hands_its_node_over(world: worlds.World, pair: tuple[str, str, dict[str, str]]) -> None:
    older, younger, _ = pair
    world.cluster.delete("NovaCompute", older)
    world.wait_gone(older)
    world.wait_settled(younger, NODE)
    assert world.cloud.services()[NODE]["status"] == "enabled"
    assert (world.witness.hosts("disabled"), world.witness.hosts("deleted")) == ([], [])
    assert set(world.cloud.aggregates()) == {"az1", "tenant_filter_tests"}


def test_pools_of_different_selectors_share_the_aggregates_until_the_last_one_goes(world: worlds.World) -> None:
    first, _ = world.new_pool("compute-1")
    second, _ = world.new_pool("compute-2")
    world.wait_settled(first, "compute-1")
    world.wait_settled(second, "compute-2")
    world.cluster.delete("NovaCompute", first)
    world.wait_gone(first)
    assert set(world.cloud.aggregates()) == {"az1", "tenant_filter_tests"}
    assert set(world.cloud.services()) == {"compute-2"}
    world.cluster.delete("NovaCompute", second)
    world.wait_gone(second)
    assert world.cloud.aggregates() == {}


def test_pool_under_another_name_is_refused_another_nova(world: worlds.World) -> None:
    name, selector = world.new_pool()
    with pytest.raises(cluster.RefusedError, match="novaRef is immutable"):
        world.apply(pools.manifest(name, selector, nova="another-nova"))
