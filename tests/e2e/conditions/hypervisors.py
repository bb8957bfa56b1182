# SPDX-License-Identifier: Apache-2.0
"""Hypervisors in which the test plays the part of the hypervisor operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from e2e.conditions import objects

PATH = "/apis/kvm.cloud.sap/v1/hypervisors"
_SPEC: dict[str, Any] = {
    "aggregates": [],
    "allowedProjects": [],
    "createCertManagerCertificate": False,
    "customTraits": [],
    "evacuateOnReboot": True,
    "highAvailability": True,
    "installCertificate": True,
    "lifecycleEnabled": True,
    "reboot": False,
    "skipTests": False,
}


class Hypervisors:
    """The Hypervisors of nodes, and what the hypervisor operator says in them."""

    def __init__(self, cluster: objects.Objects) -> None:
        self._cluster = cluster
        self.made: list[str] = []

    def make(self, *nodes: str) -> None:
        for node in nodes:
            body = {"apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor", "metadata": {"name": node}, "spec": _SPEC}
            self._cluster.call("POST", PATH, body)
            self.made.append(node)

    def spec(self, node: str) -> dict[str, Any]:
        found: dict[str, Any] = self._cluster.call("GET", f"{PATH}/{node}")["spec"]
        return found

    def version(self, node: str) -> str:
        return str(self._cluster.call("GET", f"{PATH}/{node}")["metadata"]["resourceVersion"])

    def set_spec(self, node: str, **fields: Any) -> None:
        self._cluster.call("PATCH", f"{PATH}/{node}", {"spec": fields})

    def report(self, node: str, traits: Sequence[str], *, failure: str = "") -> None:
        """Say which traits the host has, as the hypervisor operator does after it was to apply a list."""
        verdict = {
            "type": "TraitsUpdated",
            "status": "False" if failure else "True",
            "reason": "Failed" if failure else "Succeeded",
            "message": failure or "applied",
            "lastTransitionTime": objects.now(),
        }
        status = {"numInstances": 0, "traits": list(traits), "conditions": [verdict]}
        self._cluster.call("PATCH", f"{PATH}/{node}/status", {"status": status})

    def remove(self) -> None:
        for node in self.made:
            self._cluster.remove(f"{PATH}/{node}")
