#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what holds the nodes that leave a pool."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: drain_info
short_description: Read what holds the nodes that leave a pool
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads, for each node, its servers and their migrations, its compute service, its pod, its Node and, where the
    cluster serves them, its Hypervisor and Eviction, and says what holds it and what to do.
  - A call that fails is a finding like the others, and nothing is said of what it hides. Writes nothing.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool]
options:
  resolved:
    description:
      - What M(c5c3.nova.nova_info) returned. Where it failed, why is a finding, and what only Nova knows is left out.
    type: dict
    required: true
  clusters_namespace:
    description: The namespace of the Secrets that register target clusters, as M(c5c3.nova.nova_info) was given it.
    type: str
    required: true
  nodes:
    description: The nodes to explain. Without it, those that leave the pool.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Read the Nova
  c5c3.nova.nova_info:
    pool: "{{ novacompute }}"
    clusters_namespace: c5c3-clusters
  register: resolved
  failed_when: false

- name: Explain what does not leave
  c5c3.nova.drain_info:
    pool: "{{ novacompute }}"
    resolved: "{{ resolved }}"
    clusters_namespace: c5c3-clusters
  register: drain
"""

RETURN = r"""
nodes:
  description: One entry for each node.
  returned: success
  type: list
  elements: dict
  contains:
    node: {description: The node., type: str, sample: compute-1}
    phase: {description: Its phase in the pool. Empty when the pool does not hold it., type: str, sample: Draining}
    summary: {description: Where it is on its way., type: str, sample: "leaves openstack/pool-a: 1 server on its host"}
    findings:
      description: What holds it, the most hindering first, and what to do.
      type: list
      elements: dict
      sample:
        - seen: no migration is under way, and the pool never moves a server
          do: "move them: openstack server migrate --live-migration <server>"
    servers:
      description: The servers on its host. Null where they could not be read.
      type: list
      elements: dict
      sample: [{id: 2f0cb9a8-8f0e-4a8e-9a44-2b8e1c7a0d11, name: web-1, status: ACTIVE, task_state: null, project: demo}]
    migrations:
      description: The migrations away from its host, the newest first. Null where they could not be read.
      type: list
      elements: dict
      sample:
        - id: 8a3f0c52-6a7e-4c0e-8f43-0c6c1d1f2b7e
          server: 2f0cb9a8-8f0e-4a8e-9a44-2b8e1c7a0d11
          type: live-migration
          status: running
          target: compute-2
          created_at: "2026-11-29T19:00:00.000000"
          updated_at: "2026-11-29T19:00:05.000000"
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.clients import target_clusters as clusters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    conditions,
    report,
    stuck,
    target_clusters,
    workload,
)

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.POOL_ARGUMENT,
    "resolved": {"type": "dict", "required": True},
    "clusters_namespace": {"type": "str", "required": True},
    "nodes": {"type": "list", "elements": "str"},
}

T = TypeVar("T")


class Reader:
    """Reads one thing after the other, and goes on where a call fails."""

    def __init__(self) -> None:
        self.errors: list[dict[str, Any]] = []

    def read(self, call: Callable[[], T]) -> T | None:
        """Return what the call returns, or None when it failed; a failure that is known already is not told twice."""
        try:
            return call()
        except errors.CallError as error:
            if error.as_data() not in self.errors:
                self.errors.append(error.as_data())
            return None


def run(task: entry.Task) -> dict[str, Any]:
    pool, cluster, reader = task.params["pool"], task.cluster(), Reader()
    names = task.params["nodes"]
    if names is None:
        names = [each["name"] for each in report.leaving(pool)]
    if not names:
        return {"nodes": []}
    resolved = task.params["resolved"]
    nova_ready = _nova_ready(resolved, reader)
    nova, services, at, pods = None, None, None, None
    if resolved.get("nova"):
        nova = reader.read(lambda: nova_client.open_nova_from_cluster(cluster, resolved["nova"]))
    if nova is not None:
        services = reader.read(nova.list_services)
    # A cluster that gave no sign of life is not asked again, and no other one in its place.
    if resolved.get("reached", True):
        target = target_clusters.target(pool, task.params["clusters_namespace"])
        at = reader.read(lambda: clusters.cluster_at(cluster, target))
    if at is not None:
        labels = workload.labels(pool["metadata"]["name"])
        pods = reader.read(lambda: at.list("Pod", pool["metadata"]["namespace"], labels))
    has_hypervisors = reader.read(lambda: at.serves("Hypervisor")) if at is not None else None
    services_by_host = None if services is None else {row["host"]: row for row in services}
    pods_by_node = None if pods is None else {each["spec"].get("nodeName"): _pod(each) for each in pods}
    explained = []
    for name in names:
        own = Reader()
        own.errors = list(reader.errors)
        seen = {
            "name": name,
            "nova_ready": nova_ready,
            **_read_cluster(at, name, own, has_hypervisors=has_hypervisors),
            # A Nova whose services cannot be listed answers nothing else either.
            **_read_nova(nova if services is not None else None, name, own),
            "service": _found(services_by_host, name),
            "pod": _found(pods_by_node, name),
            "errors": own.errors,
        }
        explained.append(stuck.explain(pool, seen))
    return {"nodes": explained}


def _nova_ready(resolved: Mapping[str, Any], reader: Reader) -> dict[str, Any] | None:
    """Return the condition that a pass would give the pool now, or None where a call failed: the reader has its error.

    A task that is not to fail keeps its error and its message, and loses its mark.
    """
    if "outcome" in resolved:
        found: dict[str, Any] = resolved["outcome"]["condition"]
        return found
    if resolved.get("error"):
        reader.errors.append(resolved["error"])
        return None
    failed: dict[str, Any] = conditions.failure(conditions.NOVA, resolved.get("msg", ""))["condition"]
    return failed


def _found(read: Mapping[str, dict[str, Any]] | None, name: str) -> dict[str, Any] | None:
    """Return what is there of the node: empty for nothing, None where it could not be read."""
    return None if read is None else read.get(name, {})


def _read_cluster(
    cluster: kubernetes.Cluster | None, name: str, reader: Reader, *, has_hypervisors: bool | None
) -> dict[str, Any]:
    """Return `{exists, hypervisor, eviction}`; `has_hypervisors` is None where the cluster did not say."""
    if cluster is None:
        return {"exists": None, "hypervisor": None, "eviction": None}
    node = reader.read(lambda: cluster.find("Node", name) or {})
    hypervisor: dict[str, Any] | None = None if has_hypervisors is None else {}
    eviction = hypervisor
    if has_hypervisors:
        hypervisor = reader.read(lambda: cluster.find("Hypervisor", name) or {})
        eviction = reader.read(lambda: cluster.find("Eviction", name) or {})
    return {"exists": None if node is None else bool(node), "hypervisor": hypervisor, "eviction": eviction}


def _read_nova(nova: nova_client.Nova | None, name: str, reader: Reader) -> dict[str, Any]:
    if nova is None:
        return {"servers": None, "migrations": None}
    return {
        "servers": reader.read(lambda: nova.list_servers(name)),
        "migrations": reader.read(lambda: nova.list_migrations_from(name)),
    }


def _pod(pod: dict[str, Any]) -> dict[str, Any]:
    metadata = pod["metadata"]
    return {"name": metadata["name"], "ends_since": metadata.get("deletionTimestamp")}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
