# SPDX-License-Identifier: Apache-2.0
"""The operator's rights on a target cluster: what it does with them, what it says without, and that it needs all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from e2e.conditions import hypervisors as stand_ins
from e2e.conditions import objects
from e2e.test_by_hand import play
from e2e.world import cluster, placed, rights
from e2e.world import world as worlds
from novalab import crds

TRAIT = "CUSTOM_PLACED"
VPAS = f"/apis/autoscaling.k8s.io/v1/namespaces/{cluster.NAMESPACE}/verticalpodautoscalers"

#: Rights that these lives of two pools have no use for, and what uses them.
OTHERWISE_USED = {
    **rights.OTHERWISE_USED,
    ("autoscaling.k8s.io", "verticalpodautoscalers", "create"): "an apply that makes the object, noted as a patch",
    ("kvm.cloud.sap", "hypervisors", "list"): "pools of many nodes",
}


@pytest.fixture
def there(edge: placed.Target) -> objects.Objects:
    """The target cluster, with calls by path."""
    return objects.Objects(edge.lab.kubeconfig)


@pytest.fixture
def install(world: worlds.World, edge: placed.Target) -> Callable[..., None]:
    """Installs a set of kinds until the test ends: on the management cluster, or on the target."""

    def installed(which: str, *, on_target: bool) -> None:
        lab = edge.lab if on_target else world.stand.lab
        world.undo.callback(crds.remove, lab, which)
        crds.install(lab, which)

    return installed


def test_traits_are_written_into_the_hypervisors_of_the_pools_cluster(
    world: worlds.World, edge: placed.Target, there: objects.Objects, install: Callable[..., None]
) -> None:
    # It is the pool's cluster that counts: the management cluster has the kind from the start.
    install("hypervisors", on_target=False)
    name, _ = world.new_placed_pool(edge, placed.NODE, traits=[TRAIT])
    world.wait_verdict(name, "TraitsReady", "False HypervisorOperatorNotInstalled")
    install("hypervisors", on_target=True)
    world.wait("Hypervisors are served", lambda: there.is_there(stand_ins.PATH))
    hypervisors = stand_ins.Hypervisors(there)
    hypervisors.make(placed.NODE)
    world.wait_verdict(name, "TraitsReady", "True WaitingForHypervisorOperator")
    assert hypervisors.spec(placed.NODE)["customTraits"] == [TRAIT]
    hypervisors.report(placed.NODE, [TRAIT])
    world.wait_verdict(name, "TraitsReady", "True TraitsApplied")
    world.wait_settled(name, placed.NODE)

    with edge.without("5-hypervisor-traits.yaml"):
        said = world.wait_verdict(name, "TraitsReady", "False HypervisorsForbidden")
        assert f"GET {stand_ins.PATH}/{placed.NODE}: HTTP 403" in said["message"]
        pool = world.cluster.read("NovaCompute", name)
        assert cluster.verdict(pool, "ServicesReady") == "True ServicesUp"
    world.wait_settled(name, placed.NODE)

    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert world.reasons(name).count("TraitDeleted") == 1


def test_vpa_lies_beside_the_pods_and_goes_with_the_pool(
    world: worlds.World, edge: placed.Target, there: objects.Objects, install: Callable[..., None]
) -> None:
    install("vpa", on_target=False)
    name, _ = world.new_placed_pool(edge, verticalAutoscaling={"updateMode": "Off"})
    world.wait_verdict(name, "VPAReady", "False VPANotInstalled")
    install("vpa", on_target=True)
    world.wait_verdict(name, "VPAReady", "True VPAReady")
    metadata = there.call("GET", f"{VPAS}/{name}-nova-compute")["metadata"]
    owner = dict(zip(placed.OWNER_LABELS, ("NovaCompute", name, cluster.NAMESPACE), strict=True))
    assert owner.items() <= metadata["labels"].items()
    assert "ownerReferences" not in metadata

    with edge.without_rights_to("verticalpodautoscalers"):
        said = world.wait_verdict(name, "VPAReady", "False VPAError")
        assert "HTTP 403" in said["message"]
    world.wait_verdict(name, "VPAReady", "True VPAReady")

    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert there.call("GET", VPAS)["items"] == []


def test_cluster_whose_nodes_may_not_be_read_is_named(world: worlds.World, edge: placed.Target) -> None:
    with edge.without("2-nodes.yaml"):
        name, _ = world.new_placed_pool(edge)
        said = world.wait_verdict(name, "NodesReady", "False NodesForbidden")
        assert "HTTP 403" in said["message"]
        assert edge.children(name) == []
    world.wait_verdict(name, "NodesReady", "False NoMatchingNodes")


def test_a_pool_beside_its_nova_and_one_away_from_it_use_every_right_and_lack_none(
    world: worlds.World, edge: placed.Target, there: objects.Objects, install: Callable[..., None]
) -> None:
    for kinds in ("hypervisors", "vpa"):
        install(kinds, on_target=True)
    world.wait("Hypervisors are served", lambda: there.is_there(stand_ins.PATH))
    hypervisors = stand_ins.Hypervisors(there)
    hypervisors.make(placed.NODE)
    world.undo.callback(edge.remove_nova)
    nova = edge.place_nova()
    edge.calls()

    spec = {"traits": [TRAIT], "verticalAutoscaling": {"updateMode": "Off"}}
    name, selector = world.new_placed_pool(edge, placed.NODE, nova=nova, **spec)
    world.wait_verdict(name, "TraitsReady", "True WaitingForHypervisorOperator")
    hypervisors.report(placed.NODE, [TRAIT])
    world.wait_settled(name, placed.NODE)
    server = world.boot(placed.NODE)
    edge.cluster.set_labels(placed.NODE, dict.fromkeys(selector))
    world.wait_draining(name, placed.NODE, 1)
    explained = play(world, "explain_drain", name)
    assert explained.returncode == 0, explained.stdout
    world.delete_server(server)
    world.wait_dropped(name, placed.NODE)
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)

    # What is there of a Nova that lives elsewhere is a mirror, and goes with the last pool.
    away, _ = world.new_placed_pool(edge)
    world.wait_verdict(away, "NodesReady", "False NoMatchingNodes")
    world.cluster.delete("NovaCompute", away)
    world.wait_gone(away)
    assert "ComputeConfigMirrorReaped" in world.reasons(away)

    calls = edge.calls()
    assert rights.refused(calls) == []
    assert edge.granted() - rights.used(calls) - rights.BY_THE_MOMENT == set(OTHERWISE_USED) - rights.BY_THE_MOMENT
    assert rights.used(calls) <= edge.granted()
