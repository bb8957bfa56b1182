#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the desired custom traits into Hypervisors."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hypervisor_traits
short_description: Write the desired custom traits into Hypervisors
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Sets C(spec.customTraits) of each Hypervisor, from where the hypervisor operator applies it.
  - A call that fails is returned in RV(errors), so that the other nodes go on.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target]
options:
  lists:
    description: Node to its whole list, in byte order.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write the lists that differ
  c5c3.nova.hypervisor_traits:
    target: "{{ nova_resolve_target }}"
    lists:
      compute-1: [CUSTOM_GPU]
  register: traits_written
"""

RETURN = r"""
errors:
  description: The calls that failed (node, system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - node: compute-1
      system: kubernetes
      kind: Hypervisor
      call: PATCH /apis/kvm.cloud.sap/v1/hypervisors/compute-1
      status: 403
      detail: 'hypervisors.kvm.cloud.sap "compute-1" is forbidden'
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors

ARGUMENTS: Final = {**entry.CLUSTER_ARGUMENTS, **entry.TARGET_ARGUMENT, "lists": {"type": "dict", "required": True}}


def run(task: entry.Task) -> dict[str, Any]:
    cluster, failed, diff = task.target_cluster(), [], []
    for node, traits in task.params["lists"].items():
        body = {"spec": {"customTraits": traits}}
        try:
            # Read for the eyes only: what is written does not rest on it.
            before = cluster.get("Hypervisor", node) if task.diff_mode else {"spec": {}}
            cluster.patch("Hypervisor", node, None, body, "merge", dry_run=task.check_mode)
        except errors.CallError as error:
            failed.append({"node": node, **error.as_data()})
            continue
        written_over = {"spec": {"customTraits": before["spec"].get("customTraits") or []}}
        diff.append(entry.difference(f"Hypervisor {node}", written_over, body))
    return {"changed": len(failed) < len(task.params["lists"]), "errors": failed, "diff": diff}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
