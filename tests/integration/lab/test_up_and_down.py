# SPDX-License-Identifier: Apache-2.0
"""A lab of its own beside the running one: it comes up, it does not disturb the other, and it leaves nothing."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from novalab import bringup, network, processes
from novalab import lab as labs


@pytest.fixture
def second(lab: labs.Lab, lab_command: Any) -> Iterator[Any]:
    """The command of a second lab, which is down again afterwards whatever happened."""
    command = type(lab_command)("second")
    yield command
    command.run("down")


def _whole_machine() -> tuple[set[str], set[str]]:
    mounts = {line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()}
    return mounts, network.present()


def test_lab_leaves_no_process_mount_address_or_file(second: Any, cluster: Any, lab: labs.Lab) -> None:
    before = _whole_machine()
    second("up", "--without-openstack")
    one = labs.find("second")
    assert one is not None
    assert one.slot != lab.slot
    other = type(cluster)(one, "default")
    other.apply(_mounting_daemon_set())
    other.kubectl("rollout", "status", "daemonset/one", "--timeout=30s")
    second("down")
    assert processes.leftovers(one.root) == []
    assert not one.root.exists()
    assert _whole_machine() == before
    assert cluster.exists("node", "compute-1"), "the other lab runs on"


def _mounting_daemon_set() -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", "mkdir -p /v/m; mount -t tmpfs m /v/m; exec sleep 600"],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"},
            {"name": "dev", "mountPath": "/dev"},
        ],
    }
    volumes = [{"name": "v", "hostPath": {"path": "/var/lib/v"}}, {"name": "dev", "hostPath": {"path": "/dev"}}]
    template = {"metadata": {"labels": {"app": "one"}}, "spec": {"containers": [container], "volumes": volumes}}
    spec = {"selector": {"matchLabels": {"app": "one"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "one"}, "spec": spec}


def test_lab_whose_agent_was_killed_leaves_nothing_either(second: Any, cluster: Any) -> None:
    before = _whole_machine()
    second("up", "--without-openstack")
    one = labs.find("second")
    assert one is not None
    other = type(cluster)(one, "default")
    other.apply(_mounting_daemon_set())
    other.kubectl("rollout", "status", "daemonset/one", "--timeout=30s")
    record = json.loads((one.pids / "agent.json").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    second("down")
    assert processes.leftovers(one.root) == []
    assert _whole_machine() == before


def test_second_up_starts_nothing_anew(second: Any) -> None:
    second("up", "--without-openstack")
    one = labs.find("second")
    assert one is not None
    before = [row.process for row in bringup.status(one)]
    second("up", "--without-openstack")
    assert [row.process for row in bringup.status(one)] == before


def test_killed_component_is_started_again_by_up(second: Any, cluster: Any) -> None:
    second("up", "--without-openstack")
    one = labs.find("second")
    assert one is not None
    scheduler = next(row.process for row in bringup.status(one) if row.what == "kube-scheduler")
    assert isinstance(scheduler, int)
    processes.end(scheduler, grace=0)
    assert second.run("status").returncode == 1
    second("up", "--without-openstack")
    assert all(row.process for row in bringup.status(one))
    assert type(cluster)(one, "default").exists("node", "compute-1")


def test_leftover_process_ends_down_with_its_name(second: Any, lab: labs.Lab) -> None:
    second("up", "--without-openstack")
    one = labs.find("second")
    assert one is not None
    environment = {**os.environ, processes.MARKER: str(one.root)}
    left = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
    try:
        done = second.run("down")
        assert done.returncode == 1
        assert f"process {left.pid} (marked): sleep 600" in done.stderr
        assert one.root.exists()
    finally:
        left.kill()
        left.wait()


def test_env_of_a_lab_lets_kubectl_find_it(second: Any) -> None:
    second("up", "--without-openstack")
    script = f'eval "$({sys.executable} {second.command} env --name second)" && kubectl get nodes --output=name'
    shown = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["node/compute-1", "node/compute-2", "node/compute-3", "node/control"]
