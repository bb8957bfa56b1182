# SPDX-License-Identifier: Apache-2.0
"""`make demo`, as the README has it: it comes to a good end, and leaves nothing unless it shall."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from collections.abc import Mapping

import pytest
from e2e.world import cluster, stand

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.page("README.md", "See it, and prove it")
def test_demo_comes_to_a_good_end_and_takes_away_what_it_made(the_stand: stand.Stand) -> None:
    comes_to_a_good_end(the_stand, "make demo")


@pytest.mark.page("README.md", "{command}")
@pytest.mark.parametrize(
    "command", ["make demo TARGET=1", "make demo TARGET=1 TARGET_NOVA=1", "make demo TARGET=2 TARGET_NOVA=1"]
)
def test_demo_comes_to_a_good_end_elsewhere(the_stand: stand.Stand, command: str) -> None:
    comes_to_a_good_end(the_stand, command)


@pytest.mark.page("README.md", "{command}")
@pytest.mark.parametrize("command", ["KEEP=1 make demo"])
def test_demo_that_is_kept_runs_on_until_it_is_taken_away_as_it_says(the_stand: stand.Stand, command: str) -> None:
    name = f"{the_stand.lab.name}-kept"
    # A lab of its own, as somebody gets it who has none.
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"} | {"LAB": name}
    try:
        shown = output(environment, command)
        kept = stand.Stand.find(name)
        assert kept is not None
        (operator,) = kept.cluster.all("Pod", labels={"app.kubernetes.io/name": "nova-compute-operator"})
        assert cluster.is_ready(operator)
        assert kept.cloud.flavors() != {}
        assert re.findall(r"^To take it away: (.*)$", shown, re.MULTILINE) == [f"make lab-down LAB={name}"]
    finally:
        output(environment, f"make lab-down LAB={name}")
    assert stand.Stand.find(name) is None


def comes_to_a_good_end(the_stand: stand.Stand, command: str) -> None:
    # Its poll times are the specification's; the lab is the one of these tests, which it finds by its name.
    output(the_stand.environment, command)
    assert the_stand.cluster.all("NovaCompute") == []
    assert (the_stand.cloud.services(), the_stand.cloud.servers()) == ({}, [])


def output(environment: Mapping[str, str], command: str) -> str:
    """What the command prints that is typed in the tree. Raises AssertionError with its complaint when it fails."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
