#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the servers on hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: server_count
short_description: Count the servers on hosts
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Counts the servers of all projects on each host.
  - The counts are worth something only in a pass whose service list every cell answered.
  - A call that fails is returned in RV(errors), and its host is absent from RV(counts).
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.nova]
options:
  hosts:
    description: The hosts to count on.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Count the servers on the hosts that leave
  c5c3.nova.server_count:
    nova: "{{ nova }}"
    hosts: [compute-3]
  register: services_drain_counts
"""

RETURN = r"""
counts:
  description: Host to the number of its servers.
  returned: success
  type: dict
  sample: {compute-1: 1}
errors:
  description: The calls that failed (node, system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - node: compute-2
      system: nova
      kind: null
      call: GET /v2.1/servers
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
    nova = nova_client.open_nova_from_cluster(task.cluster(), task.params["nova"])
    counts, failed = {}, []
    for host in task.params["hosts"]:
        try:
            counts[host] = nova.count_servers(host)
        except errors.CallError as error:
            failed.append({"node": host, **error.as_data()})
    return {"counts": counts, "errors": failed}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
