# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of the lab's nodes, against the running lab of $KUBECONFIG."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

LAB_FOLDER = pathlib.Path(__file__).resolve().parents[3] / "lab"
if str(LAB_FOLDER) not in sys.path:
    sys.path.insert(0, str(LAB_FOLDER))

from novalab import lab as labs  # noqa: E402 - the lab's folder is known only now


class LabCommand:
    """``lab/lab.py`` as a person runs it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.command = LAB_FOLDER / "lab.py"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(LAB_FOLDER / "lab.py"), *arguments, "--name", self.name]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    def __call__(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


class Cluster:
    """kubectl on one namespace, with waits that end in the evidence."""

    def __init__(self, lab: labs.Lab, namespace: str) -> None:
        self._kubectl = [str(lab.bin / "kubectl"), f"--kubeconfig={lab.kubeconfig}", f"--namespace={namespace}"]
        self.namespace = namespace

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run([*self._kubectl, *arguments], input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def apply(self, *manifests: dict[str, Any]) -> None:
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.kubectl("apply", "--filename=-", stdin=json.dumps(items))

    def get(self, kind: str, name: str = "", *options: str) -> Any:
        return json.loads(self.kubectl("get", kind, *([name] if name else []), *options, "--output=json"))

    def exists(self, kind: str, name: str) -> bool:
        return bool(self.kubectl("get", kind, name, "--ignore-not-found", "--output=name"))

    def wait(self, kind: str, name: str, good: Callable[[Any], bool], *, seconds: float = 30) -> Any:
        """The object once ``good`` holds for it."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.get(kind, name)
            if good(found):
                return found
            assert time.monotonic() < deadline, (
                f"{kind} {name} after {seconds} s: {json.dumps(found['status'], indent=1)}"
            )
            time.sleep(0.1)

    def wait_gone(self, kind: str, name: str, *, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while self.exists(kind, name):
            assert time.monotonic() < deadline, f"{kind} {name} is still there after {seconds} s"
            time.sleep(0.1)

    def run_to_end(self, manifest: dict[str, Any]) -> str:
        """Apply a pod, wait for its success, and return what it printed."""
        self.apply(manifest)
        name = manifest["metadata"]["name"]
        self.wait("pod", name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"))
        output = self.kubectl("logs", name)
        assert self.get("pod", name)["status"]["phase"] == "Succeeded", output
        return output

    def wait_ready(self, name: str, *, seconds: float = 30) -> Any:
        return self.wait("pod", name, is_ready, seconds=seconds)


def is_ready(pod: Any) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


@pytest.fixture(scope="session")
def lab() -> labs.Lab:
    """The running lab that $KUBECONFIG names."""
    kubeconfig = os.environ.get("KUBECONFIG", "")
    found = [one for one in labs.known() if str(one.kubeconfig) == kubeconfig]
    assert found, 'no lab is in this shell: eval "$(lab/lab.py env)" after lab/lab.py up'
    return found[0]


@pytest.fixture(scope="session")
def lab_command(lab: labs.Lab) -> LabCommand:
    return LabCommand(lab.name)


@pytest.fixture
def cluster(lab: labs.Lab) -> Iterator[Cluster]:
    """A namespace of its own for each test."""
    namespace = f"lab-{uuid.uuid4().hex[:8]}"
    one = Cluster(lab, namespace)
    one.kubectl("create", "namespace", namespace)
    deadline = time.monotonic() + 10
    while not one.exists("serviceaccount", "default"):
        assert time.monotonic() < deadline, "the namespace gets no default service account"
        time.sleep(0.05)
    yield one
    one.kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def pod() -> Callable[..., dict[str, Any]]:
    """Builds a pod of one shell script; keywords go into the container, ``spec`` into the pod's spec."""

    def build(script: str, *, name: str = "one", node: str = "compute-1", **keywords: Any) -> dict[str, Any]:
        spec = keywords.pop("spec", {})
        container = {"name": "main", "image": "any", "command": ["sh", "-c", script], **keywords}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": False,
                "containers": [container],
                **spec,
            },
        }

    return build
