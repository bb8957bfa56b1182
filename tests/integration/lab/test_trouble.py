# SPDX-License-Identifier: Apache-2.0
"""Trouble that the lab can make on purpose: an agent that dies, nodes that go, a chassis that is not there yet."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest


def _until(good: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not good():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def _pid(pod: Any) -> int:
    return int(pod["status"]["containerStatuses"][0]["containerID"].removeprefix("proc://"))


def _all_run(pods: list[Any]) -> bool:
    """Whether every pod that is not done says it is ready, by a process that exists: a status may be an old one."""
    statuses = [pod["status"] for pod in pods if pod["status"]["phase"] not in ("Succeeded", "Failed")]
    containers = [one for status in statuses for one in status.get("containerStatuses") or [{"ready": False}]]
    return all(one["ready"] and pathlib.Path(f"/proc/{one['containerID'][7:]}").exists() for one in containers)


@pytest.fixture
def crashed(lab_command: Any, cluster: Any) -> Iterator[Callable[[], None]]:
    """Crashes the node agent; afterwards it runs again, and every pod of the lab with it."""
    yield lambda: lab_command("agent", "kill")
    lab_command("agent", "start")
    _until(lambda: _all_run(cluster.get("pods", "", "--namespace=openstack")["items"]), "OpenStack's pods run", 60)


def test_crashed_agent_leaves_no_process_of_a_pod(cluster: Any, pod: Any, crashed: Callable[[], None]) -> None:
    cluster.apply(pod("sleep 600 & sleep 601", spec={"restartPolicy": "Always"}))
    pid = _pid(cluster.wait_ready("one"))
    namespace = pathlib.Path(f"/proc/{pid}/ns/pid").readlink()
    crashed()
    _until(lambda: namespace not in _pid_namespaces(), "the processes of the pod are gone")


def _pid_namespaces() -> set[pathlib.Path]:
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            found.add(path.readlink())
        except OSError:
            continue
    return found


def test_pod_runs_again_after_its_agent_has(
    cluster: Any, pod: Any, crashed: Callable[[], None], lab_command: Any
) -> None:
    cluster.apply(pod("sleep 600", spec={"restartPolicy": "Always"}))
    cluster.wait_ready("one")
    crashed()
    lab_command("agent", "start")
    found = cluster.wait("pod", "one", lambda p: p["status"]["containerStatuses"][0]["restartCount"] == 1)
    assert found["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"


def test_pod_that_may_not_restart_has_failed_after_its_agent_crashed(
    cluster: Any, pod: Any, crashed: Callable[[], None], lab_command: Any
) -> None:
    cluster.apply(pod("sleep 600"))
    cluster.wait_ready("one")
    crashed()
    lab_command("agent", "start")
    cluster.wait("pod", "one", lambda p: p["status"]["phase"] == "Failed")


def test_pod_deleted_while_the_agent_was_away_goes_when_it_is_back(
    cluster: Any, pod: Any, crashed: Callable[[], None], lab_command: Any
) -> None:
    cluster.apply(pod("sleep 600", spec={"restartPolicy": "Always"}))
    cluster.wait_ready("one")
    crashed()
    cluster.kubectl("delete", "pod", "one", "--wait=false")
    assert cluster.exists("pod", "one")
    lab_command("agent", "start")
    cluster.wait_gone("pod", "one")


def test_deleted_node_stays_away_until_it_is_added(cluster: Any, pod: Any, lab_command: Any) -> None:
    before = cluster.get("node", "compute-3")["metadata"]
    lab_command("node", "remove", "compute-3")
    try:
        # Two beats: an agent that registered its node by itself would have done it by then.
        deadline = time.monotonic() + 11
        while time.monotonic() < deadline:
            assert not cluster.exists("node", "compute-3")
            time.sleep(0.5)
    finally:
        lab_command("node", "add", "compute-3")
    after = cluster.get("node", "compute-3")["metadata"]
    assert after["uid"] != before["uid"]
    assert after["labels"].items() >= {"openstack.c5c3.io/nova-compute-pool": "a"}.items()
    cluster.kubectl("wait", "--for=condition=Ready", "node", "compute-3", "--timeout=30s")
    assert cluster.run_to_end(pod("echo here", node="compute-3")) == "here\n"


def test_pod_waits_for_a_chassis_that_comes_late(cluster: Any, pod: Any, lab_command: Any) -> None:
    script = """
        until ovsdb-client transact unix:/run/openvswitch/db.sock \
            '["Open_vSwitch", {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["external_ids"]}]' |
            grep system-id; do sleep 0.1; done
    """
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/run/openvswitch"}]}
    restricted = {"runAsUser": 42436, "capabilities": {"drop": ["ALL"]}}
    init = [{"name": "wait", "image": "any", "command": ["sh", "-c", script], "securityContext": restricted, **mount}]
    volumes = [{"name": "v", "hostPath": {"path": "/run/openvswitch", "type": "DirectoryOrCreate"}}]
    lab_command("chassis", "compute-2", "unset")
    try:
        cluster.apply(pod("sleep 60", node="compute-2", spec={"initContainers": init, "volumes": volumes}))
        found = cluster.wait(
            "pod",
            "one",
            lambda p: "running" in (p["status"].get("initContainerStatuses") or [{"state": {}}])[0]["state"],
        )
        assert found["status"]["phase"] == "Pending"
    finally:
        lab_command("chassis", "compute-2", "set")
    cluster.wait_ready("one")
    assert '"compute-2"' in cluster.kubectl("logs", "one", "--container=wait")
