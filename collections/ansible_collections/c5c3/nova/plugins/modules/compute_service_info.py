#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List the compute services of a Nova."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: compute_service_info
short_description: List the compute services of a Nova
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Lists the compute services of all cells, and fails when a cell did not answer.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.nova]
options:
  hosts:
    description: The hosts to return. A host that is not registered is absent from the answer.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: List the compute services of the pool's nodes
  c5c3.nova.compute_service_info:
    nova: "{{ nova }}"
    hosts: "{{ ledger | map(attribute='name') | list }}"
  register: services_drain_services
"""

RETURN = r"""
services:
  description: Host to its service (host, id, status, state, disabled_reason), as JSON text.
  returned: success
  type: str
  sample: >-
    {"compute-1":{"host":"compute-1","id":"9b2c6d1e-4f0a-4c57-8e3d-1a7f5b60c2d4","status":"enabled","state":"up",
    "zone":"az1","disabled_reason":null}}
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.NOVA_ARGUMENT,
    "hosts": {"type": "list", "elements": "str", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    nova = nova_client.open_nova_from_cluster(task.cluster(), task.params["nova"])
    hosts = set(task.params["hosts"])
    return {"services": {row["host"]: row for row in nova.list_services() if row["host"] in hosts}}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
