#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes what a pool has on its target cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: remote_children
short_description: Delete what a pool has on its target cluster
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Deletes every object that carries the pool's ownership labels, and waits for none of them to be gone.
  - A kind that the target cluster does not serve is skipped.
  - Given up, nothing is deleted, and an event C(RemoteChildrenAbandoned) says so.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target]
options:
  pool:
    description: The whole NovaCompute object, which is being deleted.
    type: dict
    required: true
  abandoned:
    description: Whether the children are given up, because their cluster stayed away.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Delete what the pool has on its target cluster
  c5c3.nova.remote_children:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
"""

RETURN = r"""
deleted:
  description: The objects that were deleted, as C(<kind> <name>).
  returned: success
  type: list
  elements: str
  sample: [DaemonSet pool-a-nova-compute, ConfigMap pool-a-config-5c1f09ab]
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import ownership

#: What a pool makes. The DaemonSet comes first: without it no new pod mounts the rest.
KINDS: Final = ("DaemonSet", "VerticalPodAutoscaler", "ConfigMap")

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    "pool": {"type": "dict", "required": True},
    "abandoned": {"type": "bool", "default": False},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, owner = task.params["pool"], ownership.of_pool(task.params["pool"])
    if task.params["abandoned"]:
        if not task.check_mode:
            message = (
                f"Gave up what the pool has on the target cluster {owner.target_cluster}, which stayed unavailable"
            )
            task.cluster().record_event(pool, "Warning", "RemoteChildrenAbandoned", message, once=True)
        return {"deleted": []}
    cluster = task.target_cluster()
    deleted: list[tuple[str, str]] = []
    for kind in KINDS:
        if not cluster.serves(kind):
            continue
        for found in cluster.list(kind, owner.namespace, owner.labels, metadata_only=True):
            metadata = found["metadata"]
            if cluster.delete(kind, metadata["name"], owner.namespace, uid=metadata["uid"], dry_run=task.check_mode):
                deleted.append((kind, metadata["name"]))
    diff = [entry.difference(f"{kind} {owner.namespace}/{name}", f"{name}\n", "") for kind, name in deleted]
    return {"changed": bool(deleted), "deleted": [" ".join(each) for each in deleted], "diff": diff}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
