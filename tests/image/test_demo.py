# SPDX-License-Identifier: Apache-2.0
"""`make demo IMAGE=1`: the operator of the image, with a read-only root, does all that the demo shows."""

from __future__ import annotations

import subprocess

import pytest
from e2e.world import logs, stand
from image import bases, engines

#: What a program says that may not write, or not read, where it wants to.
DENIED = ("Read-only file system", "Permission denied")


@pytest.mark.page("README.md", "make demo IMAGE=1")
@pytest.mark.page("README.md", "make image")
def test_demo_passes_with_the_operator_running_from_the_image(
    engine: engines.Engine, image: str, the_stand: stand.Stand
) -> None:
    done = subprocess.run(
        ["make", f"--directory={bases.TREE}", "demo", "IMAGE=1"],
        # What was said to a make that runs these tests is not said to this one.
        env={**the_stand.environment, **engine.environment, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "docker run" in done.stdout
    assert f" {image} " in done.stdout
    assert the_stand.cluster.all("NovaCompute") == []
    assert (the_stand.cloud.services(), the_stand.cloud.servers()) == ({}, [])

    log = the_stand.lab.logs / "operator.log"
    outcomes = [line["outcome"] for line in logs.passes(logs.lines([log]))]
    assert "done" in outcomes
    assert set(outcomes) <= {"done", "cancelled"}, "a pass has failed, which without a read-only root it would not"
    assert [line for line in log.read_text().splitlines() if any(denied in line for denied in DENIED)] == []
    assert "nova-compute-operator" not in engine.output("ps", "--all", "--format", "{{.Names}}")
