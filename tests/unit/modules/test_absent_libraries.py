# SPDX-License-Identifier: Apache-2.0
"""A Python without the client libraries: modules and plugins are still imported, and say what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PLUGINS = "ansible_collections.c5c3.nova.plugins"
WITHOUT = "import sys; sys.modules.update(dict.fromkeys({names!r}))\n"


def without(names: list[str], program: str) -> str:
    """What a program prints for which importing these libraries fails."""
    script = WITHOUT.format(names=names) + program
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": "collections"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["kubernetes"], "kubernetes"),
        (["keystoneauth1"], "keystoneauth1"),
        # The library for Kubernetes cannot be imported without them either.
        (["requests"], "keystoneauth1, kubernetes, requests"),
        (["yaml"], "PyYAML, kubernetes"),
    ],
)
def test_module_says_what_to_install(names: list[str], told: str) -> None:
    program = (
        f"import json; from {PLUGINS}.module_utils import entry; from {PLUGINS}.modules import server_count as module\n"
        "task = entry.Task(params={})\n"
        "print(json.dumps(entry.outcome(module.run, task, module='server_count')))"
    )
    result = json.loads(without(names, program))
    assert result["failed"]
    assert result["msg"].startswith(f"{sys.executable} lacks {told}: ")


def test_nothing_is_missing_where_all_libraries_are() -> None:
    program = (
        f"from {PLUGINS}.modules import server_count, daemonset; from {PLUGINS}.module_utils import absent\n"
        "print(repr(absent.complaint()))"
    )
    assert without([], program) == "''\n"
