#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delete the custom traits that a pool created."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: trait_delete
short_description: Delete the custom traits that a pool created
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Deletes traits that no pool needs any more. One that a resource provider still carries stays, and so does one of
    O(keep), which another pool declares.
  - In check mode Placement is asked which of them it knows, and which a resource provider carries.
  - A call that fails is returned in RV(errors), so that the other traits go on.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.nova]
options:
  pool:
    description: The whole NovaCompute object, which the events are recorded for.
    type: dict
    required: true
  names:
    description: The traits to delete. All of them were created by this pool.
    type: list
    elements: str
    required: true
  keep:
    description: The traits that this pool created and leaves to another one.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Delete the created traits that nobody needs any more
  c5c3.nova.trait_delete:
    pool: "{{ novacompute }}"
    nova: "{{ nova }}"
    names: [CUSTOM_GPU]
  register: traits_deleted
"""

RETURN = r"""
dropped:
  description: The traits that are no longer this pool's, deleted or kept.
  returned: success
  type: list
  elements: str
  sample: [CUSTOM_PAGES]
errors:
  description: The calls that failed (trait, system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - trait: CUSTOM_PAGES
      system: placement
      kind: Trait
      call: DELETE /traits/CUSTOM_PAGES
      status: 503
      detail: Service Unavailable
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    "pool": {"type": "dict", "required": True},
    **entry.NOVA_ARGUMENT,
    "names": {"type": "list", "elements": "str", "required": True},
    "keep": {"type": "list", "elements": "str", "default": []},
}


def run(task: entry.Task) -> dict[str, Any]:
    names, keep, pool = task.params["names"], task.params["keep"], task.params["pool"]
    if not (names or keep):
        return {"dropped": [], "errors": []}
    cluster, failed, dropped, deleted = task.cluster(), [], list(keep), []
    if not task.check_mode:
        for name in keep:
            cluster.record_event(pool, "Normal", "TraitKept", f"Kept the trait {name}: another NovaCompute declares it")
    if names:
        try:
            placement = nova_client.open_placement(cluster, task.params["nova"])
        except errors.CallError as error:
            return {
                "changed": bool(keep),
                "dropped": dropped,
                "errors": [{**error.as_data(), "kind": error.kind or "Token"}],
            }
    for name in names:
        try:
            outcome = placement.foresee_deletion(name) if task.check_mode else placement.delete_trait(name)
        except errors.CallError as error:
            failed.append({"trait": name, **error.as_data(), "kind": "Trait"})
            continue
        dropped.append(name)
        if outcome != "in_use":
            deleted.append(name)
        if not task.check_mode:
            _record(cluster, pool, name, outcome)
    return {"changed": bool(dropped), "dropped": dropped, "errors": failed, "diff": _differences(deleted)}


def _record(cluster: kubernetes.Cluster, pool: dict[str, Any], name: str, outcome: str) -> None:
    """Record the event that says what became of the trait."""
    if outcome == "in_use":
        message = f"Kept the trait {name}: a resource provider that no pool manages carries it"
        cluster.record_event(pool, "Normal", "TraitKept", message)
    else:
        cluster.record_event(pool, "Normal", "TraitDeleted", f"Deleted the trait {name}")


def _differences(names: list[str]) -> list[dict[str, Any]]:
    return [entry.difference("trait in Placement", f"{name}\n", "") for name in names]


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
