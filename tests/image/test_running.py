# SPDX-License-Identifier: Apache-2.0
"""The image runs with a read-only root, as a user without any right, against a real API server."""

from __future__ import annotations

import json

import pytest
from e2e.world import stand, waiting
from e2e.world.container import HARDENED, USER
from image import containers, engines

LEASE = "nova.openstack.c5c3.io"
#: More than the operator gives its running passes, as a pod's terminationGracePeriodSeconds is.
GRACE = "45"
MOMENT = 60.0
#: The health check that the image has, more often than a person would want it.
CHECKED_OFTEN = ("--health-interval=1s", "--health-start-period=0s", "--health-retries=2")

#: Its parent goes at once, so it is left to process 1. It prints its number, and ends when it is told to.
ORPHAN = """
import os, pathlib, time
if os.fork():
    os.wait()
elif os.fork():
    os._exit(0)
else:
    print(os.getpid(), flush=True)
    os.close(1)
    while not pathlib.Path("/tmp/end").exists():
        time.sleep(0.1)
"""


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("/opt/operator/bin/nova-compute-operator", "usage: nova-compute-operator"),
        ("/opt/operator/bin/kubectl-novacompute", "usage: kubectl"),
        ("/opt/operator/bin/ansible-playbook", "usage: ansible-playbook"),
    ],
)
def test_its_programs_say_how_they_are_used(engine: engines.Engine, image: str, program: str, says: str) -> None:
    flags = ("--rm", *HARDENED, "--network=none", f"--entrypoint={program}")
    assert says in engine.output("run", *flags, image, "--help")


def test_what_it_starts_is_the_operator(engine: engines.Engine, image: str) -> None:
    said = engine.output("run", "--rm", *HARDENED, "--network=none", image, "--help")
    assert "--max-concurrent-reconciles" in said


def test_it_has_no_right_and_no_place_to_write_but_tmp(pod: containers.Pod) -> None:
    with pod.operator() as container:
        container.expect_ready()
        status = container.output("cat", "/proc/1/status")
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert {fields["CapEff"], fields["CapPrm"], fields["CapBnd"]} == {"0000000000000000"}
        assert (fields["Uid"].split()[0], fields["NoNewPrivs"]) == (str(USER), "1")
        mounts = [line.split() for line in container.output("cat", "/proc/mounts").splitlines()]
        assert next(options for _, point, _, options, *_ in mounts if point == "/").startswith("ro")
        assert "Read-only file system" not in container.log
        assert "Permission denied" not in container.log


def test_an_orphan_is_reaped_by_process_1(pod: containers.Pod) -> None:
    with pod.operator() as container:
        container.expect_ready()
        assert container.output("cat", "/proc/1/comm") == "tini\n"
        orphan = container.output("python", "-c", ORPHAN).strip()
        assert state_and_parent(container, orphan) == ("S", "1")
        container.output("touch", "/tmp/end")
        waiting.wait_for(
            "it has ended and is no zombie",
            lambda: state_and_parent(container, orphan),
            lambda found: found is None,
            seconds=MOMENT,
        )


def state_and_parent(container: containers.Container, process: str) -> tuple[str, str] | None:
    """The letter of a process's state and the number of its parent; None when there is no such process."""
    done = container.run("cat", f"/proc/{process}/stat")
    fields = done.stdout.rpartition(") ")[2].split()
    return (fields[0], fields[1]) if done.returncode == 0 else None


def test_its_health_check_passes_while_the_operator_serves(pod: containers.Pod) -> None:
    with pod.operator(options=CHECKED_OFTEN) as container:
        waiting.wait_for("it is healthy", lambda: container.health, lambda one: one == "healthy", seconds=MOMENT)


def test_its_health_check_fails_while_the_operator_does_not_serve(pod: containers.Pod) -> None:
    with pod.operator("--health-probe-bind-address=0", options=CHECKED_OFTEN) as container:
        waiting.wait_for("it is not", lambda: container.health, lambda one: one == "unhealthy", seconds=MOMENT)
        assert container.state["Running"], container.log


def test_it_ends_in_order_when_it_is_told_to(pod: containers.Pod) -> None:
    with pod.operator() as container:
        container.expect_ready()
        container.engine.output("stop", "--time", GRACE, container.identity)
        state = container.state
        # 137 would be the engine's patience at its end, 143 a signal that nothing handled.
        assert (state["Running"], state["ExitCode"]) == (False, 0), container.log


def test_it_is_elected_and_gives_the_lease_back(pod: containers.Pod, the_stand: stand.Stand) -> None:
    with pod.operator("--leader-elect=true", "--leader-election-namespace=openstack") as container:
        waiting.wait_for("it has the Lease", lambda: holder(the_stand), seconds=MOMENT)
        container.expect_ready()
        container.engine.output("stop", "--time", GRACE, container.identity)
        assert container.state["ExitCode"] == 0, container.log
        assert holder(the_stand) == "", container.log


def holder(the_stand: stand.Stand) -> str:
    """Who has the Lease of the election; empty for nobody."""
    done = the_stand.run("kubectl", "get", "lease", LEASE, "--namespace=openstack", "--output=json")
    return str(json.loads(done.stdout)["spec"].get("holderIdentity", "")) if done.returncode == 0 else ""
