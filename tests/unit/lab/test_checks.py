# SPDX-License-Identifier: Apache-2.0
"""What a machine lacks is said before anything is started, with the way out, to the letter."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import sys

import pytest
from novalab import checks, errors

MEBI = 1024**2
GIBI = 1024**3
TOOLS = {"ip", "mount", "unshare", "nice"}
NO_OVERLAY = "mount: /mnt: permission denied"

NEEDS_LINUX = "the lab needs Linux namespaces: run it in a Linux virtual machine"
NEEDS_ROOT = (
    "the lab needs root: it mounts file systems, changes roots and adds addresses to lo. "
    "Run it as root ('sudo -E make lab'), in a virtual machine if you prefer"
)
NEEDS_ROOM = (
    "{folder} has {free} MiB free and a lab needs 1 GiB: make room, or set LAB_STATE to a folder on another disk "
    "(its path short: sockets lie below it)"
)
NEEDS_NAMESPACES = (
    f"this machine does not let root make namespaces and overlay mounts ({NO_OVERLAY}). In a container, start it with "
    "--privileged; else load the kernel module overlay, or use a virtual machine"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """What the checks look at; nothing is missing unless a row says so."""

    platform: str = "linux"
    without: frozenset[str] = frozenset()
    user: int = 0
    free: int = GIBI
    #: What is said of an attempt to make a container's root; empty where it succeeds.
    refusal: str = ""


#: Name to a machine and what is said of it. `folder` is the one in which its labs would be made.
LACKS = {
    "Linux": (Machine(platform="darwin"), NEEDS_LINUX),
    "ip": (Machine(without=frozenset({"ip"})), "'ip' is missing: install the package iproute2"),
    "mount": (Machine(without=frozenset({"mount"})), "'mount' is missing: install the package mount"),
    "unshare": (Machine(without=frozenset({"unshare"})), "'unshare' is missing: install the package util-linux"),
    "nice": (Machine(without=frozenset({"nice"})), "'nice' is missing: install the package coreutils"),
    "root": (Machine(user=1000), NEEDS_ROOT),
    "room": (Machine(free=GIBI - MEBI), NEEDS_ROOM.replace("{free}", "1023")),
    "namespaces": (Machine(refusal=NO_OVERLAY), NEEDS_NAMESPACES),
    # Of several things the one is named without which the others cannot be mended.
    "Linux and all else": (
        Machine(platform="darwin", without=frozenset(TOOLS), user=1000, free=0, refusal=NO_OVERLAY),
        NEEDS_LINUX,
    ),
    "tools and all else": (
        Machine(without=frozenset(TOOLS), user=1000, free=0, refusal=NO_OVERLAY),
        "'ip' is missing: install the package iproute2",
    ),
    "root and all else": (Machine(user=1000, free=0, refusal=NO_OVERLAY), NEEDS_ROOT),
    "room and namespaces": (Machine(free=0, refusal=NO_OVERLAY), NEEDS_ROOM.replace("{free}", "0")),
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder in which the first lab will make that of all labs."""
    monkeypatch.setenv("LAB_STATE", str(tmp_path / "labs" / "mine"))
    return tmp_path


def enter(machine: Machine, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the checks find this machine. What `unshare` is given lies in the folder then, a word on each line."""
    programs = folder / "bin"
    programs.mkdir()
    for tool in TOOLS - machine.without:
        ends = f"echo '{machine.refusal}' >&2; exit 1" if machine.refusal else "exit 0"
        (programs / tool).write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{folder}/{tool}\n{ends}\n')
        (programs / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(sys, "platform", machine.platform)
    monkeypatch.setattr(os, "geteuid", lambda: machine.user)
    usage = shutil.disk_usage(folder)
    # Of the folder that is there: the one of the labs is made later, on the same disk.
    monkeypatch.setattr(shutil, "disk_usage", {folder: usage._replace(free=machine.free)}.__getitem__)


@pytest.mark.parametrize(("machine", "said"), LACKS.values(), ids=LACKS)
def test_machine_that_lacks_something_is_told_what_and_the_way_out(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, machine: Machine, said: str
) -> None:
    enter(machine, folder, monkeypatch)
    with pytest.raises(errors.LabError) as raised:
        checks.before_up()
    assert str(raised.value) == said.replace("{folder}", str(folder))


def test_machine_that_lacks_nothing_is_tried_with_the_mounts_of_a_container(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(Machine(), folder, monkeypatch)
    checks.before_up()
    *words, script = (folder / "unshare").read_text().splitlines()
    assert words == ["--mount", "--pid", "--uts", "--ipc", "--fork", "--propagation", "private", "sh", "-c"]
    assert "mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work lab /mnt/root" in script
