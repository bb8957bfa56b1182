# SPDX-License-Identifier: Apache-2.0
"""An operator of one namespace: the Role of the chart is enough for pools on target clusters, and it sees no other."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
import yaml
from e2e.conditions import objects
from e2e.world import cluster, installed, placed, pools, rights
from e2e.world import world as worlds
from novalab import targets

VALUES = {
    "rbac": {"namespaceScoped": True},
    "webhook": {"enabled": False},
    "extraArgs": [f"--clusters-namespace={cluster.NAMESPACE}"],
}
STAYING, DRAINED = placed.NODE, placed.OTHER_NODE
#: What belongs to the cluster, the watch of Nodes asks for once; the answer, which is no, is final.
ASKED_IN_VAIN = {"list /api/v1/nodes"}


@pytest.fixture
def home(world: worlds.World, edge: placed.Target) -> placed.Target:
    """The target cluster, registered in the namespace of the release and nowhere else."""
    world.undo.callback(edge.register)
    edge.withdraw()
    kubeconfig = yaml.safe_dump(targets.kubeconfig(edge.lab))
    world.make(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": edge.name,
                "namespace": cluster.NAMESPACE,
                "labels": {targets.REGISTRATION_LABEL: "true"},
            },
            "data": {"kubeconfig": targets.encoded(kubeconfig.encode())},
        }
    )
    return edge


class Stranger:
    """A pool of another namespace."""

    def __init__(self, there: objects.Objects) -> None:
        self.namespace = f"elsewhere-{uuid.uuid4().hex[:8]}"
        self._there = there
        self._path = f"/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/{self.namespace}/novacomputes"

    def make(self, selector: dict[str, str], **spec: object) -> None:
        """Make it, in a new namespace."""
        self._there.call("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        manifest = pools.manifest("stranger", selector, **spec)
        manifest["metadata"]["namespace"] = self.namespace
        self._there.call("POST", self._path, manifest)

    def read(self) -> cluster.Object:
        return self._there.call("GET", f"{self._path}/stranger")

    def remove(self) -> None:
        self._there.remove(f"/api/v1/namespaces/{self.namespace}")


@pytest.fixture
def stranger(world: worlds.World) -> Iterator[Stranger]:
    """A pool of another namespace, to be made."""
    one = Stranger(objects.Objects(world.stand.lab.kubeconfig))
    yield one
    one.remove()


def test_a_placed_pool_lives_and_goes_by_the_rights_of_one_namespace(
    world: worlds.World, operator: installed.InstalledOperator, home: placed.Target, stranger: Stranger
) -> None:
    operator.start(**VALUES)
    home.calls()
    selector = world.selector()
    stranger.make(selector, targetClusterRef={"name": home.name})
    before = stranger.read()

    for node in (STAYING, DRAINED):
        world.undo.callback(home.cluster.set_labels, node, dict.fromkeys(selector))
        home.cluster.set_labels(node, dict(selector))
    name, _ = world.new_pool(selector=selector, targetClusterRef={"name": home.name})
    world.wait_settled(name, STAYING, DRAINED)
    server = world.boot(DRAINED)
    home.cluster.set_labels(DRAINED, dict.fromkeys(selector))
    world.wait_draining(name, DRAINED, 1)
    world.delete_server(server)
    world.wait_dropped(name, DRAINED)
    assert set(world.cloud.services()) == {STAYING}
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert (home.children(name), world.cloud.services(), world.cloud.aggregates()) == ([], {}, {})

    assert stranger.read() == before
    assert stranger.namespace not in operator.log.read_text()
    assert namespaces(operator) == {cluster.NAMESPACE}
    assert {call.partition("?")[0] for call in operator.refused()} == ASKED_IN_VAIN
    assert rights.refused(home.calls()) == []
    assert operator.used() <= operator.granted()


def namespaces(operator: installed.InstalledOperator) -> set[str]:
    """Where the operator's calls went, other than in vain; empty: to the whole cluster."""
    return {
        entry["objectRef"].get("namespace", "")
        for entry in operator.calls()
        if "objectRef" in entry and not rights.refused([entry])
    }


def test_it_may_not_list_nodes_and_a_pool_of_its_own_cluster_says_so(
    world: worlds.World, operator: installed.InstalledOperator
) -> None:
    operator.start(**VALUES)
    name, _ = world.new_pool()
    world.wait_verdict(name, "NodesReady", "False NodesForbidden")
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert {call.partition("?")[0] for call in operator.refused()} == ASKED_IN_VAIN
    assert operator.used() <= operator.granted()
