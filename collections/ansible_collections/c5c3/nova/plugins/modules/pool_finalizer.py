#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold the deletion of a pool, or let it go."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_finalizer
short_description: Hold the deletion of a pool, or let it go
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Adds the finalizers of the product to a pool, or removes them and only them. A pool on a target cluster has two.
  - Both ways change the very list of finalizers that was read; another writer in between is a result and no failure.
extends_documentation_fragment: c5c3.nova.cluster
options:
  pool:
    description: The whole NovaCompute object as it was read or last written.
    type: dict
    required: true
  state:
    description: Whether the pool shall carry them.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Hold the deletion until every node is released
  c5c3.nova.pool_finalizer:
    pool: "{{ novacompute }}"

- name: Let the pool go
  c5c3.nova.pool_finalizer:
    pool: "{{ novacompute }}"
    state: absent
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
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.rules import status as rules

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    "pool": {"type": "dict", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, wanted = task.params["pool"], task.params["state"] == "present"
    metadata = pool["metadata"]
    finalizers, own = metadata.get("finalizers", []), rules.finalizers(pool)
    due = [name for name in own if (name in finalizers) != wanted]
    if not due:
        return {"pool": pool, "superseded": False}
    kind, name, namespace = pool["kind"], metadata["name"], metadata["namespace"]
    try:
        if wanted:
            body = {
                "metadata": {
                    "resourceVersion": metadata["resourceVersion"],
                    "finalizers": [*finalizers, *due],
                }
            }
            written = task.cluster().patch(kind, name, namespace, body, "merge", dry_run=task.check_mode)
        else:
            # From the last to the first: a removal moves what is behind it.
            places = sorted(((finalizers.index(name), name) for name in due), reverse=True)
            steps = [
                step
                for place, name in places
                for step in (
                    {"op": "test", "path": f"/metadata/finalizers/{place}", "value": name},
                    {"op": "remove", "path": f"/metadata/finalizers/{place}"},
                )
            ]
            written = task.cluster().patch(kind, name, namespace, steps, "json", dry_run=task.check_mode)
    except errors.CallError as error:
        # A patch with a test answers 422 when the list is no longer as it was read; of the other one it is a refusal.
        if error.status not in ((404, 409) if wanted else (404, 409, 422)):
            raise
        return {"pool": pool, "superseded": True}
    after = written["metadata"].get("finalizers", [])
    diff = entry.difference(
        f"finalizers of {kind} {namespace}/{name}", {"finalizers": finalizers}, {"finalizers": after}
    )
    return {"changed": True, "pool": written, "superseded": False, "diff": diff}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
