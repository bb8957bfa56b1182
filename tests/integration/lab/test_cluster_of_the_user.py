# SPDX-License-Identifier: Apache-2.0
"""A lab on a cluster that somebody else owns: it takes nothing over, and takes away only what it brought."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import rich.console
from novalab import lab as labs
from novalab import progress
from novalab.kubernetes import cluster as clusters
from novalab.kubernetes import control_plane, programs


@pytest.fixture
def theirs(lab_command: Any, cluster: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A control plane without nodes, by a kubeconfig that is no lab's, as $KUBECONFIG."""
    host = type(lab_command)("host")
    one = labs.create("host")
    tell = progress.Board(rich.console.Console(quiet=True)).part("host")
    found = programs.find_or_build(tell)
    control_plane.up(one, found, tell)
    clusters.link(one, "kubectl", found["kubectl"])
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(one.kubeconfig.read_text())
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv("PATH", str(one.bin), prepend=":")
    yield type(cluster)(one, "default")
    host("down")


@pytest.fixture
def guest(lab_command: Any) -> Iterator[Any]:
    command = type(lab_command)("guest")
    yield command
    command.run("down")


def test_lab_brings_its_nodes_and_takes_only_them_away(theirs: Any, guest: Any, pod: Any) -> None:
    theirs.kubectl("create", "configmap", "mine", "--from-literal=a=b")
    guest("up", "--without-openstack")
    ours = type(theirs)(labs.find("guest"), labs.NAMESPACE)
    assert ours.run_to_end(pod("echo here")) == "here\n"
    guest("down")
    assert not theirs.exists("namespace", labs.NAMESPACE)
    assert theirs.get("nodes")["items"] == []
    assert theirs.exists("configmap", "mine")


def test_pods_of_other_namespaces_are_not_run_on_this_machine(theirs: Any, guest: Any, pod: Any) -> None:
    guest("up", "--without-openstack")
    theirs.apply(pod("echo no", name="foreign"))
    theirs.wait("pod", "foreign", lambda p: "nodeName" in p["spec"])
    # A pod that came later and was run shows that the agent has seen both.
    ours = type(theirs)(labs.find("guest"), labs.NAMESPACE)
    ours.run_to_end(pod("true", name="later"))
    assert theirs.get("pod", "foreign")["status"]["phase"] == "Pending"


def test_namespace_that_is_not_the_labs_is_left_alone(theirs: Any, guest: Any) -> None:
    theirs.kubectl("create", "namespace", labs.NAMESPACE)
    done = guest.run("up", "--without-openstack")
    assert done.returncode == 1
    assert f"has a namespace {labs.NAMESPACE} that is not the lab's" in " ".join(done.stderr.split())
    guest("down")
    assert theirs.exists("namespace", labs.NAMESPACE)
