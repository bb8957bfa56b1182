# SPDX-License-Identifier: Apache-2.0
"""Passes of a real playbook through the real ansible-runner; only the inventory needs no API server."""

from __future__ import annotations

import json
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from nova_compute_operator import folders, outcomes, passes, processes

POOL = "openstack/pool-a"

PLAYBOOK = """
- name: One pass
  hosts: all
  gather_facts: false
  tasks:
    - name: Ask for a look
      ansible.builtin.set_stats:
        data:
          next_look_seconds: 15
        per_host: "{{ per_host }}"
    - name: Write down what is seen
      ansible.builtin.copy:
        content: "{{ {'home': lookup('env', 'HOME'), 'kubeconfig': lookup('env', 'KUBECONFIG'),
                      'policy': nova_compute_default_image_pull_policy, 'hosts': ansible_play_hosts_all} | to_json }}"
        dest: "{{ seen }}"
        mode: "0600"
      when: seen is defined
    - name: Fail as told
      ansible.builtin.fail:
        msg: "GET /os-services: HTTP 503"
      when: doing == 'fail'
    - name: Hang as told
      ansible.builtin.shell: "setsid sleep 600 & echo $NOVA_COMPUTE_PASS > {{ started }}; sleep 600"
      when: doing == 'hang'
"""


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Iterator[folders.Folders]:
    made = folders.Folders(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def make(tmp_path: pathlib.Path, store: folders.Folders) -> Callable[..., passes.Passes]:
    """Passes over one host that does what the variables say."""
    playbook = tmp_path / "project" / "playbooks" / "reconcile.yml"
    playbook.parent.mkdir(parents=True)
    playbook.write_text(PLAYBOOK)

    def passes_that(
        *, policy: str = "", clock: Callable[[], float] = time.monotonic, **variables: Any
    ) -> passes.Passes:
        host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "per_host": True}
        return passes.Passes(
            playbook=playbook,
            store=store,
            timeout=600,
            clock=clock,
            default_image_pull_policy=policy,
            inventory=lambda _: {"all": {"hosts": {POOL: host | {"doing": "nothing"} | variables, "other/pool": host}}},
        )

    return passes_that


@pytest.mark.parametrize("per_host", [True, False])
def test_a_pass_reports_when_it_wants_to_be_looked_at_again(
    make: Callable[..., passes.Passes],
    per_host: bool,  # noqa: FBT001
) -> None:
    outcome = make(per_host=per_host).run(POOL, passes.Cancel())
    assert (outcome.verdict, outcome.next_look, outcome.failure) == (outcomes.Verdict.DONE, 15.0, None)


def test_a_pass_sees_its_one_host_the_kubeconfig_and_the_pull_policy(
    make: Callable[..., passes.Passes], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/some/kubeconfig")
    outcome = make(seen=str(tmp_path / "seen"), policy="IfNotPresent").run(POOL, passes.Cancel())
    seen = json.loads((tmp_path / "seen").read_text())
    assert (seen["kubeconfig"], seen["policy"], seen["hosts"]) == ("/some/kubeconfig", "IfNotPresent", [POOL])
    assert outcome.changed == 1


@pytest.mark.case("B2")
def test_a_pass_writes_nothing_outside_its_folder(
    make: Callable[..., passes.Passes], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    make(seen=str(tmp_path / "seen")).run(POOL, passes.Cancel())
    assert (list(home.iterdir()), list(temporary.iterdir())) == ([], [])


def test_a_failed_pass_names_the_task_and_its_message(make: Callable[..., passes.Passes]) -> None:
    outcome = make(doing="fail").run(POOL, passes.Cancel())
    assert outcome.verdict is outcomes.Verdict.FAILED
    assert outcome.failure == outcomes.Failure(step="", task="Fail as told", message="GET /os-services: HTTP 503")


def test_a_pass_without_its_playbook_fails_and_says_so(
    make: Callable[..., passes.Passes], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "project" / "playbooks" / "reconcile.yml").unlink()
    outcome = make().run(POOL, passes.Cancel())
    assert outcome.verdict is outcomes.Verdict.FAILED
    assert outcome.failure is not None
    assert "reconcile.yml" in outcome.failure.message


def mark_of_started(path: pathlib.Path) -> str:
    """The mark of the pass whose task has written it down."""
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, "the task did not start"
        time.sleep(0.05)
    return path.read_text().strip()


def test_a_hung_pass_is_ended_at_its_deadline_with_all_its_processes(
    make: Callable[..., passes.Passes], tmp_path: pathlib.Path
) -> None:
    started = tmp_path / "started"
    # The deadline comes when the task hangs, however slow the machine is.
    clock = lambda: 1e6 if started.exists() and started.read_text().strip() else 0.0  # noqa: E731
    outcome = make(doing="hang", started=str(started), clock=clock).run(POOL, passes.Cancel())
    assert outcome.verdict is outcomes.Verdict.TIMEOUT
    assert processes.marked(mark_of_started(started)) == []


def test_a_cancelled_pass_ends_with_all_its_processes(
    make: Callable[..., passes.Passes], tmp_path: pathlib.Path
) -> None:
    started, cancel, ended = tmp_path / "started", passes.Cancel(), []
    runs = make(doing="hang", started=str(started))
    thread = threading.Thread(target=lambda: ended.append(runs.run(POOL, cancel)))
    thread.start()
    mark = mark_of_started(started)
    # ansible-playbook, its worker, the shell, and two sleepers, one in a session of its own.
    assert len(processes.marked(mark)) >= 5
    cancel.set()
    thread.join(60)
    assert [outcome.verdict for outcome in ended] == [outcomes.Verdict.CANCELLED]
    assert processes.marked(mark) == []


@pytest.mark.case("B9")
def test_two_passes_at_one_time_do_not_mix_their_outcomes(make: Callable[..., passes.Passes]) -> None:
    ended: dict[str, outcomes.Outcome] = {}

    def run(doing: str) -> None:
        ended[doing] = make(doing=doing).run(POOL, passes.Cancel())

    threads = [threading.Thread(target=run, args=(doing,)) for doing in ("nothing", "fail")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert ended["nothing"].verdict is outcomes.Verdict.DONE
    assert ended["fail"].verdict is outcomes.Verdict.FAILED


def test_the_inventory_of_a_pool_is_data_whatever_its_name() -> None:
    assert passes.pool_inventory("ns/{{ 1/0 }}") == {"plugin": "c5c3.nova.pools", "pool": "ns/{{ 1/0 }}"}
