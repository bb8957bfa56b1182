# SPDX-License-Identifier: Apache-2.0
"""Packages that the machine lacks are installed where that is possible, and else named, to the letter."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable

import pytest
import rich.console
from novalab import errors, ovsdb, progress
from novalab.openstack import installation

INSTALL = "apt-get install --yes --no-install-recommends"
NAMES_SERVERS = (
    f"the lab needs {{}}. As root: {INSTALL} {{}} (other distributions have packages of the same names); their "
    "services need not run"
)
OPEN_VSWITCH = ("ovsdb-server", "ovsdb-tool", "ovsdb-client", "vswitch.ovsschema")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """What is asked of a machine before something is installed."""

    #: Of the servers of OpenStack, and of Open vSwitch.
    has: frozenset[str] = frozenset()
    user: int = 0
    #: How `apt-get` ends; there is none for None.
    apt: int | None = 1


@pytest.fixture
def tell() -> progress.Part:
    return progress.Board(rich.console.Console(quiet=True)).part("any")


def enter(machine: Machine, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the installers find this machine. What `apt-get` was told lies in the folder, a call on each line."""
    programs = folder / "bin"
    programs.mkdir()
    if machine.apt is not None:
        (programs / "apt-get").write_text(f'#!/bin/sh\necho "$@" >>{folder}/told\nexit {machine.apt}\n')
    for name in machine.has:
        (programs / name).touch()
    for path in programs.iterdir():
        path.chmod(0o755)
    postgresql = folder / "postgresql" / "17" / "bin"
    if "postgresql" in machine.has:
        postgresql.mkdir(parents=True)
        (postgresql / "initdb").touch()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("LAB_CACHE", str(folder / "cache"))
    monkeypatch.setattr(os, "geteuid", lambda: machine.user)
    monkeypatch.setattr(installation, "RABBITMQ_SERVER", programs / "rabbitmq-server")
    monkeypatch.setattr(installation, "_POSTGRESQL", folder / "postgresql")
    monkeypatch.setattr(ovsdb, "_SCHEMA", programs / "vswitch.ovsschema")


#: Name to a machine, what is said of its servers, and the log that tells more.
LACKS_A_SERVER = {
    "both, and is no Debian": (
        Machine(apt=None),
        NAMES_SERVERS.format("rabbitmq-server and postgresql", "rabbitmq-server postgresql"),
        None,
    ),
    "one, and the rights of root": (
        Machine(has=frozenset({"postgresql"}), user=1000, apt=0),
        NAMES_SERVERS.format("rabbitmq-server", "rabbitmq-server"),
        None,
    ),
    "one, and an archive": (
        Machine(has=frozenset({"rabbitmq-server"})),
        f"'{INSTALL} postgresql' failed: install them by hand",
        "apt-openstack.log",
    ),
}


def test_machine_without_the_environment_of_the_project_is_told_how_to_make_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tell: progress.Part
) -> None:
    enter(Machine(has=frozenset({"postgresql", "rabbitmq-server"})), tmp_path, monkeypatch)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    with pytest.raises(errors.LabError) as raised:
        installation.install(tell)
    assert str(raised.value) == f"{tmp_path}/bin/uv is missing: run 'make venv' in the repository first"


NAMES_OPEN_VSWITCH = (
    "{} of Open vSwitch is missing: install the packages openvswitch-common and openvswitch-switch (Fedora: "
    "openvswitch); their services need not run"
)
#: Name to a machine, what is said of Open vSwitch, and the log that tells more.
LACKS_OPEN_VSWITCH = {
    "all of it, and is no Debian": (
        Machine(apt=None),
        NAMES_OPEN_VSWITCH.format("ovsdb-server, ovsdb-tool, ovsdb-client"),
        None,
    ),
    "a program, and the rights of root": (
        Machine(has=frozenset(OPEN_VSWITCH) - {"ovsdb-tool"}, user=1000, apt=0),
        NAMES_OPEN_VSWITCH.format("ovsdb-tool"),
        None,
    ),
    "the schema, and the rights of root": (
        Machine(has=frozenset(OPEN_VSWITCH[:3]), user=1000, apt=0),
        NAMES_OPEN_VSWITCH.format("vswitch.ovsschema"),
        None,
    ),
    "all of it, and an archive": (
        Machine(),
        f"'{INSTALL} openvswitch-common' failed; install the package by hand",
        "apt-openvswitch.log",
    ),
    "the schema, and an archive": (
        Machine(has=frozenset(OPEN_VSWITCH[:3])),
        "'apt-get download openvswitch-switch' failed; install the package by hand",
        "apt-openvswitch.log",
    ),
}


@pytest.mark.parametrize(
    ("install", "machine", "said", "log"),
    [
        *((installation.install, *row) for row in LACKS_A_SERVER.values()),
        *((ovsdb.install, *row) for row in LACKS_OPEN_VSWITCH.values()),
    ],
    ids=[*(f"servers: {name}" for name in LACKS_A_SERVER), *(f"Open vSwitch: {name}" for name in LACKS_OPEN_VSWITCH)],
)
def test_machine_that_lacks_something_is_told_which_packages_have_it(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    tell: progress.Part,
    *,
    install: Callable[[progress.Part], object],
    machine: Machine,
    said: str,
    log: str | None,
) -> None:
    enter(machine, tmp_path, monkeypatch)
    with pytest.raises(errors.LabError) as raised:
        install(tell)
    assert (str(raised.value), raised.value.log) == (said, log and tmp_path / "cache" / log)


@pytest.mark.parametrize("install", [installation.install, ovsdb.install], ids=["servers", "Open vSwitch"])
def test_lists_of_packages_are_fetched_before_an_installation_is_given_up(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    tell: progress.Part,
    install: Callable[[progress.Part], object],
) -> None:
    enter(Machine(), tmp_path, monkeypatch)
    with pytest.raises(errors.LabError):
        install(tell)
    first, update, *_ = (tmp_path / "told").read_text().splitlines()
    assert first.endswith(("rabbitmq-server postgresql", "openvswitch-common"))
    assert update.endswith("update")
