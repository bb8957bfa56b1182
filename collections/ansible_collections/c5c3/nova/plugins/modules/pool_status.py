#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the status of a pool."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_status
short_description: Write the status of a pool
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - The one writer of a pool's status. It writes with the resourceVersion that the pool was read at, and only what
    differs.
  - With O(outcomes) it writes what a pass found; without, nothing but the ledger and
    O(fields), ahead of the first effect that relies on them.
  - Records the event ExtraConfigOwnedKeyOverride when it writes that C(spec.extraConfig) overrides owned keys, and did
    not say so of the same keys before.
extends_documentation_fragment: c5c3.nova.cluster
options:
  pool:
    description: The whole NovaCompute object as it was read or last written.
    type: dict
    required: true
  ledger:
    description: The entries of C(status.nodes) as they shall be.
    type: raw
    required: true
  outcomes:
    description: What the steps of the pass found.
    type: list
    elements: dict
  fields:
    description: Further fields of the status, by name.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Write the ledger before anything relies on it
  c5c3.nova.pool_status:
    pool: "{{ novacompute }}"
    ledger: "{{ nodes_result.ledger }}"
  register: nodes_written
"""

RETURN = r"""
pool:
  description: The NovaCompute object as it is now, to be given to the next write, as JSON text.
  returned: success
  type: str
  sample: >-
    {"apiVersion":"nova.openstack.c5c3.io/v1alpha1","kind":"NovaCompute",
    "metadata":{"name":"pool-a","namespace":"openstack"},
    "spec":{"novaRef":{"name":"controlplane-nova"},"nodeSelector":{"openstack.c5c3.io/nova-compute-pool":"a"}},
    "status":{"nodes":[{"name":"compute-1","phase":"Active","zone":"az1"}]}}
superseded:
  description: Whether somebody else wrote the pool, or it is gone, so that this pass ends here.
  returned: success
  type: bool
  sample: false
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import status as rules

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    "pool": {"type": "dict", "required": True},
    "ledger": {"type": "raw", "required": True},
    "outcomes": {"type": "list", "elements": "dict"},
    "fields": {"type": "dict", "default": {}},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, ledger, outcomes = task.params["pool"], task.params["ledger"], task.params["outcomes"]
    before = pool.get("status", {})
    if outcomes is None:
        after = rules.with_ledger(before, ledger, task.params["fields"])
    else:
        after = rules.after_pass(
            before,
            outcomes=outcomes,
            fields={**task.params["fields"], "nodes": ledger},
            generation=pool["metadata"]["generation"],
            now=kubernetes.timestamp(),
        )
    if after == before:
        return {"pool": pool, "superseded": False}
    name = f"{pool['metadata']['namespace']}/{pool['metadata']['name']}"
    diff = entry.difference(f"status of NovaCompute {name}", before, after)
    try:
        written = task.cluster().replace_status({**pool, "status": after}, dry_run=task.check_mode)
    except errors.CallError as error:
        # Somebody wrote the pool since it was read, or deleted it: the next pass starts from what is there.
        if error.status not in (404, 409):
            raise
        return {"pool": pool, "superseded": True}
    message = rules.new_override(before, after)
    if message and not task.check_mode:
        task.cluster().record_event(pool, "Warning", "ExtraConfigOwnedKeyOverride", message)
    return {"changed": True, "pool": {**written, "status": after}, "superseded": False, "diff": diff}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
