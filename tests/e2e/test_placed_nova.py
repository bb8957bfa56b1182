# SPDX-License-Identifier: Apache-2.0
"""A Nova that lives in another cluster is reached through that cluster's API server, whatever a pool needs of it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from e2e.world import placed, stand
from e2e.world import world as worlds


@pytest.fixture(scope="module")
def edge(the_stand: stand.Stand, log_folder: pathlib.Path) -> Iterator[placed.Target]:
    with placed.opened(the_stand, log_folder / "target-of-a-nova.log") as found:
        found.register()
        found.mirror_contract()
        yield found


@pytest.fixture(scope="module")
def nova(the_stand: stand.Stand, edge: placed.Target) -> Iterator[str]:
    name = edge.place_nova()
    yield name
    the_stand.cluster.delete("Nova", name)
    for deployment in (name, "keystone", "placement"):
        edge.cluster.delete("Deployment", deployment)


@pytest.mark.parametrize("pool_is_there_too", [True, False], ids=["pool-beside-it", "pool-elsewhere"])
def test_pool_of_a_placed_nova_comes_up_and_drains(
    world: worlds.World, edge: placed.Target, nova: str, *, pool_is_there_too: bool
) -> None:
    node = placed.NODE if pool_is_there_too else stand.NODES[0]
    selector = world.selector()
    nodes = edge.cluster if pool_is_there_too else world.cluster
    world.undo.callback(nodes.set_labels, node, dict.fromkeys(selector))
    nodes.set_labels(node, dict(selector))
    where = {"targetClusterRef": {"name": placed.NAME}} if pool_is_there_too else {}
    name, _ = world.new_pool(nova=nova, nodeSelector=selector, **where)
    world.wait_settled(name, node)

    # The discovery Job is the Nova's: it ran where the Nova lives.
    job = edge.cluster.read("Job", f"{nova}-discover-hosts")
    labels = dict(zip(placed.OWNER_LABELS, ("Nova", nova, "openstack"), strict=True))
    assert labels.items() <= job["metadata"]["labels"].items()
    assert "ownerReferences" not in job["metadata"]
    assert world.cluster.get("Job", f"{nova}-discover-hosts") is None

    server = world.boot(node)
    nodes.set_labels(node, dict.fromkeys(selector))
    world.wait_draining(name, node, 1)
    world.delete_server(server)
    world.wait_dropped(name, node)
    # The token, the disabled service, the deleted service: each verb has its own right there.
    assert edge.proxied() == {"create", "update", "delete"}

    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert (world.cloud.services(), world.cloud.aggregates()) == ({}, {})
    edge.cluster.delete("Job", f"{nova}-discover-hosts")
    edge.mirror_contract()
