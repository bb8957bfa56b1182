# SPDX-License-Identifier: Apache-2.0
"""Pools that are settled, on real servers, as many and as large as a measurement needs.

The API servers, the DaemonSet controller and Nova are real. A node is a Node object and a row in Nova's table of
services: what a settled pass reads is all there, while a thousand nova-computes would not fit on the machine. Nobody
starts pods on these nodes, because a taint keeps them empty; a settled pass reads no pod.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from e2e.world import pools, stand, waiting

NAMESPACE = "openstack"
NOVA = "controlplane-nova"
LABEL = "openstack.c5c3.io/nova-compute-pool"
ZONE = "bench"
_OWNER = "bench.c5c3.io/pool"
# Nova takes a service for down that was not heard of for a minute.
_HEARTBEAT_SECONDS = 15.0
_AT_ONCE = 8
# Nova has a newer nova-compute note in Placement that it is disabled, and waits a minute for one that is not there.
_VERSION = 37
_TAINT = {"key": "bench.c5c3.io/no-pods", "value": "true", "effect": "NoSchedule"}


class Ground:
    """One lab, and what was put into it."""

    def __init__(self, the_stand: stand.Stand) -> None:
        self.stand = the_stand
        self.cluster = kubernetes.Cluster.connect(str(the_stand.lab.kubeconfig))
        self._beats = threading.Event()
        the_stand.output("kubectl", "apply", "--server-side", "-f", str(pools.CRD_FILE))
        waiting.wait_for("novacomputes are served", lambda: pools.is_served(the_stand.cluster), seconds=60)

    def nodes(self, pool: str, numbers: range) -> list[str]:
        """Make nodes for the pool, whose selector takes them by a label; returns their names."""
        names = nodes_on(self.cluster, pool, numbers)
        for some in _slices(names, 500):
            rows = ",".join(
                f"(now(), now(), now(), 0, '{name}', 'nova-compute', 'compute', 1, false, false, {_VERSION},"
                f" '{uuid.uuid4()}')"
                for name in some
            )
            self._sql(
                'INSERT INTO services (created_at, updated_at, last_seen_up, deleted, host, "binary", topic,'
                f" report_count, disabled, forced_down, version, uuid) VALUES {rows}"
            )
        return names

    def pool(self, name: str, nodes: Iterable[str], **spec: Any) -> None:
        """Make a pool that has held these nodes for long, as far as its status says; further fields of the spec win."""
        body = {
            "kind": "NovaCompute",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"novaRef": {"name": NOVA}, "nodeSelector": {LABEL: name}, **spec},
        }
        self.cluster.create(body)
        self.hold(name, nodes)

    def hold(self, name: str, nodes: Iterable[str]) -> None:
        """Have the status of the pool say that it holds these nodes, Active."""
        item = self.cluster.get("NovaCompute", name, NAMESPACE)
        ledger = [{"name": node, "phase": "Active", "zone": ZONE} for node in nodes]
        self.cluster.replace_status({**item, "status": {**item.get("status", {}), "nodes": ledger}})

    def forget(self, names: Iterable[str]) -> None:
        """Take pools away with what Nova knows of their nodes, without a drain."""
        for name in names:
            with contextlib.suppress(errors.CallError):
                self.cluster.patch("NovaCompute", name, NAMESPACE, {"metadata": {"finalizers": None}})
            self.cluster.delete("NovaCompute", name, NAMESPACE)
            self._sql(f"DELETE FROM services WHERE host LIKE '{name}-%'")
            nodes = [node["metadata"]["name"] for node in self.cluster.list("Node", labels={_OWNER: name})]
            _many(functools.partial(self.cluster.delete, "Node", node) for node in nodes)

    def clear(self) -> None:
        """Take away what an earlier run that was interrupted has left."""
        left = self.cluster.list("Node", metadata_only=True)
        self.forget(sorted({owner for node in left if (owner := node["metadata"].get("labels", {}).get(_OWNER))}))

    def take_label(self, node: str) -> None:
        """Take the node out of its pool."""
        self.cluster.patch("Node", node, None, {"metadata": {"labels": {LABEL: None}}})

    @contextlib.contextmanager
    def heartbeats(self) -> Iterator[None]:
        """Have Nova hear of every compute for as long as the block lasts."""
        self.beat()
        thread = threading.Thread(target=self._keep_beating, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._beats.set()
            thread.join(60)

    def _keep_beating(self) -> None:
        while not self._beats.wait(_HEARTBEAT_SECONDS):
            self.beat()

    def beat(self) -> None:
        """Have Nova hear of every compute now."""
        self._sql(
            "UPDATE services SET last_seen_up = now() at time zone 'utc', updated_at = now() at time zone 'utc'"
            " WHERE topic = 'compute' AND report_count = 1"
        )

    def _sql(self, statement: str) -> list[str]:
        return self.stand.sql("nova", statement)


def nodes_on(cluster: kubernetes.Cluster, pool: str, numbers: range) -> list[str]:
    """Make nodes for the pool on a cluster, of which Nova knows nothing; returns their names."""
    names = [f"{pool}-{number:04d}" for number in numbers]
    labels = {LABEL: pool, _OWNER: pool, "topology.kubernetes.io/zone": ZONE}
    spec = {"taints": [_TAINT]}
    _many(
        functools.partial(cluster.create, {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec})
        for name in names
    )
    return names


def _many(calls: Iterable[Callable[[], object]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as executor:
        for done in [executor.submit(call) for call in calls]:
            done.result()


def _slices(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def status_of(item: dict[str, Any]) -> dict[str, str]:
    """Node to phase, as the pool's status says."""
    return {entry["name"]: entry["phase"] for entry in item.get("status", {}).get("nodes", [])}
