# SPDX-License-Identifier: Apache-2.0
"""The whole operator with its webhooks: served by the same command, ready when they are, gone when it is."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from integration import kube
from integration.admission import webhooks


class Operator:
    """The operator's process, where its webhooks and its probes are served."""

    def __init__(self, kubeconfig: str, hooks: webhooks.Webhooks) -> None:
        self.hooks = hooks
        self.probes = webhooks.free_port()
        flags = [f"--namespace={hooks.namespace}", "--metrics-bind-address=0", "--webhook-self-signed"]
        flags += [f"--health-probe-bind-address=127.0.0.1:{self.probes}", f"--webhook-secret-name={hooks.name}"]
        flags += [f"--webhook-configuration-name={hooks.name}", f"--webhook-cert-path={hooks.folder / 'certs'}"]
        flags += [f"--webhook-bind-address=127.0.0.1:{hooks.port}", f"--private-data-dir={hooks.folder / 'data'}"]
        path = os.pathsep.join([str(webhooks.TREE / "operator"), str(webhooks.TREE / "collections")])
        with (hooks.folder / "log").open("w") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nova_compute_operator", *flags],
                env=os.environ | {"KUBECONFIG": kubeconfig, "PYTHONPATH": path},
                stderr=stream,
            )

    def unready(self) -> str:
        """What the readiness probe finds missing, or nothing."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.probes}/readyz", timeout=10):
                return ""
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError as error:
            return str(error)

    def admission(self) -> list[int]:
        """The ids of the processes that serve its webhooks."""
        mark = f"--webhook-configuration-name={self.hooks.name}".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                found += [int(entry.name)] if mark in words and b"nova_compute_operator.admission" in words else []
        return found


@pytest.fixture
def operator(
    server: kube.Server, kubeconfig: str, own_namespace: str, tmp_path: pathlib.Path, crd: dict[str, object]
) -> Iterator[Operator]:
    del crd
    hooks = webhooks.Webhooks(server=server, kubeconfig=kubeconfig, folder=tmp_path, namespace=own_namespace)
    hooks.install()
    one = Operator(kubeconfig, hooks)
    try:
        yield one
    finally:
        hooks.remove()
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(60)


def test_an_operator_is_ready_once_its_webhooks_are_served_and_ends_with_them(operator: Operator) -> None:
    kube.wait_until(lambda: operator.unready() == "", "the operator is ready", seconds=60)
    assert len(operator.admission()) == 1
    assert len(operator.hooks.trusted()) == 2
    operator.process.terminate()
    assert operator.process.wait(60) == 0
    assert operator.admission() == []


def test_webhooks_that_end_by_themselves_end_the_operator(operator: Operator) -> None:
    kube.wait_until(lambda: operator.unready() == "", "the operator is ready", seconds=60)
    os.kill(operator.admission()[0], signal.SIGKILL)
    assert operator.process.wait(60) == 1
    assert "the admission webhooks ended with -9" in (operator.hooks.folder / "log").read_text()


def test_webhooks_do_not_outlive_an_operator_that_is_killed(operator: Operator) -> None:
    kube.wait_until(lambda: operator.unready() == "", "the operator is ready", seconds=60)
    operator.process.kill()
    operator.process.wait(60)
    kube.wait_until(lambda: operator.admission() == [], "the end of the webhooks")
