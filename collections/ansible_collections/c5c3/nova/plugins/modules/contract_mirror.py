#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delete the Secrets that were mirrored for the last pool of a Nova."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: contract_mirror
short_description: Delete the Secrets that were mirrored for the last pool of a Nova
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Deletes the mirrored compute contract and the hypervisor operator's credentials when no other pool of the Nova on
    the cluster needs them.
  - A Secret without the mark of the mirror stays.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target]
options:
  pool:
    description: The whole NovaCompute object, which is being deleted.
    type: dict
    required: true
  nova_gone:
    description: Whether the Nova no longer exists, so that no other pool drains anything.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Delete the Secrets that were mirrored for the last pool
  c5c3.nova.contract_mirror:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
"""

RETURN = r"""
deleted:
  description: The names of the Secrets that were deleted.
  returned: success
  type: list
  elements: str
  sample: [controlplane-nova-compute-config]
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import mirrors

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    "pool": {"type": "dict", "required": True},
    "nova_gone": {"type": "bool", "default": False},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, cluster = task.params["pool"], task.target_cluster()
    namespace = pool["metadata"]["namespace"]
    pools = task.cluster().list("NovaCompute", namespace)
    if not mirrors.is_last(pool, pools, nova_gone=task.params["nova_gone"]):
        return {"deleted": []}
    deleted = []
    for name in mirrors.names(pool["spec"]["novaRef"]["name"]):
        secret = cluster.find("Secret", name, namespace)
        if secret is None or not mirrors.is_mirror(secret):
            continue
        uid = secret["metadata"]["uid"]
        if cluster.delete("Secret", name, namespace, uid=uid, dry_run=task.check_mode):
            deleted.append(name)
            if not task.check_mode:
                message = f"Deleted the mirrored Secret {name}"
                task.cluster().record_event(pool, "Normal", "ComputeConfigMirrorReaped", message)
    diff = [entry.difference(f"Secret {namespace}/{name}", f"{name}\n", "") for name in deleted]
    return {"changed": bool(deleted), "deleted": deleted, "diff": diff}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
