# SPDX-License-Identifier: Apache-2.0
"""A Nova resource that tests may break, in front of the lab's own API."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from e2e.conditions import bench as benches
from e2e.conditions import objects
from e2e.world import stand, waiting


class OwnNova:
    """A Nova resource beside the lab's, with Secrets of its own, in front of the same API."""

    def __init__(self, bench: benches.Bench, name: str = benches.NOVA) -> None:
        self.name, self.contract = name, f"{name}-compute-config"
        self._cluster = bench.cluster
        self._parts = _parts(bench.cluster, name)
        self._status = bench.cluster.read("Nova", stand.NOVA)["status"]

    def make_whole(self) -> None:
        """Create what is missing of it, and mend what was changed."""
        for part in self._parts:
            kind, name = part["kind"], part["metadata"]["name"]
            there = self._cluster.get(kind, name)
            if there is not None and _differs(there, part):
                self._cluster.delete(kind, name)
                gone = functools.partial(self._cluster.get, kind, name)
                waiting.wait_for(f"{kind} {name} is gone", gone, lambda seen: seen is None, seconds=benches.DEADLINE)
                there = None
            if there is None:
                self._cluster.create(part)
        self.set_status({})

    def set_status(self, changes: Mapping[str, Any]) -> None:
        """Make the status that of an installed Nova, with changes; None removes a field."""
        status = {**self._status, "computeConfigSecretRef": {"name": self.contract}, **changes}
        self._cluster.patch("Nova", self.name, {"status": status}, subresource="status")

    def remove(self) -> None:
        """Delete all of it."""
        for part in self._parts:
            self._cluster.delete(part["kind"], part["metadata"]["name"])


def _parts(the_cluster: objects.Objects, name: str) -> list[dict[str, Any]]:
    nova = the_cluster.read("Nova", stand.NOVA)
    user = nova["spec"]["serviceUser"]["secretRef"]["name"]
    contract = nova["status"]["computeConfigSecretRef"]["name"]
    own = objects.copy_of(nova, name)
    own["spec"]["serviceUser"]["secretRef"]["name"] = f"{name}-user"
    return [
        objects.copy_of(the_cluster.read("Service", stand.NOVA), name),
        objects.copy_of(the_cluster.read("Deployment", stand.NOVA), name),
        objects.copy_of(the_cluster.read("Secret", user), f"{name}-user"),
        objects.copy_of(the_cluster.read("Secret", contract), f"{name}-compute-config"),
        own,
    ]


def _differs(there: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether a Secret or the Nova is no longer what it was made as; of the others only the test of their end asks."""
    if part["kind"] == "Secret":
        return bool(there.get("data") != part["data"])
    return part["kind"] == "Nova" and there["spec"] != part["spec"]
