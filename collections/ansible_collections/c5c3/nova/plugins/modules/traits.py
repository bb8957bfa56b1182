#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the custom traits of a pool's hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: traits
short_description: Keep the custom traits of a pool's hosts
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Judges a pool that declares, records and created no trait, without a call.
  - Says where the cluster serves no Hypervisor. Writing the lists into Hypervisors is not supported in this
    version; a pool that declares traits beside the hypervisor operator fails with that message and nothing is written.
extends_documentation_fragment: c5c3.nova.cluster
options:
  pool:
    description: The whole NovaCompute object.
    type: dict
    required: true
  ledger:
    description: The entries of the pool's ledger.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Keep the custom traits of the pool's hosts
  c5c3.nova.traits:
    pool: "{{ novacompute }}"
    ledger: "{{ ledger }}"
  register: traits_result
"""

RETURN = r"""
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, traits

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    "pool": {"type": "dict", "required": True},
    "ledger": {"type": "list", "elements": "dict", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, ledger = task.params["pool"], task.params["ledger"]
    if not traits.concerns(pool, ledger):
        return {"outcome": conditions.outcome(conditions.TRAITS, "NoTraitsDeclared", "No trait is declared")}
    if not task.cluster().serves("Hypervisor"):
        return {"outcome": traits.not_installed()}
    raise ValueError("spec.traits and spec.hostTraits are not applied by this version; remove them from the pool")


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
