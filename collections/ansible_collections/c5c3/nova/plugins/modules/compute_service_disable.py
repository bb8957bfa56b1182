#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Disable the compute services of nodes that began to drain."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: compute_service_disable
short_description: Disable the compute services of nodes that began to drain
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Disables each service once, with a reason that names the pool, and leaves alone what is disabled already.
  - Enables nothing, ever.
  - A call that fails is returned in RV(errors), so that the other nodes go on.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool, c5c3.nova.nova]
options:
  ledger:
    description: The entries of the pool's ledger.
    type: raw
    required: true
  services:
    description: Host to its compute service.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Disable the compute services of draining nodes
  c5c3.nova.compute_service_disable:
    pool: "{{ novacompute }}"
    nova: "{{ nova }}"
    ledger: "{{ ledger }}"
    services: "{{ services }}"
  register: services_drain_disabled
"""

RETURN = r"""
services:
  description: The services given, with what the disables changed, as JSON text.
  returned: success
  type: str
  sample: >-
    {"compute-1":{"host":"compute-1","id":"9b2c6d1e-4f0a-4c57-8e3d-1a7f5b60c2d4","status":"disabled","state":"up",
    "zone":"az1","disabled_reason":"c5c3.io: leaving NovaCompute openstack/pool-a"}}
errors:
  description: The calls that failed (node, system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - node: compute-2
      system: nova
      kind: null
      call: PUT /v2.1/os-services/9b2c6d1e-4f0a-4c57-8e3d-1a7f5b60c2d4
      status: 503
      detail: Service Unavailable
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import drain, vocabulary

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.POOL_ARGUMENT,
    **entry.NOVA_ARGUMENT,
    "ledger": {"type": "raw", "required": True},
    "services": {"type": "raw", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, services = task.params["pool"], dict(task.params["services"])
    due = drain.services_to_disable(task.params["ledger"], services)
    reason = vocabulary.leaving_reason(pool["metadata"]["namespace"], pool["metadata"]["name"])
    if not due:
        return {"services": services, "errors": []}
    cluster, failed, diff = task.cluster(), [], []
    nova = nova_client.open_nova_from_cluster(cluster, task.params["nova"])
    for service in due:
        node = service["node"]
        try:
            if not task.check_mode:
                nova.disable_service(service["id"], reason)
        except errors.CallError as error:
            failed.append({"node": node, **error.as_data()})
            continue
        diff.append(_difference(node, services[node], reason))
        services[node] = {**services[node], "status": "disabled", "disabled_reason": reason}
        if not task.check_mode:
            cluster.record_event(
                pool, "Normal", "ComputeServiceDisabled", f"Disabled the compute service of {node}: {reason}"
            )
    return {"changed": True, "services": services, "errors": failed, "diff": diff}


def _difference(node: str, service: dict[str, Any], reason: str) -> dict[str, Any]:
    before = {"status": service["status"], "disabled_reason": service.get("disabled_reason")}
    return entry.difference(f"compute service of {node}", before, {"status": "disabled", "disabled_reason": reason})


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
