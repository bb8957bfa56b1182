# SPDX-License-Identifier: Apache-2.0
"""A pool whose nodes are in another cluster: it lives there with few rights, leaves nothing, and outlives its loss."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from e2e.world import cluster, front, placed, pools, stand
from e2e.world import reader as readers
from e2e.world import world as worlds
from novalab import targets

CHILDREN_FINALIZER = "openstack.c5c3.io/remote-children"


def test_pool_lives_on_its_cluster_and_leaves_nothing_there(world: worlds.World, edge: placed.Target) -> None:
    name, selector = world.new_placed_pool(edge, placed.NODE, placed.OTHER_NODE)
    pool = world.wait_settled(name, placed.NODE, placed.OTHER_NODE)
    assert pool["metadata"]["finalizers"] == [cluster.DRAIN_FINALIZER, CHILDREN_FINALIZER]

    (config,) = [child for child in edge.children(name) if child.startswith("ConfigMap/")]
    assert edge.children(name) == [config, f"DaemonSet/{name}-nova-compute"]
    daemon_set = edge.cluster.read("DaemonSet", f"{name}-nova-compute")
    assert "ownerReferences" not in daemon_set["metadata"]
    assert not set(placed.OWNER_LABELS) & set(daemon_set["spec"]["template"]["metadata"]["labels"])
    assert (world.cluster.children(name), world.cluster.pods(name)) == ([], [])
    assert world.cluster.get("DaemonSet", f"{name}-nova-compute") is None

    server = world.boot(placed.NODE)
    edge.cluster.set_labels(placed.NODE, dict.fromkeys(selector))
    world.wait_draining(name, placed.NODE, 1)
    world.delete_server(server)
    world.wait_dropped(name, placed.NODE)
    assert set(world.cloud.services()) == {placed.OTHER_NODE}

    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert edge.children(name) == []
    assert world.cloud.services() == {}
    assert world.reasons(name).count("ComputeConfigMirrorReaped") == 2
    assert edge.cluster.get("Secret", f"{stand.NOVA}-compute-config") is None
    assert world.cluster.get("Secret", f"{stand.NOVA}-compute-config") is not None


def test_operator_of_every_namespace_hears_of_the_cluster_with_its_few_rights(
    idle_world: worlds.World, edge: placed.Target
) -> None:
    idle_world.operator.start(
        "--namespace=", f"--leader-election-namespace={cluster.NAMESPACE}", "--zap-log-level=debug"
    )
    name, selector = idle_world.new_placed_pool(edge, placed.NODE)

    def wakes(kind: str) -> int:
        # A poll leaves no such line, however soon it comes.
        due = [line for line in idle_world.operator.lines() if line.get("msg") == "Due"]
        return [(line["pool"], line["kind"]) for line in due].count((f"{cluster.NAMESPACE}/{name}", kind))

    idle_world.wait_settled(name, placed.NODE)
    idle_world.wait("the pool was woken by its rollout", lambda: wakes("DaemonSet"))
    before = wakes("Node")
    edge.cluster.set_labels(placed.NODE, dict.fromkeys(selector))
    idle_world.wait("the pool was woken by its Node", lambda: wakes("Node"), lambda now: now > before)
    idle_world.wait_dropped(name, placed.NODE)


def test_pool_whose_owner_took_the_drain_finalizer_away_still_leaves_nothing(
    world: worlds.World, edge: placed.Target
) -> None:
    name, _ = world.new_placed_pool(edge, placed.NODE)
    world.wait_settled(name, placed.NODE)
    world.operator.stop()
    world.cluster.delete("NovaCompute", name)
    world.cluster.patch("NovaCompute", name, {"metadata": {"finalizers": [CHILDREN_FINALIZER]}})
    world.operator.start()
    world.wait_gone(name)
    assert edge.children(name) == []
    assert edge.cluster.get("Secret", f"{stand.NOVA}-compute-config") is None
    # What the escape leaves behind: the compute service and the aggregates, until somebody deletes them.
    assert set(world.cloud.services()) == {placed.NODE}
    world.wait("no pod is left", lambda: edge.cluster.pods(name), lambda pods: not pods)
    world.stand.output("openstack", "compute", "service", "delete", world.cloud.services()[placed.NODE]["id"])
    for aggregate in world.cloud.aggregates():
        world.stand.output("openstack", "aggregate", "delete", aggregate)


def test_object_of_somebody_else_under_a_childs_name_is_left_as_it_is(world: worlds.World, edge: placed.Target) -> None:
    selector = world.selector()
    name = f"foreign-{next(iter(selector)).rpartition('/')[2]}"
    template = {
        "metadata": {"labels": {"app": "foreign"}},
        "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "i"}]},
    }
    foreign = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": f"{name}-nova-compute", "namespace": cluster.NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": "foreign"}}, "template": template},
    }
    world.undo.callback(edge.cluster.delete, "DaemonSet", foreign["metadata"]["name"])
    before = edge.cluster.create(foreign)
    world.apply(pools.manifest(name, selector, targetClusterRef={"name": edge.name}))
    said = world.wait_verdict(name, "DaemonSetReady", "False DaemonSetError")
    assert "does not belong to NovaCompute" in said["message"]
    world.wait_passes(name, 1)
    after = edge.cluster.read("DaemonSet", f"{name}-nova-compute")
    assert after["spec"] == before["spec"]
    assert "labels" not in after["metadata"]
    # A deleted pool does not sweep it either.
    edge.cluster.delete("DaemonSet", f"{name}-nova-compute")
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)


def test_registration_that_asks_for_a_program_runs_nothing_and_holds_nothing(
    world: worlds.World, edge: placed.Target, tmp_path: pathlib.Path
) -> None:
    trap = tmp_path / "ran"
    document = targets.kubeconfig(edge.lab)
    document["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "touch",
            "args": [str(trap)],
            "interactiveMode": "Never",
        }
    }
    edge.register(kubeconfig=yaml.safe_dump(document))
    name, _ = world.new_placed_pool(edge, placed.NODE)
    said = world.wait_verdict(name, "NovaReady", "False TargetClusterUnavailable")
    assert "the user 'nova-compute-operator' of its kubeconfig runs a program (exec)" in said["message"]
    world.wait_passes(name, 1)
    assert "finalizers" not in world.cluster.read("NovaCompute", name)["metadata"]
    assert edge.children(name) == []
    assert not trap.exists()

    edge.register()
    world.wait_settled(name, placed.NODE)


@pytest.mark.event("RemoteChildrenAbandoned")
def test_cluster_that_stays_away_does_not_hold_a_deletion_for_ever(world: worlds.World, edge: placed.Target) -> None:
    name, selector = world.new_placed_pool(edge, placed.NODE)
    world.wait_settled(name, placed.NODE)
    with edge.hanging():
        world.cluster.delete("NovaCompute", name)
        said = world.wait_verdict(name, "NovaReady", "False TargetClusterUnavailable")
        assert "not answered in time" in said["message"]
        world.wait_gone(name)
    assert "RemoteChildrenAbandoned" in world.reasons(name)
    assert len(edge.children(name)) == 2
    assert set(world.cloud.services()) == {placed.NODE}

    # A pool of that name takes over what was given up, and drains it in order.
    world.apply(pools.manifest(name, selector, targetClusterRef={"name": edge.name}))
    world.wait_settled(name, placed.NODE)
    world.cluster.delete("NovaCompute", name)
    world.wait_gone(name)
    assert edge.children(name) == []
    assert world.cloud.services() == {}


def test_cluster_that_returns_before_it_is_given_up_is_drained_in_order(
    world: worlds.World, edge: placed.Target
) -> None:
    name, _ = world.new_placed_pool(edge, placed.NODE)
    world.wait_settled(name, placed.NODE)
    with edge.hanging():
        world.cluster.delete("NovaCompute", name)
        world.wait_verdict(name, "NovaReady", "False TargetClusterUnavailable")
    world.wait_gone(name)
    assert "RemoteChildrenAbandoned" not in world.reasons(name)
    assert (edge.children(name), world.cloud.services()) == ([], {})


def test_cluster_that_is_back_with_another_authority_is_not_trusted_until_its_registration_is(
    world: worlds.World, edge: placed.Target, tmp_path: pathlib.Path
) -> None:
    with front.before(edge, tmp_path) as the_front:
        edge.register(kubeconfig=the_front.kubeconfig())
        name, _ = world.new_placed_pool(edge, placed.NODE)
        pool = world.wait_settled(name, placed.NODE)
        children = edge.children(name)

        the_front.change_authority()
        said = world.wait_verdict(name, "NovaReady", "False TargetClusterUnavailable")
        assert "certificate verify failed" in said["message"]
        world.wait_passes(name, 2)
        now = world.cluster.read("NovaCompute", name)
        assert now["metadata"]["finalizers"] == pool["metadata"]["finalizers"]
        assert cluster.ledger(now) == cluster.ledger(pool)
        assert (edge.children(name), set(world.cloud.services())) == (children, {placed.NODE})
        edge.register(kubeconfig=the_front.kubeconfig())
        world.wait_settled(name, placed.NODE)

        # Nor does a deletion forget what it cannot see.
        the_front.change_authority()
        world.cluster.delete("NovaCompute", name)
        world.wait_verdict(name, "NovaReady", "False TargetClusterUnavailable")
        assert (edge.children(name), set(world.cloud.services())) == (children, {placed.NODE})
        edge.register(kubeconfig=the_front.kubeconfig())
        world.wait_gone(name)
    assert "RemoteChildrenAbandoned" not in world.reasons(name)
    assert (edge.children(name), world.cloud.services()) == ([], {})


@pytest.mark.page("docs/how-to/target-clusters.md", "Register a cluster")
def test_cluster_is_registered_as_its_page_says(
    world: worlds.World, edge: placed.Target, reader: readers.Reader
) -> None:
    # The reader's cluster has neither the namespace of the pools nor the operator's rights yet.
    edge.withdraw()
    edge.forget()
    reader.know(edge)
    reader.does("docs/how-to/target-clusters.md", "Register a cluster")
    edge.mirror_contract()
    name, _ = world.new_placed_pool(edge, placed.NODE)
    world.wait_settled(name, placed.NODE)
