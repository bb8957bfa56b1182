#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read which hosts Nova has mapped into a cell."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: host_mapping_info
short_description: Read which hosts Nova has mapped into a cell
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the hypervisor list page by page. Nova leaves out the hosts that are not mapped.
  - A call that fails is returned in RV(errors).
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.nova]
options:
  hosts:
    description: The hosts to look for. Nothing is asked when there is none.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Read which hosts Nova has mapped
  c5c3.nova.host_mapping_info:
    nova: "{{ nova }}"
    hosts: [compute-1]
  register: services_drain_mapping
"""

RETURN = r"""
mapped:
  description: Those of the hosts that Nova has mapped.
  returned: success
  type: list
  elements: str
  sample: [compute-1]
unmapped:
  description: Those that it has not. Empty when the list could not be read.
  returned: success
  type: list
  elements: str
  sample: [compute-2]
errors:
  description: The calls that failed (system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - system: nova
      kind: null
      call: GET /v2.1/os-hypervisors/detail
      status: 503
      detail: Service Unavailable
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.NOVA_ARGUMENT,
    "hosts": {"type": "list", "elements": "str", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    hosts = task.params["hosts"]
    if not hosts:
        return {"mapped": [], "unmapped": [], "errors": []}
    nova = nova_client.open_nova_from_cluster(task.cluster(), task.params["nova"])
    try:
        known = nova.mapped_hosts()
    except errors.CallError as error:
        return {"mapped": [], "unmapped": [], "errors": [error.as_data()]}
    return {
        "mapped": [host for host in hosts if host in known],
        "unmapped": [host for host in hosts if host not in known],
        "errors": [],
    }


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
