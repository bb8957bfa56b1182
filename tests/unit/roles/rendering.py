# SPDX-License-Identifier: Apache-2.0
"""What the tests of rendered templates share: one call renders for many pools."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

PROGRAM = pathlib.Path(__file__).with_name("render.py")


def render(role: str, task: str, argument: str, variables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``{"value": ...}`` or ``{"error": ...}`` for each of the variables."""
    request = {"role": role, "task": task, "argument": argument, "variables": variables}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def pool(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "pool-a", "namespace": "openstack", "uid": "uid-a"}
    return {"metadata": metadata, "spec": {"nodeSelector": {"pool": "a"}, **spec}}
