#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a pool, its events and what is missing until it is as it should be."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_info
short_description: Read a pool, its events and what is missing until it is as it should be
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the NovaCompute anew and the events about it. Writes nothing, and asks nothing of Nova.
extends_documentation_fragment: c5c3.nova.cluster
options:
  pool:
    description: The NovaCompute object; its name and namespace are enough.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read how the pool stands
  c5c3.nova.pool_info:
    pool: "{{ novacompute }}"
  register: report
"""

RETURN = r"""
pool:
  description: The NovaCompute object as it is now, as JSON text.
  returned: success
  type: str
  sample: >-
    {"apiVersion":"nova.openstack.c5c3.io/v1alpha1","kind":"NovaCompute",
    "metadata":{"name":"pool-a","namespace":"openstack"},
    "spec":{"novaRef":{"name":"controlplane-nova"},"nodeSelector":{"openstack.c5c3.io/nova-compute-pool":"a"}},
    "status":{"nodes":[{"name":"compute-1","phase":"Active","zone":"az1"}]}}
events:
  description: The events about the pool, the oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    at: {description: When it was last seen (RFC 3339)., type: str, sample: "2026-11-29T19:00:00Z"}
    type: {description: Normal or Warning., type: str, sample: Normal}
    reason: {description: The reason., type: str, sample: ComputeServiceDisabled}
    message:
      description: What happened.
      type: str
      sample: "Disabled the compute service of compute-1: c5c3.io: leaving NovaCompute openstack/pool-a"
    count: {description: How often., type: int, sample: 1}
shortfall:
  description: What keeps the pool from being as it should be, in sentences. Empty for a pool that is ready.
  returned: success
  type: list
  elements: str
  sample: ["ServicesReady WaitingForServices: No compute service yet: compute-1"]
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import report, vocabulary

ARGUMENTS: Final = {**entry.CLUSTER_ARGUMENTS, "pool": {"type": "dict", "required": True}}


def run(task: entry.Task) -> dict[str, Any]:
    cluster, metadata = task.cluster(), task.params["pool"]["metadata"]
    pool = cluster.get(vocabulary.KIND, metadata["name"], metadata["namespace"])
    return {
        "pool": pool,
        "events": sorted(map(report.event, cluster.events_of(pool)), key=lambda each: each["at"]),
        "shortfall": report.shortfall(pool),
    }


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
