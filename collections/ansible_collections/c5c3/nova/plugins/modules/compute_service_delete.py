#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delete the compute services of released nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: compute_service_delete
short_description: Delete the compute services of released nodes
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Deletes a service only of a Releasing node whose pod is gone, on whose host this pass counted no server, and that no
    other pool takes over.
  - Nova takes the host mapping, the resource providers and the aggregate memberships along.
  - A call that fails is returned in RV(errors), so that the other nodes go on.
  - A resource provider that Nova left behind, since Placement refused to delete it, is a warning, and is left alone.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool, c5c3.nova.nova]
options:
  ledger:
    description: The entries of the pool's ledger.
    type: raw
    required: true
  services:
    description: Host to its compute service, from a list that every cell answered in this pass.
    type: raw
    required: true
  counts:
    description: Host to the number of its servers, counted in this pass.
    type: dict
    required: true
  pods:
    description: Node to the pool's pod that still exists there.
    type: dict
    required: true
  handed_over:
    description: The nodes being released to another pool.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Delete the compute services of released nodes
  c5c3.nova.compute_service_delete:
    pool: "{{ novacompute }}"
    nova: "{{ nova }}"
    ledger: "{{ ledger }}"
    services: "{{ services }}"
    counts: "{{ counts }}"
    pods: "{{ pods }}"
  register: services_drain_deleted
"""

RETURN = r"""
deletions:
  description: Node to what became of its service (deleted, gone or refused).
  returned: success
  type: dict
  sample: {compute-1: deleted}
errors:
  description: The calls that failed (node, system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - node: compute-2
      system: nova
      kind: null
      call: DELETE /v2.1/os-services/9b2c6d1e-4f0a-4c57-8e3d-1a7f5b60c2d4
      status: 503
      detail: Service Unavailable
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import drain

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.POOL_ARGUMENT,
    **entry.NOVA_ARGUMENT,
    "ledger": {"type": "raw", "required": True},
    "services": {"type": "raw", "required": True},
    "counts": {"type": "dict", "required": True},
    "pods": {"type": "dict", "required": True},
    "handed_over": {"type": "list", "elements": "str", "default": []},
}


def run(task: entry.Task) -> dict[str, Any]:
    given = task.params
    due = drain.services_to_delete(
        given["ledger"], given["services"], given["counts"], given["pods"], given["handed_over"]
    )
    if not due or task.check_mode:
        return {
            "changed": bool(due),
            # Whether Nova would refuse is known only when it is asked.
            "deletions": {service["node"]: drain.DELETED for service in due},
            "errors": [],
            "diff": [_difference(given["services"], service["node"]) for service in due],
        }
    cluster = task.cluster()
    nova = nova_client.open_nova_from_cluster(cluster, given["nova"])
    deletions, failed, diff = {}, [], []
    for service in due:
        node = service["node"]
        try:
            deletions[node] = nova.delete_service(service["id"])
        except errors.CallError as error:
            failed.append({"node": node, **error.as_data()})
            continue
        if deletions[node] == drain.DELETED:
            diff.append(_difference(given["services"], node))
            cluster.record_event(
                given["pool"], "Normal", "ComputeServiceDeleted", f"Deleted the compute service of {node}"
            )
    deleted = [node for node, outcome in deletions.items() if outcome == drain.DELETED]
    result = {"changed": bool(deleted), "deletions": deletions, "errors": failed, "diff": diff}
    if warnings := _leftovers(nova, given["nova"], deleted):
        result["warnings"] = warnings
    return result


def _leftovers(nova: nova_client.Nova, reference: dict[str, Any], deleted: list[str]) -> list[str]:
    """What to say of the providers that are still there. A Placement that does not answer holds up no release."""
    if not deleted:
        return []
    found = []
    try:
        placement = nova_client.placement_of(nova, reference)
        for node in deleted:
            provider = placement.provider(node)
            if provider is not None:
                found.append(drain.leftover(node, provider))
    except errors.CallError as error:
        found.append(f"whether Placement still has resource providers of {', '.join(deleted)} is not known: {error}")
    return found


def _difference(services: dict[str, Any], node: str) -> dict[str, Any]:
    return entry.difference(f"compute service of {node}", services[node], "")


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
