#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List the pods that keep the compute services of a pool's nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_pod_info
short_description: List the pods that keep the compute services of a pool's nodes
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Lists the pods of the pool and of the other pools of its Nova, whatever their phase. A pod is gone only when its
    object is.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
options:
  siblings:
    description: The other pools of the same Nova.
    type: raw
    required: true
  handed_over:
    description: The nodes being released to another pool, where only the pool's own pod counts.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: List the pods that still run
  c5c3.nova.pool_pod_info:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
    siblings: "{{ siblings }}"
  register: services_drain_pods
"""

RETURN = r"""
pods:
  description: Node to the name of the pod there.
  returned: success
  type: dict
  sample: {compute-1: pool-a-nova-compute-x7k2p}
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import workload

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    **entry.POOL_ARGUMENT,
    "siblings": {"type": "raw", "required": True},
    "handed_over": {"type": "list", "elements": "str", "default": []},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool = task.params["pool"]
    pods = task.target_cluster().list("Pod", pool["metadata"]["namespace"], workload.pod_labels())
    return {"pods": workload.pods_by_node(pods, pool, task.params["siblings"], task.params["handed_over"])}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
