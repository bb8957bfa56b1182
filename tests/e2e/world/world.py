# SPDX-License-Identifier: Apache-2.0
"""What one end-to-end test works with: pools, labels and servers of its own, which are gone when it ends."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from e2e.world import cluster, evidence, installed, operator_process, placed, pools, stand, waiting, witness

#: How long anything may take on a busy machine. No test waits this long unless something is wrong.
DEADLINE = 240.0

_OWN = "e2e.c5c3.io"


class World:
    """The lab, an operator, and everything that a test has made."""

    def __init__(
        self,
        the_stand: stand.Stand,
        operator: operator_process.OperatorProcess | installed.InstalledOperator,
        *,
        flavor: str,
        image: str,
    ) -> None:
        self.stand = the_stand
        self.cluster = the_stand.cluster
        self.cloud = the_stand.cloud
        self.operator = operator
        self.witness = witness.Witness(the_stand)
        self._flavor, self._image = flavor, image
        self._pools: list[str] = []
        self._servers: list[str] = []
        self._enabled: list[str] = []
        self.undo = contextlib.ExitStack()

    # --- making things

    def selector(self) -> dict[str, str]:
        """A label that no node carries yet."""
        return {f"{_OWN}/{uuid.uuid4().hex[:8]}": "pool"}

    def label(self, node: str, labels: Mapping[str, str | None]) -> None:
        """Set labels of a node; they are taken off when the test ends."""
        self.undo.callback(self.cluster.set_labels, node, dict.fromkeys(labels))
        self.cluster.set_labels(node, labels)

    def unlabel(self, node: str, labels: Mapping[str, str]) -> None:
        """Take labels off a node."""
        self.cluster.set_labels(node, dict.fromkeys(labels))

    def apply(self, manifest: dict[str, Any]) -> str:
        """Apply a pool; returns its name."""
        name = str(manifest["metadata"]["name"])
        if name not in self._pools:
            self._pools.append(name)
        self.cluster.apply(manifest)
        return name

    def new_pool(self, *nodes: str, selector: dict[str, str] | None = None, **spec: Any) -> tuple[str, dict[str, str]]:
        """A pool of exactly these nodes, under a new name; returns it and the selector, new unless given."""
        selector = selector or self.selector()
        for node in nodes:
            self.label(node, selector)
        name = f"pool-{uuid.uuid4().hex[:8]}"
        return self.apply(pools.manifest(name, selector, **spec)), selector

    def new_placed_pool(self, home: placed.Target, *nodes: str, **spec: Any) -> tuple[str, dict[str, str]]:
        """A pool of exactly these nodes of a target cluster, under a new name; returns it and its selector."""
        selector = self.selector()
        for node in nodes:
            self.undo.callback(home.cluster.set_labels, node, dict.fromkeys(selector))
            home.cluster.set_labels(node, dict(selector))
        return self.new_pool(selector=selector, targetClusterRef={"name": home.name}, **spec)

    def make(self, item: dict[str, Any]) -> None:
        """Create an object of the namespace; it is deleted when the test ends."""
        self.undo.callback(self.cluster.delete, item["kind"], item["metadata"]["name"])
        self.cluster.create(item)

    def boot(self, host: str) -> str:
        """The id of a new server that is ACTIVE on the host."""
        server = self.cloud.boot(f"server-{host}", host=host, flavor=self._flavor, image=self._image)
        self._servers.append(server)
        row = self.wait(
            f"a server is ACTIVE on {host}",
            lambda: self.cloud.server(server),
            lambda seen: seen["status"] in ("ACTIVE", "ERROR"),
        )
        assert row["status"] == "ACTIVE", f"the server on {host} is in ERROR: {row.get('fault')}"
        return server

    def delete_server(self, server: str) -> None:
        """Delete a server, and return when Nova lists it no more."""
        self.cloud.delete_server(server)
        self.wait(
            f"server {server} is deleted",
            lambda: [row["id"] for row in self.cloud.servers()],
            lambda ids: server not in ids,
        )

    def enable_service(self, host: str) -> None:
        """Enable a service as a person would."""
        self.note_enabled(host)
        self.cloud.enable_service(host)

    def note_enabled(self, host: str) -> None:
        """Say that the test has a person enable the service by another way."""
        self._enabled.append(host)

    # --- seeing things

    def wait(
        self, what: str, look: Callable[[], Any], good: Callable[[Any], object] = bool, *, seconds: float = DEADLINE
    ) -> Any:
        """See :func:`waiting.wait_for`."""
        return waiting.wait_for(what, look, good, seconds=seconds)

    def wait_pool(self, name: str, what: str, good: Callable[[cluster.Object], object]) -> cluster.Object:
        """The pool once it is good. A time-out shows its phases and conditions."""
        latest: cluster.Object = {}

        def look() -> dict[str, Any]:
            latest.clear()
            latest.update(self.cluster.read("NovaCompute", name))
            verdicts = {one: cluster.verdict(latest, one) for one in cluster.conditions(latest)}
            return {"phases": cluster.phases(latest), "conditions": verdicts}

        self.wait(f"{name}: {what}", look, lambda _: good(latest))
        return latest

    def wait_verdict(self, name: str, condition: str, verdict: str) -> cluster.Object:
        """The pool once the condition reads ``Status Reason``; its message is returned with it."""
        pool = self.wait_pool(
            name, f"{condition} reads {verdict}", lambda seen: cluster.verdict(seen, condition) == verdict
        )
        return cluster.conditions(pool)[condition]

    def wait_settled(self, name: str, *nodes: str) -> cluster.Object:
        """The pool once it is Ready, observed, and exactly these nodes are Active."""
        return self.wait_pool(
            name,
            f"Ready with {', '.join(nodes)} Active",
            lambda seen: (
                cluster.verdict(seen, "Ready") == "True AllReady"
                and seen["status"].get("observedGeneration") == seen["metadata"]["generation"]
                and cluster.phases(seen) == dict.fromkeys(nodes, "Active")
            ),
        )

    def wait_draining(self, name: str, node: str, instances: int) -> cluster.Object:
        """The pool once the node is Draining and its servers were counted."""
        return self.wait_pool(
            name,
            f"{node} is Draining with {instances} instances",
            lambda seen: (
                cluster.phases(seen).get(node) == "Draining"
                and cluster.ledger(seen)[node].get("instances") == instances
            ),
        )

    def wait_dropped(self, name: str, node: str) -> cluster.Object:
        """The pool once it holds the node no more."""
        return self.wait_pool(name, f"{node} is dropped", lambda seen: node not in cluster.phases(seen))

    def wait_gone(self, name: str) -> None:
        """Return when the pool is gone."""
        self.wait(f"{name} is gone", lambda: self.cluster.get("NovaCompute", name), lambda seen: seen is None)

    def wait_passes(self, name: str, count: int) -> list[dict[str, Any]]:
        """The log lines of ``count`` passes over the pool that both started and ended after this call, or of more."""
        # One pass may run now: what it does belongs to what went before.
        before = len(self._passes(name)) + 1
        self.wait(
            f"{count} more passes over {name}", lambda: len(self._passes(name)), lambda now: now >= before + count
        )
        return self._passes(name)[before:]

    def reasons(self, name: str) -> list[str]:
        """The reasons of the events about the pool, oldest first."""
        return [event["reason"] for event in self.cluster.events(name)]

    def pods_on(self, name: str, node: str) -> list[cluster.Object]:
        """The pool's pods on the node."""
        return [pod for pod in self.cluster.pods(name) if cluster.node_of(pod) == node]

    def evidence(self) -> str:
        """See :func:`evidence.gather`."""
        return evidence.gather(self.stand, self.operator, self._pools)

    # --- the end

    def clean_up(self) -> None:
        """Take away what the test made. Raises AssertionError when something of it stays."""
        with self.undo:
            self.stand.start_stopped_parts()
            for server in self._servers:
                if any(row["id"] == server for row in self.cloud.servers()):
                    self.delete_server(server)
            left = [name for name in self._pools if self.cluster.delete("NovaCompute", name)]
            if left and not self.operator.runs:
                self.operator.start()
            for name in left:
                self.wait_gone(name)
        for name in self._pools:
            children = functools.partial(self.cluster.children, name)
            self.wait(f"no child of {name} is left", children, lambda found: not found)

    def expect_kept_promises(self) -> None:
        """What no pool ever does: enable a service, or put a host into an aggregate."""
        assert self.witness.hosts("enabled") == sorted(self._enabled)
        assert self.witness.hosts("added to an aggregate") == []

    def _passes(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.operator.passes() if line["pool"] == f"{cluster.NAMESPACE}/{name}"]


#: Opens a world under a name; it is cleaned up, and its promises are checked, when the context ends.
Opener = Callable[[str], contextlib.AbstractContextManager[World]]
