# SPDX-License-Identifier: Apache-2.0
"""Where the control plane's programs are taken from, and what is said when they cannot be had."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest
import rich.console
from novalab import errors, progress
from novalab.kubernetes import programs


@pytest.fixture
def tell() -> progress.Part:
    return progress.Board(rich.console.Console(quiet=True)).part("Kubernetes")


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program on the PATH, nothing built yet."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LAB_KUBERNETES_BIN", raising=False)
    (tmp_path / "bin").mkdir()


def fill(folder: pathlib.Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in (*programs.CONTROL_PLANE, *programs.KWOK):
        (folder / name).touch(mode=0o755)


def test_folder_of_the_user_comes_before_the_path(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tell: progress.Part
) -> None:
    fill(tmp_path / "bin")
    fill(tmp_path / "own")
    monkeypatch.setenv("LAB_KUBERNETES_BIN", str(tmp_path / "own"))
    assert programs.find_or_build(tell)["etcd"] == tmp_path / "own/etcd"


def test_programs_on_the_path_are_taken_before_anything_is_built(tmp_path: pathlib.Path, tell: progress.Part) -> None:
    fill(tmp_path / "bin")
    assert programs.find_or_build(tell)["kwokctl"] == tmp_path / "bin/kwokctl"


def test_folder_of_the_user_that_lacks_a_program_is_refused_by_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tell: progress.Part
) -> None:
    fill(tmp_path / "own")
    (tmp_path / "own/kwok").unlink()
    monkeypatch.setenv("LAB_KUBERNETES_BIN", str(tmp_path / "own"))
    with pytest.raises(errors.LabError, match="lacks kwok: put them there, or unset LAB_KUBERNETES_BIN"):
        programs.find_or_build(tell)


def test_missing_go_is_named_with_both_ways_out(monkeypatch: pytest.MonkeyPatch, tell: progress.Part) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(errors.LabError, match=r"Install Go 1\.26 or newer .* or set LAB_KUBERNETES_BIN"):
        programs.find_or_build(tell)


def test_full_disk_is_named_before_a_build_begins(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tell: progress.Part
) -> None:
    go = tmp_path / "bin/go"
    go.write_text(f"#!/bin/sh\necho {tmp_path}/gocache\necho {tmp_path}/gomod\n")
    go.chmod(0o755)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1024**3))
    with pytest.raises(errors.LabError, match=r"has 1\.0 GiB free, .* point GOCACHE and GOMODCACHE"):
        programs.find_or_build(tell)


def test_failed_build_shows_the_end_of_its_log(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tell: progress.Part
) -> None:
    go = tmp_path / "bin/go"
    go.write_text('#!/bin/sh\ntest "$1" = env && exit\necho no module proxy >&2\nexit 1\n')
    go.chmod(0o755)
    with pytest.raises(errors.LabError, match="failed in") as caught:
        programs.find_or_build(tell)
    assert "no module proxy" in caught.value.evidence()


def test_version_of_kubernetes_is_read_from_its_module() -> None:
    assert programs._version(programs._MODULE) == ("1", "37", "2")
