# SPDX-License-Identifier: Apache-2.0
"""The playbooks and `kubectl novacompute` in a person's hand, beside a running operator and without one."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

from e2e.world import pools
from e2e.world import world as worlds

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


def test_dry_run_shows_what_a_pass_would_change(idle_world: worlds.World) -> None:
    world, selector = idle_world, idle_world.selector()
    world.label(NODE, selector)
    name = world.apply(pools.manifest("pool-shown", selector, traits=["CUSTOM_SHOWN"]))
    shown = play(world, "reconcile", name, "--check", "--diff").stdout
    for part in ("status of NovaCompute", "ConfigMap", "DaemonSet"):
        assert f"+++ after: {part} openstack/{name}" in shown, shown
    assert "+++ after: aggregate az1" in shown
    assert "+compute_driver = fake.FakeDriverWithoutFakeNodes" in shown


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
