# SPDX-License-Identifier: Apache-2.0
"""The playbooks as a person runs them: steps by tag, one screen in the end, an exit code for scripts."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ansible_runner
import pytest
from unit.clients import answering, draining

ROOT = pathlib.Path(__file__).parents[2]
RUNNER_CALLBACKS = pathlib.Path(ansible_runner.__file__).parent / "display_callback" / "callback"
STEPS = ("nova_resolve", "nodes", "config_render", "daemonset", "vpa", "aggregates", "traits", "services_drain")
# Arguments of every role are validated, also of one that does not run.
ROLE_OF_A_TASK = re.compile(r"^\s+(\w+) : (?!Validating).*TAGS:", re.MULTILINE)
Reply = answering.Reply


def pool(ready: str, target: str = "") -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "reason": "NotAllReady", "message": "One or more are not ready"}
    services = {"type": "ServicesReady", "status": ready, "reason": "WaitingForServices", "message": "none: compute-1"}
    return {
        "kind": "NovaCompute",
        "metadata": {"name": "pool-a", "namespace": "openstack", "uid": "uid", "generation": 1, "resourceVersion": "1"},
        "spec": {
            "novaRef": {"name": "nova"},
            "nodeSelector": {"pool": "a"},
            **({"targetClusterRef": {"name": target}} if target else {}),
        },
        "status": {
            "observedGeneration": 1,
            "conditions": [condition, services],
            "nodes": [{"name": "compute-1", "phase": "Draining", "instances": 1, "disabledReason": "\x1b[31mred"}],
        },
    }


class Cluster:
    """An API server with one pool, and no right to read anything but it, the events about it, and what a test adds."""

    ready = "False"

    def __init__(self) -> None:
        #: The cluster that the pool names.
        self.target = ""
        #: By path.
        self.answers: dict[str, Reply] = {}
        #: The paths that were asked for.
        self.asked: list[str] = []

    def answer(self, request: answering.Request) -> Reply:
        self.asked.append(request.path)
        if request.path in self.answers:
            return self.answers[request.path]
        if request.path.endswith("/novacomputes"):
            return Reply(body={"metadata": {}, "items": [pool(self.ready, self.target)]})
        if request.path.endswith("/novacomputes/pool-a"):
            return Reply(body=pool(self.ready, self.target))
        if request.path.endswith("/events"):
            event = {"metadata": {}, "reason": "ComputeServiceDisabled", "lastTimestamp": "2026-01-01T00:00:00Z"}
            return Reply(body={"metadata": {}, "items": [event]})
        return Reply(status=403, body={"kind": "Status", "message": "no right", "reason": "Forbidden"})


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def environment(cluster: Cluster, tmp_path: pathlib.Path) -> Iterator[dict[str, str]]:
    with answering.Server(cluster.answer).running() as server:
        content = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": server.url}}],
            "users": [{"name": "x", "user": {}}],
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(content), encoding="utf-8")
        yield {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "kubeconfig")}


def play(playbook: str, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook of the tree, from the tree, with the tree's own configuration."""
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", f"playbooks/{playbook}.yml", *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def screen(done: subprocess.CompletedProcess[str]) -> str:
    """What is below the recap."""
    return done.stdout.partition("\nNovaCompute ")[2]


def test_report_ends_with_one_screen_and_only_reads(environment: dict[str, str]) -> None:
    done = play("report", environment)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = screen(done)
    assert shown.startswith("openstack/pool-a\n")
    assert "ServicesReady   False    WaitingForServices   none: compute-1" in shown
    assert "compute-1   Draining" in shown
    assert "ComputeServiceDisabled" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(("ready", "code"), [("True", 0), ("False", 2)])
def test_exit_code_tells_a_script_whether_the_pool_is_ready(
    cluster: Cluster, environment: dict[str, str], ready: str, code: int
) -> None:
    cluster.ready = ready
    assert play("report", environment, "-e", "nova_compute_strict=true").returncode == code


def test_explanation_names_the_call_that_fails_and_what_to_do(environment: dict[str, str]) -> None:
    done = play("explain_drain", environment)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = screen(done)
    assert "compute-1 leaves openstack/pool-a" in shown
    assert "a call fails: GET /api/v1/namespaces/openstack/pods: HTTP 403: no right" in shown
    assert "do: whoever runs this lacks the right" in shown


def test_explanation_names_the_secret_that_is_refused_where_all_else_is_read(
    cluster: Cluster, environment: dict[str, str]
) -> None:
    cluster.answers = draining.answers()
    done = play("explain_drain", environment)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = screen(done)
    assert "1 server on its host when the pool last counted" in shown
    assert [line for line in shown.splitlines() if line.startswith("  * ")] == [
        f"  * a call fails: GET {draining.SECRET}: HTTP 403: no right"
    ]
    assert draining.PODS in cluster.asked


@pytest.mark.parametrize(
    ("options", "namespace"),
    [((), "c5c3-clusters"), (("-e", "nova_compute_clusters_namespace=elsewhere"), "elsewhere")],
)
def test_explanation_looks_for_no_other_cluster_where_the_registration_is_refused(
    cluster: Cluster, environment: dict[str, str], options: tuple[str, ...], namespace: str
) -> None:
    cluster.target = "edge"
    cluster.answers = draining.answers()
    done = play("explain_drain", environment, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in screen(done).splitlines() if line.startswith("  * ")] == [
        f"  * a call fails: GET /api/v1/namespaces/{namespace}/secrets/edge: HTTP 403: no right"
    ]
    assert draining.HERE.isdisjoint(cluster.asked)


def test_pass_tells_a_script_that_it_failed_and_at_which_call(environment: dict[str, str]) -> None:
    done = play("reconcile", environment, "--check", "-e", "nova_compute_strict=true")
    assert done.returncode == 2
    assert "Read where the pool and the Nova live, its release, its contract and its service user: GET" in screen(done)
    assert "(check mode: nothing was written)" in screen(done)


def test_runner_gets_events_and_no_screen(environment: dict[str, str], tmp_path: pathlib.Path) -> None:
    runner = {
        "ANSIBLE_CALLBACK_PLUGINS": str(RUNNER_CALLBACKS),
        "ANSIBLE_STDOUT_CALLBACK": "awx_display",
        "AWX_ISOLATED_DATA_DIR": str(tmp_path),
    }
    done = play("report", {**environment, **runner})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PLAY RECAP" in done.stdout
    assert screen(done) == ""


@pytest.mark.parametrize(
    ("tag", "roles"),
    [
        ("nova_resolve", ["nova_resolve", "nodes"]),
        ("nodes", ["nova_resolve", "nodes"]),
        ("config_render", ["nova_resolve", "nodes", "config_render"]),
        ("daemonset", ["nova_resolve", "nodes", "config_render", "daemonset"]),
        ("vpa", ["nova_resolve", "nodes", "vpa"]),
        ("aggregates", ["nova_resolve", "nodes", "aggregates"]),
        ("traits", ["nova_resolve", "nodes", "traits"]),
        ("services_drain", ["nova_resolve", "nodes", "config_render", "daemonset", "services_drain"]),
        ("all", list(STEPS)),
    ],
)
def test_tag_runs_its_step_and_those_that_it_rests_on(tag: str, roles: list[str], environment: dict[str, str]) -> None:
    done = play("reconcile", environment, "--list-tasks", "--tags", tag)
    assert list(dict.fromkeys(ROLE_OF_A_TASK.findall(done.stdout))) == roles, done.stdout + done.stderr
    for always in ("Hold the deletion", "Write the status", "Let a pool go", "Say when to look again"):
        assert always in done.stdout
