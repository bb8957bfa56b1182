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
  - A call that fails is a finding like the others. Writes nothing.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool]
options:
  nova:
    description: The resolved Nova, from M(c5c3.nova.nova_info). An empty one leaves out what only Nova knows.
    type: dict
    required: true
  target:
    description: Where the children of the pool are, as M(c5c3.nova.nova_info) returned it. Without it, on its cluster.
    type: dict
  nodes:
    description: The nodes to explain. Without it, those that leave the pool.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Read the Nova
  c5c3.nova.nova_info:
    pool: "{{ novacompute }}"
  register: resolved

- name: Explain what does not leave
  c5c3.nova.drain_info:
    pool: "{{ novacompute }}"
    nova: "{{ resolved.nova }}"
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
      description: The servers on its host.
      type: list
      elements: dict
      sample: [{id: 2f0cb9a8-8f0e-4a8e-9a44-2b8e1c7a0d11, name: web-1, status: ACTIVE, task_state: null, project: demo}]
    migrations:
      description: The migrations away from its host, the newest first.
      type: list
      elements: dict
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import report, stuck, workload

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.POOL_ARGUMENT,
    "nova": {"type": "dict", "required": True},
    "target": {"type": "dict"},
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
    nova, services = None, None
    if task.params["nova"]:
        nova = reader.read(lambda: nova_client.open_nova_from_cluster(cluster, task.params["nova"]))
    if nova is not None:
        services = reader.read(nova.list_services)
    labels = workload.labels(pool["metadata"]["name"])
    at = reader.read(task.target_cluster) if task.params["target"] else cluster
    pods = reader.read(lambda: at.list("Pod", pool["metadata"]["namespace"], labels)) if at else None
    has_hypervisors = at is not None and bool(reader.read(lambda: at.serves("Hypervisor")))
    shared = {
        "services": {row["host"]: row for row in services or ()},
        "pods": {each["spec"].get("nodeName"): _pod(each) for each in pods or ()},
    }
    explained = []
    for name in names:
        own = Reader()
        own.errors = list(reader.errors)
        seen = {
            "name": name,
            **_read_cluster(at, name, own, has_hypervisors=has_hypervisors),
            # A Nova whose services cannot be listed answers nothing else either.
            **_read_nova(nova if services is not None else None, name, own),
            "service": shared["services"].get(name),
            "pod": shared["pods"].get(name),
            "errors": own.errors,
        }
        explained.append(stuck.explain(pool, seen))
    return {"nodes": explained}


def _read_cluster(
    cluster: kubernetes.Cluster | None, name: str, reader: Reader, *, has_hypervisors: bool
) -> dict[str, Any]:
    if cluster is None:
        return {"exists": None, "hypervisor": None, "eviction": None}
    node = reader.read(lambda: cluster.find("Node", name) or {})
    found: dict[str, Any] = {"exists": None if node is None else bool(node), "hypervisor": None, "eviction": None}
    if has_hypervisors:
        found["hypervisor"] = reader.read(lambda: cluster.find("Hypervisor", name))
        found["eviction"] = reader.read(lambda: cluster.find("Eviction", name))
    return found


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
