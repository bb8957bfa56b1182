#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide which nodes a pool holds, and in which phase."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_ledger
short_description: Decide which nodes a pool holds, and in which phase
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the labels of the Nodes on the pool's cluster and the other pools of the same Nova, and returns the ledger
    that follows from them.
  - Records an event C(NodeConflict) for each conflict that the ledger did not know.
  - Writes no status; M(c5c3.nova.pool_status) does, before anything relies on the ledger.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
"""

EXAMPLES = r"""
- name: Decide which nodes the pool holds
  c5c3.nova.node_ledger:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
  register: nodes_result
"""

RETURN = r"""
ledger:
  description: The entries of C(status.nodes) as they shall be, as JSON text.
  returned: success
  type: str
  sample: >-
    [{"name":"compute-1","phase":"Active","zone":"az1","serviceID":"9b2c6d1e-4f0a-4c57-8e3d-1a7f5b60c2d4",
    "serviceStatus":"enabled","serviceState":"up"}]
moved:
  description: Whether the ledger differs from the one in the status of the pool.
  returned: success
  type: bool
  sample: false
handed_over:
  description: The nodes being released to another pool; their compute services live on.
  returned: success
  type: list
  elements: str
  sample: [compute-2]
annotated:
  description: The nodes whose annotation overrides the custom traits of their Hypervisor.
  returned: success
  type: list
  elements: str
  sample: [compute-3]
siblings:
  description:
    - The other pools of the same Nova, on whatever cluster, as JSON text, as far as later steps read them.
    - One node stands for all of a pool that have the same phase, zone and traits.
  returned: success
  type: str
  sample: >-
    [{"metadata":{"name":"pool-b","namespace":"openstack"},"spec":{"novaRef":{"name":"controlplane-nova"}},
    "status":{"nodes":[]}}]
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: NodesReady
      status: "True"
      reason: NodesResolved
      message: "1 nodes selected, 0 leaving"
    goes_on: true
    look: null
"""

from collections.abc import Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import phases, traits

ARGUMENTS: Final = {**entry.CLUSTER_ARGUMENTS, **entry.TARGET_ARGUMENT, "pool": {"type": "dict", "required": True}}


def run(task: entry.Task) -> dict[str, Any]:
    pool, cluster = task.params["pool"], task.cluster()
    pools = cluster.list("NovaCompute", pool["metadata"]["namespace"])
    before = pool.get("status", {}).get("nodes", [])
    # A pool that is being deleted and holds nothing needs no Node: whoever may not list them can still let it go.
    is_over = phases.pool_of(pool).deleting and not before
    listed = [] if is_over else _nodes(task.target_cluster(), phases.pool_of(pool).selector, before)
    nodes = {metadata["name"]: metadata.get("labels") or {} for metadata in listed}
    rivals = phases.rivals(pool, pools)
    ledger = phases.next_ledger(phases.pool_of(pool), rivals, nodes, before)
    conflicts = phases.new_conflicts(before, ledger)
    if conflicts and not task.check_mode:
        cluster.record_event(pool, "Warning", "NodeConflict", phases.describe_conflicts(conflicts))
    return {
        "ledger": ledger,
        "moved": ledger != before,
        "handed_over": phases.handovers(rivals, nodes, ledger),
        "annotated": [
            metadata["name"] for metadata in listed if traits.ANNOTATION in (metadata.get("annotations") or {})
        ],
        "siblings": [phases.trimmed(sibling) for sibling in phases.siblings(pool, pools)],
        "outcome": phases.judge(ledger),
    }


def _nodes(
    cluster: kubernetes.Cluster, selector: Mapping[str, str], before: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The metadata of the Nodes that matter to the pool: those it selects, and where it holds others, of all."""
    selected = [node["metadata"] for node in cluster.list("Node", labels=selector, metadata_only=True)]
    if {entry["name"] for entry in before} <= {metadata["name"] for metadata in selected}:
        return selected
    # Whether a node that left still exists, and who selects it now, only its labels tell.
    return [node["metadata"] for node in cluster.list("Node", metadata_only=True)]


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
