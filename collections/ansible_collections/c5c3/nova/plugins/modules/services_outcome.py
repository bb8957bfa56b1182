#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settle a pool's ledger by what Nova answered."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: services_outcome
short_description: Settle a pool's ledger by what Nova answered
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Moves the nodes of the ledger by the services, counts, pods, mappings and deletes of this pass. It talks to nobody.
options:
  ledger:
    description: The entries of the pool's ledger as the step found them.
    type: raw
    required: true
  services:
    description: Host to its compute service, after the pass's own disables.
    type: raw
    required: true
  counts:
    description: Host to the number of its servers.
    type: dict
    default: {}
  pods:
    description: Node to the pool's pod that still exists there. Without it no node is dropped.
    type: dict
  handed_over:
    description: The nodes being released to another pool.
    type: list
    elements: str
    default: []
  mapped:
    description: The hosts that Nova has mapped.
    type: list
    elements: str
    default: []
  deletions:
    description: Node to what became of its service.
    type: dict
    default: {}
  discovery:
    description: How the host discovery Job stands.
    type: str
    default: ""
  errors:
    description: The calls of this step that failed.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Settle the ledger by what Nova answered
  c5c3.nova.services_outcome:
    ledger: "{{ ledger }}"
    services: "{{ services }}"
    counts: "{{ counts }}"
  register: services_drain_result
"""

RETURN = r"""
ledger:
  description: The entries as they shall be, as JSON text.
  returned: success
  type: str
  sample: >-
    [{"name":"compute-1","phase":"Draining","zone":"az1","serviceID":"9b2c6d1e-4f0a-4c57-8e3d-1a7f5b60c2d4",
    "serviceStatus":"disabled","instances":1}]
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: ServicesReady
      status: "True"
      reason: Draining
      message: "Leaving the pool: compute-1 (1 instance)"
    goes_on: true
    look: 30.0
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import drain

ARGUMENTS: Final = {
    "ledger": {"type": "raw", "required": True},
    "services": {"type": "raw", "required": True},
    "counts": {"type": "dict", "default": {}},
    "pods": {"type": "dict"},
    "handed_over": {"type": "list", "elements": "str", "default": []},
    "mapped": {"type": "list", "elements": "str", "default": []},
    "deletions": {"type": "dict", "default": {}},
    "discovery": {"type": "str", "default": ""},
    "errors": {"type": "list", "elements": "dict", "default": []},
}


def run(task: entry.Task) -> dict[str, Any]:
    given = task.params
    ledger = drain.next_ledger(
        given["ledger"],
        services=given["services"],
        counts=given["counts"],
        pods=given["pods"],
        handed_over=given["handed_over"],
        mapped=given["mapped"],
        deletions=given["deletions"],
    )
    outcome = drain.judge(given["ledger"], ledger, discovery=given["discovery"], errors=given["errors"])
    return {"ledger": ledger, "outcome": outcome}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
