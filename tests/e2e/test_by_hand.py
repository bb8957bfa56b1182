# SPDX-License-Identifier: Apache-2.0
"""The playbooks and `kubectl novacompute` in a person's hand, beside a running operator and without one."""

from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import diffs
import pytest
import yaml
from e2e.conditions import hypervisors as stand_ins
from e2e.conditions import objects
from e2e.world import cluster, pools, stand, waiting, writes
from e2e.world import world as worlds
from novalab import crds

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(sys.executable).parent
NODE = "compute-1"


def run(world: worlds.World, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment, from the tree, in a shell with the lab's exports."""
    return subprocess.run(
        [PROGRAMS / command[0], *command[1:]],
        cwd=ROOT,
        env={**world.stand.environment, "PATH": f"{PROGRAMS}:{world.stand.environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=worlds.DEADLINE,
    )


def play(world: worlds.World, playbook: str, pool: str, *options: str) -> subprocess.CompletedProcess[str]:
    return run(world, "ansible-playbook", f"playbooks/{playbook}.yml", "--limit", f"openstack/{pool}", *options)


def of_openstack(world: worlds.World) -> dict[str, Any]:
    """What a pool may change in Nova and Placement."""
    rows = world.cloud.services()
    return {
        "services": {host: (row["id"], row["status"], row["disabled_reason"]) for host, row in rows.items()},
        "aggregates": world.cloud.aggregates(),
        "traits": world.cloud.traits(),
    }


def secrets(world: worlds.World) -> dict[str, str]:
    """What nobody is shown of the Nova's Secrets, as it is and as a Secret holds it, to what it is."""
    nova = world.cluster.read("Nova", stand.NOVA)
    named = (nova["spec"]["serviceUser"]["secretRef"]["name"], nova["status"]["computeConfigSecretRef"]["name"])
    held = {
        f"{name}/{key}": value
        for name in named
        for key, value in world.cluster.read("Secret", name)["data"].items()
        if key in ("password", "transport_url", "metadata_proxy_shared_secret")
    }
    return {**{value: key for key, value in held.items()}, **{_decoded(value): key for key, value in held.items()}}


def _decoded(value: str) -> str:
    return base64.b64decode(value).decode()


def dry_run(world: worlds.World, pool: str) -> str:
    """What a dry run over the pool prints. Nothing is written by it, and it shows no secret."""
    before, count = of_openstack(world), writes.Count(world.stand)
    shown = play(world, "reconcile", pool, "--check", "--diff")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert (count.everything(), of_openstack(world)) == (writes.NOTHING, before)
    assert [name for secret, name in secrets(world).items() if secret in shown.stdout + shown.stderr] == []
    return shown.stdout


def dry_run_and_pass(world: worlds.World, pool: str) -> str:
    """What a dry run prints. The pass that follows shows the same changes, having made them."""
    shown = dry_run(world, pool)
    passed = play(world, "reconcile", pool, "--diff").stdout
    assert diffs.changes(shown) == diffs.changes(passed)
    return shown


def settle_by_hand(world: worlds.World, pool: str) -> None:
    """Run passes until the pool is ready and nothing of its start is left to come."""
    strict = ("-e", "nova_compute_strict=true")
    world.wait("the service is registered", lambda: world.cloud.services().get(NODE))
    world.wait("the pool is ready", lambda: play(world, "reconcile", pool, *strict).returncode == 0)
    # Kubernetes would remove the finished discovery Job in the middle of what is counted.
    for job in world.cluster.all("Job"):
        world.cluster.delete("Job", job["metadata"]["name"])
    world.wait(
        "the discovery Job is gone, and its pod",
        lambda: [
            each["metadata"]["name"] for kind in ("Job", "Pod") for each in world.cluster.all(kind) if _of_job(each)
        ],
        lambda left: not left,
    )


def _of_job(item: cluster.Object) -> bool:
    return item.get("kind") == "Job" or "job-name" in (item["metadata"].get("labels") or {})


def wait_rolled_out(world: worlds.World, pool: str, *, pods: int) -> None:
    """Return when the pool has so many pods and the controller nothing more to do for them."""

    def is_rolled_out(seen: cluster.Object) -> bool:
        status = seen["status"]
        numbers = {status.get(key, 0) for key in ("desiredNumberScheduled", "updatedNumberScheduled", "numberReady")}
        is_observed = status.get("observedGeneration") == seen["metadata"]["generation"]
        return is_observed and numbers == {len(world.pods_on(pool, NODE))} == {pods}

    world.wait("the pods are as the DaemonSet says", lambda: daemon_set(world, pool), is_rolled_out)


def daemon_set(world: worlds.World, pool: str) -> cluster.Object:
    return world.cluster.read("DaemonSet", f"{pool}-nova-compute")


@pytest.fixture
def hypervisors(the_stand: stand.Stand) -> Iterator[stand_ins.Hypervisors]:
    """A cluster that serves Hypervisors, one of them of the node, and no hypervisor operator."""
    objects_of = objects.Objects(the_stand.lab.kubeconfig)
    crds.install(the_stand.lab, "hypervisors")
    waiting.wait_for("objects of the kind are served", lambda: objects_of.is_there(stand_ins.PATH), seconds=60)
    made = stand_ins.Hypervisors(objects_of)
    made.make(NODE)
    yield made
    crds.remove(the_stand.lab, "hypervisors")


def test_dry_run_shows_all_that_a_new_pool_makes(hypervisors: stand_ins.Hypervisors, idle_world: worlds.World) -> None:
    world, selector = idle_world, idle_world.selector()
    world.label(NODE, selector)
    name = world.apply(pools.manifest("pool-shown", selector, traits=["CUSTOM_SHOWN"]))
    version = hypervisors.version(NODE)
    shown = dry_run(world, name)
    assert hypervisors.version(NODE) == version
    passed = play(world, "reconcile", name, "--diff").stdout
    assert diffs.changes(shown) == diffs.changes(passed)

    (config,) = [each for each in world.cluster.all("ConfigMap") if each["metadata"]["name"].startswith(f"{name}-")]
    status = f"status of NovaCompute openstack/{name}"
    assert [diff.after for diff in diffs.of(shown)] == [
        f"finalizers of NovaCompute openstack/{name}",
        status,
        f"ConfigMap openstack/{config['metadata']['name']}",
        f"DaemonSet openstack/{name}-nova-compute",
        "aggregate az1",
        "aggregate tenant_filter_tests",
        "trait in Placement",
        status,
        f"Hypervisor {NODE}",
        status,
    ]
    file = diffs.about(shown, f"ConfigMap openstack/{config['metadata']['name']}")
    assert (file.gone, file.new) == ("", config["data"]["compute-pool.conf"])
    pods = diffs.about(shown, f"DaemonSet openstack/{name}-nova-compute")
    assert (pods.gone, yaml.safe_load(pods.new)) == ("", daemon_set(world, name)["spec"])
    aggregate = diffs.about(shown, "aggregate az1")
    marker = {"c5c3.io:nova": f"openstack/{stand.NOVA}"}
    made = {"name": "az1", "availability_zone": "az1", "metadata": marker}
    assert (aggregate.gone, yaml.safe_load(aggregate.new)) == ("", made)
    assert diffs.about(shown, "trait in Placement").lines == ("+CUSTOM_SHOWN",)
    assert diffs.about(shown, f"Hypervisor {NODE}").lines == (
        "-        customTraits: []",
        "+        customTraits:",
        "+        - CUSTOM_SHOWN",
    )


def test_dry_run_shows_what_a_changed_spec_changes_line_by_line(
    hypervisors: stand_ins.Hypervisors, idle_world: worlds.World
) -> None:
    world, selector = idle_world, idle_world.selector()
    world.label(NODE, selector)
    manifest = pools.manifest("pool-changed", selector, traits=["CUSTOM_OLD"])
    name = world.apply(manifest)
    play(world, "reconcile", name)
    settle_by_hand(world, name)
    wait_rolled_out(world, name, pods=1)
    old = mounted_config(world, name)

    manifest["spec"] |= {"traits": ["CUSTOM_NEW"], "libvirt": {"virtType": "qemu"}}
    world.apply(manifest)
    shown = dry_run_and_pass(world, name)
    new = mounted_config(world, name)
    file = next(diff for diff in diffs.of(shown) if diff.after == f"ConfigMap openstack/{new}")
    assert (file.before, file.lines) == (
        f"ConfigMap openstack/{old}",
        ("-virt_type = kvm", "+virt_type = qemu"),
    )
    assert diffs.about(shown, f"DaemonSet openstack/{name}-nova-compute").lines == (
        f"-                    name: {old}",
        f"+                    name: {new}",
    )
    assert diffs.about(shown, "trait in Placement").lines == ("+CUSTOM_NEW",)
    assert diffs.about(shown, f"Hypervisor {NODE}").lines == ("-        - CUSTOM_OLD", "+        - CUSTOM_NEW")

    # No node carries the old one any more: its hypervisor operator never applied it.
    wait_rolled_out(world, name, pods=1)
    assert diffs.about(dry_run_and_pass(world, name), "trait in Placement").lines == ("-CUSTOM_OLD",)
    assert world.cloud.traits() == ["CUSTOM_NEW"]


def mounted_config(world: worlds.World, pool: str) -> str:
    """The ConfigMap that new pods of the pool mount."""
    volumes = daemon_set(world, pool)["spec"]["template"]["spec"]["volumes"]
    return next(str(each["configMap"]["name"]) for each in volumes if "configMap" in each)


def test_dry_run_shows_each_step_by_which_a_node_leaves(idle_world: worlds.World) -> None:
    world, selector = idle_world, idle_world.selector()
    world.label(NODE, selector)
    name = world.apply(pools.manifest("pool-left", selector))
    play(world, "reconcile", name)
    settle_by_hand(world, name)
    service = world.cloud.services()[NODE]
    reason = f"c5c3.io: leaving NovaCompute openstack/{name}"

    world.unlabel(NODE, selector)
    wait_rolled_out(world, name, pods=0)
    shown = dry_run_and_pass(world, name)
    term = ("+                        -   matchFields:", f"+                                - {NODE}")
    assert set(term) <= set(diffs.about(shown, f"DaemonSet openstack/{name}-nova-compute").lines)
    assert diffs.about(shown, f"compute service of {NODE}").lines == (
        "-    disabled_reason: null",
        "-    status: enabled",
        f"+    disabled_reason: '{reason}'",
        "+    status: disabled",
    )

    # No server was on the host. The next pass takes the node's term from the affinity, and with it the pod goes.
    assert cluster.phases(world.cluster.read("NovaCompute", name)) == {NODE: "Releasing"}
    play(world, "reconcile", name)
    wait_rolled_out(world, name, pods=0)
    shown = dry_run_and_pass(world, name)
    gone = diffs.about(shown, f"compute service of {NODE}")
    assert gone.new == ""
    assert yaml.safe_load(gone.gone) == {
        **{key: service[key] for key in ("host", "id", "zone")},
        "state": yaml.safe_load(gone.gone)["state"],
        "status": "disabled",
        "disabled_reason": reason,
    }

    zone = world.cloud.aggregates()["az1"]
    shown = dry_run_and_pass(world, name)
    gone = diffs.about(shown, "aggregate az1")
    kept = {key: zone[key] for key in ("id", "name", "availability_zone", "hosts", "metadata")}
    assert (gone.new, yaml.safe_load(gone.gone)) == ("", kept)
    assert sorted(world.cloud.aggregates()) == ["tenant_filter_tests"]


def test_steps_by_tag_bring_a_pool_up_and_exit_codes_tell_how_far_it_is(idle_world: worlds.World) -> None:
    world, selector = idle_world, idle_world.selector()
    world.label(NODE, selector)
    name = world.apply(pools.manifest("pool-steps", selector))

    assert play(world, "reconcile", name, "--tags", "daemonset").returncode == 0
    world.wait("the pod runs", lambda: world.pods_on(name, NODE))
    assert world.cloud.aggregates() == {}
    strict = ("-e", "nova_compute_strict=true")
    assert play(world, "report", name, *strict).returncode == 2
    world.wait("the service is registered", lambda: world.cloud.services().get(NODE))
    world.wait("the pool is ready", lambda: play(world, "reconcile", name, *strict).returncode == 0)
    assert play(world, "report", name, *strict).returncode == 0


def test_drain_is_explained_and_followed_and_passes_by_hand_do_not_disturb_it(world: worlds.World) -> None:
    name, selector = world.new_pool(NODE)
    world.wait_settled(name, NODE)
    server = world.boot(NODE)
    world.unlabel(NODE, selector)
    world.wait_draining(name, NODE, 1)

    explained = play(world, "explain_drain", name).stdout
    assert f"{NODE} leaves openstack/{name}: 1 server on its host" in explained, explained
    assert "no migration is under way, and the pool never moves a server" in explained
    why = run(world, "kubectl-novacompute", "why", NODE, "-n", "openstack", "-o", "json")
    assert [one["id"] for one in json.loads(why.stdout)["nodes"][0]["servers"]] == [server]
    listed = subprocess.run(
        ["kubectl", "novacompute", "nodes", name, "-n", "openstack"],
        env={**world.stand.environment, "PATH": f"{PROGRAMS}:{world.stand.environment['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert listed.splitlines()[1].split()[:4] == [f"openstack/{name}", NODE, "Draining", "az1"]

    beside = play(world, "reconcile", name)
    assert beside.returncode == 0, beside.stdout
    world.delete_server(server)
    for tags in ((), ("--tags", "services_drain")):
        beside = play(world, "reconcile", name, *tags)
        assert beside.returncode == 0, beside.stdout
    followed = run(world, "kubectl-novacompute", "drain", name, "-n", "openstack", "--watch", "--timeout", "200")
    assert followed.returncode == 0, followed.stdout + followed.stderr
    world.wait_dropped(name, NODE)
    assert len(world.witness.hosts("disabled")) == 1
    assert len(world.witness.hosts("deleted")) == 1
