#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List the other pools of a pool's Nova."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: sibling_info
short_description: List the other pools of a pool's Nova
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - For a pass that runs a later step without c5c3.nova.node_ledger, which returns them too.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool]
"""

EXAMPLES = r"""
- name: List the other pools of the Nova
  c5c3.nova.sibling_info:
    pool: "{{ novacompute }}"
  register: aggregates_read
"""

RETURN = r"""
siblings:
  description:
    - The other pools of the same Nova, on whatever cluster, as JSON text, as far as later steps read them.
    - One node stands for all of a pool that have the same phase, zone and traits.
  returned: success
  type: str
  sample: >-
    [{"metadata":{"name":"pool-b","namespace":"openstack"},"spec":{"novaRef":{"name":"controlplane-nova"}},
    "status":{"nodes":[]}}]
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import phases

ARGUMENTS: Final = {**entry.CLUSTER_ARGUMENTS, **entry.POOL_ARGUMENT}


def run(task: entry.Task) -> dict[str, Any]:
    pool = task.params["pool"]
    pools = task.cluster().list("NovaCompute", pool["metadata"]["namespace"])
    return {"siblings": [phases.trimmed(sibling) for sibling in phases.siblings(pool, pools)]}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
