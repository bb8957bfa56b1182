# SPDX-License-Identifier: Apache-2.0
"""A pass over a pool that is as it should be writes nothing, and a dry run writes nothing to any pool. Counted."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
from e2e.world import pools, stand, writes
from e2e.world import world as worlds

ROOT = pathlib.Path(__file__).resolve().parents[2]
_RECAP = re.compile(
    r"^(?P<host>\S+)\s*: ok=(?P<ok>\d+)\s+changed=(?P<changed>\d+).*failed=(?P<failed>\d+)", re.MULTILINE
)


def run_playbook(world: worlds.World, pool: str, *flags: str) -> re.Match[str]:
    """Run a pass as a person would; returns the pool's line of the recap."""
    program = pathlib.Path(sys.executable).parent / "ansible-playbook"
    done = subprocess.run(
        [program, "playbooks/reconcile.yml", "--limit", f"openstack/{pool}", *flags],
        cwd=ROOT,
        env=world.stand.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    recap = _RECAP.search(done.stdout.partition("PLAY RECAP")[2])
    assert recap is not None, done.stdout
    assert recap["host"] == f"openstack/{pool}"
    return recap


def let_settle(world: worlds.World, name: str) -> None:
    """Return when nothing is left to come of the pool's start."""
    # The first pass afterwards sees the nodes Active and says that they are outside their zones' aggregates.
    world.wait_verdict(name, "AggregatesReady", "True NodesOutsideZoneAggregate")
    # Kubernetes would remove the finished discovery Job in the middle of what is counted.
    for job in world.cluster.all("Job"):
        world.cluster.delete("Job", job["metadata"]["name"])
    world.wait("the discovery Job is gone", lambda: world.cluster.all("Job"), lambda jobs: not jobs)
    world.wait(
        "its pod is gone",
        lambda: [pod for pod in world.cluster.all("Pod") if "job-name" in pod["metadata"]["labels"]],
        lambda pods: not pods,
    )


@pytest.mark.case("B26")
def test_passes_over_a_settled_pool_write_nothing_to_kubernetes_nova_or_placement(world: worlds.World) -> None:
    name, _ = world.new_pool(*stand.NODES)
    world.wait_settled(name, *stand.NODES)
    let_settle(world, name)
    world.wait_passes(name, 1)

    count = writes.Count(world.stand)
    passes = world.wait_passes(name, 3)
    assert count.everything() == writes.NOTHING
    assert [one["changed"] for one in passes] == [False] * len(passes)


@pytest.mark.case("B26")
def test_pass_by_hand_over_a_settled_pool_reports_no_change_and_writes_nothing(world: worlds.World) -> None:
    name, _ = world.new_pool(*stand.NODES)
    world.wait_settled(name, *stand.NODES)
    let_settle(world, name)
    world.operator.stop()

    count = writes.Count(world.stand)
    recap = run_playbook(world, name)
    assert (recap["changed"], recap["failed"]) == ("0", "0")
    assert count.everything() == writes.NOTHING


@pytest.mark.case("B27")
def test_dry_run_over_a_fresh_pool_writes_nothing(idle_world: worlds.World) -> None:
    world = idle_world
    selector = world.selector()
    for node in stand.NODES:
        world.label(node, selector)
    name = world.apply(pools.manifest("pool-dry", selector))

    count = writes.Count(world.stand)
    recap = run_playbook(world, name, "--check", "--diff")
    assert recap["failed"] == "0"
    assert int(recap["changed"]) > 0
    assert count.everything() == writes.NOTHING


@pytest.mark.case("B27")
def test_dry_run_over_a_draining_pool_writes_nothing(world: worlds.World) -> None:
    node = stand.NODES[0]
    name, selector = world.new_pool(node)
    world.wait_settled(name, node)
    world.operator.stop()
    world.unlabel(node, selector)
    world.wait(
        "the DaemonSet's controller has seen the label go", lambda: world.pods_on(name, node), lambda pods: not pods
    )

    count = writes.Count(world.stand)
    run_playbook(world, name, "--check", "--diff")
    assert count.everything() == writes.NOTHING
    assert world.cloud.services()[node]["status"] == "enabled"
