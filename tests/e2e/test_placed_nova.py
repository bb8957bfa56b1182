# SPDX-License-Identifier: Apache-2.0
"""A Nova that lives in another cluster is reached through that cluster's API server, wherever its pools are."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from e2e.world import cluster, placed, stand
from e2e.world import world as worlds
from novalab import targets


@pytest.fixture(scope="module")
def west(the_stand: stand.Stand, log_folder: pathlib.Path) -> Iterator[placed.Target]:
    """A second target cluster, where no Nova is."""
    with placed.opened(the_stand, log_folder / "west.log", name=targets.NAMES[1]) as found:
        yield found


@pytest.fixture(scope="module")
def nova(the_target: placed.Target) -> Iterator[str]:
    """A Nova on the first target cluster."""
    yield the_target.place_nova()
    the_target.remove_nova()


def expect_a_life(world: worlds.World, nova: str, edge: placed.Target, nodes: cluster.Cluster, name: str) -> None:
    """Expect the pool of one node to come up, to drain it, and to go, by a Nova that lives on the edge.

    ``nodes`` is the cluster of the pool's node.
    """
    edge.proxied()
    (selector,) = world.cluster.read("NovaCompute", name)["spec"]["nodeSelector"].items()
    (node,) = [item["metadata"]["name"] for item in nodes.all("Node", labels=dict([selector]))]
    world.wait_settled(name, node)

    # The discovery Job is the Nova's: it ran where the Nova lives.
    job = edge.cluster.read("Job", f"{nova}-discover-hosts")
    labels = dict(zip(placed.OWNER_LABELS, ("Nova", nova, cluster.NAMESPACE), strict=True))
    assert labels.items() <= job["metadata"]["labels"].items()
    assert "ownerReferences" not in job["metadata"]
    assert world.cluster.get("Job", f"{nova}-discover-hosts") is None

    server = world.boot(node)
    nodes.set_labels(node, {selector[0]: None})
    world.wait_draining(name, node, 1)
    world.delete_server(server)
    world.wait_dropped(name, node)
    # The token, the disabled service, the deleted service: each verb has its own right there.
    assert edge.proxied() == {"create", "update", "delete"}

    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert (world.cloud.services(), world.cloud.aggregates()) == ({}, {})
    edge.cluster.delete("Job", f"{nova}-discover-hosts")


def test_pool_beside_a_placed_nova_comes_up_and_drains(world: worlds.World, edge: placed.Target, nova: str) -> None:
    name, _ = world.new_placed_pool(edge, placed.NODE, nova=nova)
    expect_a_life(world, nova, edge, edge.cluster, name)


def test_pool_of_the_management_cluster_comes_up_and_drains_by_a_placed_nova(
    world: worlds.World, edge: placed.Target, nova: str
) -> None:
    name, _ = world.new_pool(stand.NODES[0], nova=nova)
    expect_a_life(world, nova, edge, world.cluster, name)


def test_pool_and_nova_on_two_target_clusters_meet(
    world: worlds.World, edge: placed.Target, west: placed.Target, nova: str
) -> None:
    west.mirror_contract(nova)
    name, _ = world.new_placed_pool(west, west.nodes[0], nova=nova)
    world.wait_settled(name, west.nodes[0])
    assert [child.partition("/")[0] for child in west.children(name)] == ["ConfigMap", "DaemonSet"]
    assert edge.children(name) == []
    expect_a_life(world, nova, edge, west.cluster, name)
    assert west.children(name) == []
    # Nothing of the Nova was looked for where the pool is, nor taken from where the Nova is.
    assert west.proxied() == set()
    assert west.cluster.get("Secret", f"{nova}-compute-config") is None
    assert edge.cluster.get("Secret", f"{nova}-compute-config") is not None
