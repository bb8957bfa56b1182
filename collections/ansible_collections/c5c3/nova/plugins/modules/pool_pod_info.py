#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List the pods of a pool that still exist."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_pod_info
short_description: List the pods of a pool that still exist
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Lists the pool's pods, whatever their phase; a pod is gone only when its object is.
extends_documentation_fragment: c5c3.nova.cluster
options:
  pool:
    description: The whole NovaCompute object.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: List the pods that still run
  c5c3.nova.pool_pod_info:
    pool: "{{ novacompute }}"
  register: services_drain_pods
"""

RETURN = r"""
pods:
  description: Node to the name of the pool's pod there.
  returned: success
  type: dict
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import workload

ARGUMENTS: Final = {**entry.CLUSTER_ARGUMENTS, "pool": {"type": "dict", "required": True}}


def run(task: entry.Task) -> dict[str, Any]:
    metadata = task.params["pool"]["metadata"]
    pods = task.cluster().list("Pod", metadata["namespace"], workload.labels(metadata["name"]))
    return {"pods": workload.pods_by_node(pods)}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
