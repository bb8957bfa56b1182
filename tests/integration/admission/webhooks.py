# SPDX-License-Identifier: Apache-2.0
"""The admission webhooks of one test session: a process, and webhook configurations that concern its namespaces alone.

The configurations select namespaces by a label of this session, so that no other test can meet a webhook whose process
has ended.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from integration import kube

TREE = pathlib.Path(__file__).parents[3]
LABEL = "test.c5c3.io/admission"
LOOSE_GROUP = "loose.test.c5c3.io"
LOOSE_PLURAL = "looses"
MUTATE_PATH = "/mutate-nova-openstack-c5c3-io-v1alpha1-novacompute"
VALIDATE_PATH = "/validate-nova-openstack-c5c3-io-v1alpha1-novacompute"
CONFIGURATIONS = {
    "mutatingwebhookconfigurations": ("MutatingWebhookConfiguration", "mnovacompute.kb.io", MUTATE_PATH),
    "validatingwebhookconfigurations": ("ValidatingWebhookConfiguration", "vnovacompute.kb.io", VALIDATE_PATH),
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Webhooks:
    """What identifies one installation of the webhooks."""

    server: kube.Server
    kubeconfig: str
    folder: pathlib.Path
    namespace: str
    name: str = dataclasses.field(default_factory=lambda: f"test-{uuid.uuid4().hex[:10]}")
    port: int = dataclasses.field(default_factory=free_port)

    def path(self, plural: str) -> str:
        return f"/apis/admissionregistration.k8s.io/v1/{plural}/{self.name}"

    @property
    def secret(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.name}"

    def install(self) -> None:
        """Create both configurations, without a trust yet."""
        for plural, (kind, hook, path) in CONFIGURATIONS.items():
            rule = {
                "operations": ["CREATE", "UPDATE"],
                "apiVersions": ["v1alpha1"],
                "resources": ["novacomputes", LOOSE_PLURAL],
            }
            webhook = {
                "name": hook,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 10,
                "namespaceSelector": {"matchLabels": {LABEL: self.name}},
                "clientConfig": {"url": f"https://127.0.0.1:{self.port}{path}"},
                "rules": [rule | {"apiGroups": ["nova.openstack.c5c3.io", LOOSE_GROUP]}],
            }
            body = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": self.name},
                "webhooks": [webhook],
            }
            self.server.call("POST", self.path(plural).rpartition("/")[0], body).accepted()

    def remove(self) -> None:
        for plural in CONFIGURATIONS:
            self.server.call("DELETE", self.path(plural))

    def trusted(self) -> list[str]:
        """What the API server trusts, in base64, for each webhook that trusts anything."""
        found = []
        for plural in CONFIGURATIONS:
            hook = self.server.call("GET", self.path(plural)).accepted()["webhooks"][0]
            found += [hook["clientConfig"]["caBundle"]] if hook["clientConfig"].get("caBundle") else []
        return found

    def start(self, *, port: int | None = None, log: str = "admission.log") -> Process:
        """Start a process that serves them, with a certificate that it makes itself; ``port`` is for a second one."""
        flags = ["--webhook-self-signed", f"--webhook-configuration-name={self.name}"]
        flags += [f"--webhook-secret-name={self.name}", f"--leader-election-namespace={self.namespace}"]
        flags += [f"--webhook-cert-path={self.folder / log}.certs"]
        return start(self.kubeconfig, port or self.port, self.folder / log, *flags)


def start(kubeconfig: str, port: int, log: pathlib.Path, *flags: str) -> Process:
    """Start a process that serves the webhooks at that port of this machine."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "nova_compute_operator.admission",
        f"--webhook-bind-address=127.0.0.1:{port}",
    ]
    path = os.pathsep.join([str(TREE / "operator"), str(TREE / "collections")])
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*command, *flags], env=os.environ | {"KUBECONFIG": kubeconfig, "PYTHONPATH": path}, stderr=stream
        )
    return Process(process=process, log=log)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Process:
    """A process that serves the webhooks, and its log."""

    process: subprocess.Popen[bytes]
    log: pathlib.Path

    def lines(self, message: str) -> list[dict[str, Any]]:
        complete = [line for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in map(json.loads, complete) if line["msg"] == message]

    def wait_for(self, message: str, *, times: int = 1) -> None:
        def logged() -> bool:
            assert self.process.poll() is None, f"it ended: {self.log.read_text()}"
            return len(self.lines(message)) >= times

        kube.wait_until(logged, f"the log line {message!r}", seconds=60)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unruly(kube.Pools):
    """NovaComputes of a group whose schema refuses nothing."""

    def path(self, name: str = "") -> str:
        path = super().path(name).replace(kube.GROUP_VERSION, f"{LOOSE_GROUP}/v1alpha1")
        return path.replace("/novacomputes", f"/{LOOSE_PLURAL}")

    def manifest(self, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        return super().manifest(name, spec) | {"apiVersion": f"{LOOSE_GROUP}/v1alpha1"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Novas:
    """The Novas of one namespace."""

    server: kube.Server
    namespace: str

    def create(self, release: str, name: str = "nova") -> None:
        body = {
            "apiVersion": kube.GROUP_VERSION,
            "kind": "Nova",
            "metadata": {"name": name},
            "spec": {"openStackRelease": release, "keystoneEndpoint": "http://keystone.invalid/v3"},
        }
        self.server.call("POST", f"{kube.GROUP_PATH}/namespaces/{self.namespace}/novas", body).accepted()


def make_namespace(server: kube.Server, labels: Mapping[str, str]) -> Iterator[str]:
    """A namespace with these labels, for as long as the caller uses it."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}
    server.call("POST", "/api/v1/namespaces", manifest).accepted()
    try:
        yield name
    finally:
        server.call("DELETE", f"/api/v1/namespaces/{name}").accepted()
