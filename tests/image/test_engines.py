# SPDX-License-Identifier: Apache-2.0
"""The engine of our own, and the stand-in for the base: nothing is left of one, nothing of a machine in the tree."""

from __future__ import annotations

import pathlib

import pytest
from image import bases, containers, engines, machine


def test_nothing_is_left_of_an_engine_that_ran_a_container() -> None:
    before = of_every_engine()
    with engines.own() as engine:
        folder = pathlib.Path(engine.environment["DOCKER_CONFIG"]).parent
        base = bases.find(engine)
        with containers.started(engine, "--network=none", base, "sleep", "infinity") as container:
            assert container.state["Running"]
            assert len(engines.leftovers(folder)) > 4, "a process, a mount, a control group and a folder at least"
        # One that nobody took away.
        engine.output("run", "--detach", "--network=none", base, "sleep", "infinity")
    assert engines.leftovers(folder) == []
    assert of_every_engine() == before


def of_every_engine() -> set[pathlib.Path]:
    """What is where any engine of the machine may keep something."""
    places = (
        "/run/docker",
        "/run/containerd",
        "/etc/docker",
        "/opt/containerd",
        "/var/lib/docker",
        "/var/lib/containerd",
    )
    return {path for place in map(pathlib.Path, places) for path in (place, *place.rglob("*")) if path.exists()}


def test_nothing_is_left_of_an_engine_under_which_its_caller_failed() -> None:
    known: list[pathlib.Path] = []
    with pytest.raises(ZeroDivisionError):
        fail_under_an_engine(known)
    assert [engines.leftovers(folder) for folder in known] == [[]]


def fail_under_an_engine(known: list[pathlib.Path]) -> None:
    """Note the folder of an engine, and fail while it runs."""
    with engines.own() as engine:
        known.append(pathlib.Path(engine.environment["DOCKER_CONFIG"]).parent)
        raise ZeroDivisionError


def test_a_machine_without_settings_of_its_own_gives_a_base_none(tmp_path: pathlib.Path) -> None:
    assert machine.build_flags({}) == ["--network", "host"]
    assert "index-url" not in machine.pip_settings({"HOME": str(tmp_path)})


def test_the_settings_of_pip_and_the_certificates_go_along(tmp_path: pathlib.Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificates")
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://one.example/simple\ntimeout = 5\n")
    environment = {
        "HOME": str(tmp_path),
        "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
        "PIP_DEFAULT_TIMEOUT": "60",
        "PIP_FIND_LINKS": "/a/folder/of/the/machine",
        "PIP_CERT": str(bundle),
    }
    found = machine.files(environment)
    assert found[machine.BUNDLE] == b"certificates"
    lines = found["etc/pip.conf"].decode().splitlines()
    assert lines[0] == "[global]"
    assert {"index-url = https://one.example/simple", "timeout = 60", f"cert = /{machine.BUNDLE}"} <= set(lines)
    assert not [line for line in lines if "folder" in line]


def test_proxies_are_named_to_a_build_and_not_written_down() -> None:
    flags = machine.build_flags({"HTTPS_PROXY": "http://user:secret@proxy.example:3128"})
    assert flags == ["--network", "host", "--build-arg", "HTTPS_PROXY"]
