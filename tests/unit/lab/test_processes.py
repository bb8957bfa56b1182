# SPDX-License-Identifier: Apache-2.0
"""Programs in the background: found again, ended, and found when they were left behind."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from novalab import processes


@pytest.fixture
def daemon(tmp_path: pathlib.Path) -> Iterator[processes.Daemon]:
    made = processes.Daemon(name="sleeper", record=tmp_path / "sleeper.json", log=tmp_path / "sleeper.log")
    yield made
    made.stop(grace=0)


def test_started_program_is_found_again(daemon: processes.Daemon, tmp_path: pathlib.Path) -> None:
    pid = daemon.start(["sleep", "60"], root=tmp_path)
    again = processes.Daemon(name="sleeper", record=daemon.record, log=daemon.log)
    assert again.pid == pid


def test_stopped_program_is_gone(daemon: processes.Daemon, tmp_path: pathlib.Path) -> None:
    pid = daemon.start(["sleep", "60"], root=tmp_path)
    daemon.stop()
    assert processes.started_at(pid) is None
    assert daemon.pid is None


def test_program_that_ignores_sigterm_is_killed(daemon: processes.Daemon, tmp_path: pathlib.Path) -> None:
    pid = daemon.start(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], root=tmp_path)
    daemon.stop(grace=0.1)
    assert processes.started_at(pid) is None


def test_pid_of_another_process_is_not_taken_for_ours(daemon: processes.Daemon) -> None:
    daemon.record.write_text(json.dumps({"pid": os.getpid(), "started": 1}))
    assert daemon.pid is None


def test_byte_code_may_be_written_by_programs_of_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in processes.clean_environment(pathlib.Path("/x"), {})


def test_marked_process_is_a_leftover(tmp_path: pathlib.Path) -> None:
    marked = {**os.environ, processes.MARKER: str(tmp_path)}
    with subprocess.Popen(["sleep", "60"], env=marked, start_new_session=True) as process:
        found = processes.leftovers(tmp_path)
        process.kill()
    assert [left.pid for left in found] == [process.pid]


def test_process_that_works_on_the_labs_files_is_a_leftover(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    with subprocess.Popen(["tail", "-f", f"{tmp_path}/file"], start_new_session=True) as process:
        found = processes.leftovers(tmp_path)
        process.kill()
    assert [left.why for left in found] == ["named in its arguments"]


def test_process_of_another_lab_is_none(tmp_path: pathlib.Path) -> None:
    marked = {**os.environ, processes.MARKER: f"{tmp_path}-two"}
    with subprocess.Popen(["sleep", "60"], env=marked, start_new_session=True) as process:
        found = processes.leftovers(tmp_path)
        process.kill()
    assert found == []
