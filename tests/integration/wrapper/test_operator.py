# SPDX-License-Identifier: Apache-2.0
"""The operator as a process beside a real API server: which change makes which pass run, and how it ends.

The playbook is a small one that only asks for a look in an hour, so each pass is there because something changed.
"""

from __future__ import annotations

import base64
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from integration import kube
from nova_compute_operator import api, processes, triggers

TREE = pathlib.Path(__file__).parents[3]
PLAYBOOK = """
- name: One pass
  hosts: all
  gather_facts: false
  tasks:
    - name: Ask for a look in an hour
      ansible.builtin.set_stats:
        data: {next_look_seconds: 3600}
        per_host: true
    - name: Take long where a pool says so
      ansible.builtin.command: sleep 600
      changed_when: false
      when: "'slow' in novacompute.metadata.labels | default({})"
    - name: Fail where a pool says so
      ansible.builtin.fail:
        msg: "PATCH /there: HTTP 422: {% raw %}{{ refused }}{% endraw %}"
      when: "'broken' in novacompute.metadata.labels | default({})"
"""
LEASE = "nova.openstack.c5c3.io"

Start = Callable[..., "Running"]


class Running:
    """An operator's process, and what its log says."""

    def __init__(self, process: subprocess.Popen[bytes], log: pathlib.Path) -> None:
        self.process = process
        self._log = log

    def lines(self, message: str) -> list[dict[str, Any]]:
        complete = [line for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in map(json.loads, complete) if line["msg"] == message]

    def passes(self) -> collections.Counter[str]:
        """How many passes over each pool have ended, by short name."""
        return collections.Counter(line["pool"].rpartition("/")[2] for line in self.lines("Pass ended"))

    def wait_for_passes(self, **counts: int) -> None:
        kube.wait_until(lambda: self.passes() == counts or self._beyond(counts), f"passes {counts}", seconds=90)
        assert self.passes() == counts

    def wait_for(self, message: str) -> None:
        kube.wait_until(lambda: bool(self.lines(message)), f"the log line {message!r}", seconds=60)

    def defunct(self) -> list[str]:
        """The states of the operator's dead children."""
        shown = subprocess.run(
            ["ps", "--ppid", str(self.process.pid), "-o", "stat="], capture_output=True, text=True, check=False
        )
        return [state for state in shown.stdout.split() if state.startswith("Z")]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def _beyond(self, counts: dict[str, int]) -> bool:
        return any(count > counts.get(pool, 0) for pool, count in self.passes().items())


@pytest.fixture
def start(tmp_path: pathlib.Path, kubeconfig: str, namespace: str, crd: dict[str, Any]) -> Iterator[Start]:
    """Starts operators of this test's namespace, each with its own folder, and ends them after the test."""
    del crd
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "reconcile.yml").write_text(PLAYBOOK)
    (tmp_path / "ansible.cfg").write_text(f"[defaults]\ncollections_path = {TREE / 'collections'}\n")
    running: list[Running] = []

    def started(*flags: str, ready: bool = True) -> Running:
        log = tmp_path / f"{len(running)}.log"
        command = [sys.executable, "-P", "-m", "nova_compute_operator"]
        own = ["--metrics-bind-address=0", "--health-probe-bind-address=0", f"--namespace={namespace}"]
        own += [f"--playbook={tmp_path / 'playbooks' / 'reconcile.yml'}", "--sync-period=1h"]
        own += [f"--private-data-dir={tmp_path / f'data-{len(running)}'}"]
        environment = os.environ | {
            "KUBECONFIG": kubeconfig,
            "PYTHONPATH": str(TREE / "operator"),
        }
        with log.open("w") as stream:
            process = subprocess.Popen([*command, *own, *flags], env=environment, stderr=stream)
        running.append(Running(process, log))
        if ready:
            running[-1].wait_for("Passes start")
        return running[-1]

    yield started
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait(10)


def label(pools: kube.Pools, name: str, **labels: str | None) -> None:
    body = {"metadata": {"labels": labels}}
    pools.server.call("PATCH", pools.path(name), body, content_type=kube.MERGE_PATCH).accepted()


def holding(pools: kube.Pools, name: str, phase: str) -> None:
    body = {"status": {"nodes": [{"name": "node-1", "phase": phase}]}}
    pools.patch_status(body, name=name).accepted()


def test_a_pool_that_is_there_at_the_start_gets_a_pass(start: Start, pools: kube.Pools) -> None:
    pools.create_with(name="a").accepted()
    start().wait_for_passes(a=1)


def test_a_pool_that_is_created_gets_a_pass(start: Start, pools: kube.Pools) -> None:
    operator = start()
    pools.create_with(name="a").accepted()
    operator.wait_for_passes(a=1)
    (line,) = operator.lines("Pass ended")
    assert (line["outcome"], line["next_look_seconds"]) == ("done", 3600.0)


