# SPDX-License-Identifier: Apache-2.0
"""Ending what a pass started, whatever it did to get away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import pytest
from nova_compute_operator import processes

# A child in a session of its own, which ignores SIGTERM, and a grandchild whose parent is gone.
RUNAWAY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    os._exit(0)
os.setsid()
subprocess.Popen([sys.executable, '-c', 'import time; print("up", flush=True); time.sleep(600)'])
time.sleep(600)
"""


@pytest.fixture
def mark() -> Iterator[str]:
    made = processes.mark_of(uuid.uuid4().hex)
    yield made
    processes.end(made)


def test_every_process_of_a_pass_is_ended_whatever_session_it_is_in(mark: str) -> None:
    environment = os.environ | {processes.MARK: mark}
    with subprocess.Popen([sys.executable, "-c", RUNAWAY], env=environment, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        assert len(processes.marked(mark)) == 2
        assert processes.end(mark) == 2
    assert processes.marked(mark) == []


def test_a_pass_that_has_ended_has_nothing_to_end(mark: str) -> None:
    assert processes.end(mark) == 0


def test_another_passes_processes_are_left_alone(mark: str) -> None:
    environment = os.environ | {processes.MARK: mark}
    with subprocess.Popen(["sleep", "600"], env=environment) as other:
        processes.end(processes.mark_of(uuid.uuid4().hex))
        assert other.poll() is None
        processes.end(mark)


def test_what_a_killed_operator_left_is_ended_and_what_a_living_one_runs_is_not(mark: str) -> None:
    namespace, pid, start_time, _ = mark.split(".")
    gone = f"{namespace}.{pid}.{int(start_time) - 1}.{uuid.uuid4().hex}"
    # The ids of a container's processes mean nothing outside of it.
    elsewhere = f"{int(namespace) + 1}.{pid}.{int(start_time) - 1}.{uuid.uuid4().hex}"
    with (
        subprocess.Popen(["sleep", "600"], env=os.environ | {processes.MARK: elsewhere}) as foreign,
        subprocess.Popen(["sleep", "600"], env=os.environ | {processes.MARK: gone}) as left,
        subprocess.Popen(["sleep", "600"], env=os.environ | {processes.MARK: mark}) as running,
    ):
        assert processes.end_leftovers() >= 1
        assert left.wait(10) == -signal.SIGKILL
        assert running.poll() is None
        assert foreign.poll() is None
        processes.end(mark)
        processes.end(elsewhere)


def dead_child() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


@pytest.mark.case("B7")
def test_the_dead_are_buried_only_when_nobody_came_for_them() -> None:
    undertaker = processes.Undertaker()
    pid = dead_child()
    now = time.monotonic()
    assert pid not in undertaker.sweep(now)
    assert pid not in undertaker.sweep(now + processes.ORPHAN_SECONDS - 1)
    assert pid in undertaker.sweep(now + processes.ORPHAN_SECONDS)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_a_child_that_somebody_waits_for_is_left_to_them() -> None:
    undertaker = processes.Undertaker()
    pid = dead_child()
    now = time.monotonic()
    undertaker.sweep(now)
    assert os.waitpid(pid, 0)[0] == pid
    assert pid not in undertaker.sweep(now + processes.ORPHAN_SECONDS)


def test_orphans_of_a_pass_become_children_of_the_operator() -> None:
    program = (
        "import os, subprocess, sys\n"
        "from nova_compute_operator import processes\n"
        "assert processes.adopt_orphans()\n"
        "pid = int(subprocess.run(['sh', '-c', 'sleep 600 >/dev/null 2>&1 & echo $!'], capture_output=True).stdout)\n"
        "parent = open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1]\n"
        "os.kill(pid, 9)\n"
        "print(int(parent) == os.getpid())\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(
        [sys.executable, "-P", "-c", program], env=environment, capture_output=True, check=True, timeout=60
    )
    assert said.stdout == b"True\n"
