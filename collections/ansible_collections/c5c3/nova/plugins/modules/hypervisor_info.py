#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the Hypervisors of nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hypervisor_info
short_description: Read the Hypervisors of nodes
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads what concerns custom traits of the Hypervisor objects that the hypervisor operator keeps for nodes.
  - A cluster that does not serve the kind is a result and no failure, and so is a node without a Hypervisor.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target]
options:
  nodes:
    description: The nodes, which are also the names of their Hypervisors.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Read the Hypervisors of the pool's nodes
  c5c3.nova.hypervisor_info:
    target: "{{ nova_resolve_target }}"
    nodes: [compute-1]
  register: traits_read
"""

RETURN = r"""
served:
  description: Whether the cluster serves the kind.
  returned: success
  type: bool
  sample: true
hypervisors:
  description: Node to its Hypervisor (custom_traits, lifecycle_enabled, maintenance, reported, failure), as JSON text.
  returned: success
  type: str
  sample: >-
    {"compute-1":{"custom_traits":["CUSTOM_PAGES"],"lifecycle_enabled":true,
    "maintenance":"","reported":["CUSTOM_PAGES"],"failure":null}}
missing:
  description: The nodes that have none.
  returned: success
  type: list
  elements: str
  sample: [compute-2]
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import traits

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    "nodes": {"type": "list", "elements": "str", "required": True},
}

FEW: Final = 10
"""So many Hypervisors are read one by one: a list brings those of all other pools, too."""


def run(task: entry.Task) -> dict[str, Any]:
    nodes, cluster = task.params["nodes"], task.target_cluster()
    if not nodes:
        return {"served": True, "hypervisors": {}, "missing": []}
    if not cluster.serves("Hypervisor"):
        return {"served": False, "hypervisors": {}, "missing": []}
    found = _found(cluster, nodes)
    return {
        "served": True,
        "hypervisors": {node: traits.hypervisor(each) for node, each in found.items() if each is not None},
        "missing": [node for node, each in found.items() if each is None],
    }


def _found(cluster: kubernetes.Cluster, nodes: list[str]) -> dict[str, dict[str, Any] | None]:
    """Each node's Hypervisor: of many nodes from a list, in pages, where that may be read."""
    if len(nodes) > FEW:
        try:
            listed = {each["metadata"]["name"]: each for each in cluster.list("Hypervisor")}
        except errors.CallError as error:
            # Reading one by one is all that a role of an earlier version allows.
            if error.status != 403:
                raise
        else:
            return {node: listed.get(node) for node in nodes}
    return {node: cluster.find("Hypervisor", node) for node in nodes}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