@pytest.mark.case("B17")
def test_a_label_makes_a_pass_and_a_write_to_the_status_does_not(start: Start, pools: kube.Pools) -> None:
    pools.create_with(name="a").accepted()
    operator = start()
    operator.wait_for_passes(a=1)
    pools.patch_status({"status": {"observedGeneration": 1, "numberReady": 3}}, name="a").accepted()
    label(pools, "a", team="x")
    operator.wait_for_passes(a=2)
    # A pool of another Nova comes after both: by its pass, a third one over `a` would have begun.
    pools.create_with(name="last", novaRef={"name": "other"}).accepted()
    operator.wait_for_passes(a=2, last=1)


def test_what_a_pool_holds_makes_the_siblings_look_that_have_the_node_too(start: Start, pools: kube.Pools) -> None:
    for name in ("a", "b", "c"):
        pools.create_with(name=name).accepted()
    holding(pools, "b", "Conflict")
    operator = start()
    operator.wait_for_passes(a=1, b=1, c=1)
    holding(pools, "a", "Active")
    operator.wait_for_passes(a=1, b=2, c=1)


def test_a_deletion_makes_a_pass_and_the_pool_is_forgotten_when_it_is_gone(start: Start, pools: kube.Pools) -> None:
    pools.create_with(name="a").accepted()
    body = {"metadata": {"finalizers": ["test.c5c3.io/hold"]}}
    pools.server.call("PATCH", pools.path("a"), body, content_type=kube.MERGE_PATCH).accepted()
    operator = start("--zap-log-level=debug")
    operator.wait_for_passes(a=1)
    pools.server.call("DELETE", pools.path("a")).accepted()
    operator.wait_for_passes(a=2)
    body = {"metadata": {"finalizers": None}}
    pools.server.call("PATCH", pools.path("a"), body, content_type=kube.MERGE_PATCH).accepted()
    pools.create_with(name="last").accepted()
    operator.wait_for_passes(a=2, last=1)


def test_the_contract_makes_the_pools_of_its_nova_look(start: Start, pools: kube.Pools, namespace: str) -> None:
    pools.create_with(name="a", novaRef={"name": "first"}).accepted()
    pools.create_with(name="b", novaRef={"name": "second"}).accepted()
    operator = start()
    operator.wait_for_passes(a=1, b=1)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "first-compute-config"}}
    pools.server.call("POST", f"/api/v1/namespaces/{namespace}/secrets", secret).accepted()
    operator.wait_for_passes(a=2, b=1)


def test_a_node_label_makes_the_pools_look_whose_selector_it_matches_or_did(start: Start, pools: kube.Pools) -> None:
    key = f"test.c5c3.io/{uuid.uuid4().hex[:10]}"
    for name in ("a", "b", "c"):
        pools.create_with(name=name, nodeSelector={key: name}).accepted()
    operator = start()
    operator.wait_for_passes(a=1, b=1, c=1)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": key.rpartition("/")[2], "labels": {key: "a"}}}
    pools.server.call("POST", "/api/v1/nodes", node).accepted()
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    try:
        operator.wait_for_passes(a=2, b=1, c=1)
        body = {"metadata": {"labels": {key: "b"}}}
        pools.server.call("PATCH", path, body, content_type=kube.MERGE_PATCH).accepted()
        operator.wait_for_passes(a=3, b=2, c=1)
    finally:
        pools.server.call("DELETE", path).accepted()


@pytest.mark.case("B5")
@pytest.mark.case("B7")
@pytest.mark.condition("Ready", "RunTimeout")
def test_a_hung_pass_is_ended_and_the_pool_says_so(start: Start, pools: kube.Pools, namespace: str) -> None:
    pools.create_with(name="a").accepted()
    label(pools, "a", slow="yes")
    operator = start("--pass-timeout=5s")

    wait_for_event(pools, namespace, "a", "RunTimeout")
    (ready,) = pools.read("a")["status"]["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "False", "RunTimeout")
    assert "5 s, its limit" in ready["message"]
    assert operator.lines("Pass ended")[0]["outcome"] == "timeout"
    # The workers it left become the operator's to bury.
    label(pools, "a", slow=None)
    kube.wait_until(lambda: operator.passes()["a"] >= 2 and not operator.defunct(), "no defunct process", seconds=60)


@pytest.mark.condition("Ready", "RunFailed")
def test_a_failed_pass_shows_in_the_pool_with_the_task_and_what_it_said(
    start: Start, pools: kube.Pools, namespace: str
) -> None:
    pools.create_with(name="a").accepted()
    label(pools, "a", broken="yes")
    start()
    wait_for_event(pools, namespace, "a", "RunFailed")
    (ready,) = pools.read("a")["status"]["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "False", "RunFailed")
    said = "The last pass failed in Fail where a pool says so: PATCH /there: HTTP 422: {{ refused }}"
    assert ready["message"] == said


def wait_for_event(pools: kube.Pools, namespace: str, pool: str, reason: str) -> None:
    """Return when the pool has an event with that reason."""

    def recorded() -> bool:
        events = pools.server.call("GET", f"/api/v1/namespaces/{namespace}/events").accepted()["items"]
        return any((one["reason"], one["involvedObject"]["name"]) == (reason, pool) for one in events)

    kube.wait_until(recorded, f"the event {reason}", seconds=60)


@pytest.mark.case("B8")
def test_the_end_lets_a_running_pass_have_its_grace_and_leaves_no_files(
    start: Start, pools: kube.Pools, tmp_path: pathlib.Path
) -> None:
    pools.create_with(name="a").accepted()
    label(pools, "a", slow="yes")
    operator = start("--shutdown-grace=1s", "--zap-log-level=debug")
    kube.wait_until(lambda: bool(list((tmp_path / "data-0" / "passes").iterdir())), "the pass")
    assert operator.end() == 0
    assert [line["outcome"] for line in operator.lines("Pass ended")] == ["cancelled"]
    assert operator.lines("Ended")[0]["passes_cut_off"] is True
    assert [path.name for path in (tmp_path / "data-0").iterdir()] == ["lock"]


def test_a_start_without_a_cluster_fails_and_says_why(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kubeconfig").write_text("apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n")
    (tmp_path / "reconcile.yml").write_text("[]")
    command = [sys.executable, "-P", "-m", "nova_compute_operator", f"--playbook={tmp_path / 'reconcile.yml'}"]
    environment = os.environ | {
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "PYTHONPATH": str(TREE / "operator"),
        "TMPDIR": str(tmp_path),
    }
    ended = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert json.loads(ended.stderr.splitlines()[-1])["msg"] == "Cannot start"
    assert b"Traceback" not in ended.stderr


def left_by(operator: Running) -> list[int]:
    """The processes of its passes, by the mark that each carries."""
    return [pid for pid, mark in processes._carriers() if mark.split(".")[1] == str(operator.process.pid)]


def test_a_pass_of_a_killed_operator_does_not_work_on_beside_the_next_ones(start: Start, pools: kube.Pools) -> None:
    pools.create_with(name="a").accepted()
    label(pools, "a", slow="yes")
    first = start()
    kube.wait_until(lambda: bool(left_by(first)), "a process of the pass")
    first.end(signal.SIGKILL)
    label(pools, "a", slow=None)
    second = start()
    # Whichever operator of this machine ended them: any that starts does.
    assert left_by(first) == []
    second.wait_for_passes(a=1)


def holder(pools: kube.Pools, namespace: str) -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}"
    reply = pools.server.call("GET", path)
    return str(reply.body["spec"].get("holderIdentity", "")) if reply.status == 200 else ""


@pytest.mark.case("B24")
def test_of_two_operators_one_works_and_the_other_takes_over_at_once(
    start: Start, pools: kube.Pools, namespace: str
) -> None:
    pools.create_with(name="a").accepted()
    flags = ("--leader-elect", f"--leader-election-namespace={namespace}")
    first = start(*flags)
    first.wait_for_passes(a=1)
    second = start(*flags, ready=False)
    second.wait_for("Waiting for the Lease")
    assert first.end() == 0
    second.wait_for_passes(a=1)
    assert holder(pools, namespace).split("_")[1] == str(second.process.pid)
    assert second.end() == 0
    assert holder(pools, namespace) == ""


@pytest.mark.case("B24")
def test_an_operator_that_loses_the_lease_ends_with_a_failure(start: Start, pools: kube.Pools, namespace: str) -> None:
    operator = start("--leader-elect", f"--leader-election-namespace={namespace}")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}"

    def stolen() -> bool:
        lease = pools.server.call("GET", path).accepted()
        lease["spec"] |= {"holderIdentity": "thief", "leaseDurationSeconds": 600}
        return pools.server.call("PUT", path, lease).status == 200

    kube.wait_until(stolen, "the theft")
    assert operator.process.wait(60) == 1
    assert operator.lines("Ending, to be started anew")[0]["reason"] == "the Lease was lost"
    assert holder(pools, namespace) == "thief"


@pytest.mark.case("B29")
def test_the_data_of_a_secret_does_not_reach_the_operator(
    pools: kube.Pools, namespace: str, kubeconfig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    data = {"password": base64.b64encode(b"canary").decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nova-compute-config"}, "data": data}
    pools.server.call("POST", f"/api/v1/namespaces/{namespace}/secrets", secret).accepted()
    kind = next(kind for kind in triggers.KINDS if kind.name == "Secret")
    items = [item for page in api.ApiServer.connect().pages(kind, namespace) for item in page.items]
    assert [item["metadata"]["name"] for item in items] == ["nova-compute-config"]
    assert not [item for item in items if "data" in item or data["password"] in json.dumps(item)]
