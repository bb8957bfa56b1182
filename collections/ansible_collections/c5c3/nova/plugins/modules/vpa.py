#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the VerticalPodAutoscaler of a pool that opts in."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: vpa
short_description: Keep the VerticalPodAutoscaler of a pool that opts in
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Applies the VerticalPodAutoscaler of the pool's DaemonSet, and deletes one that the pool made and no longer wants.
  - A cluster that does not serve the kind is a result and no failure.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
options:
  has_daemon_set:
    description: Whether the pool renders its DaemonSet.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Keep the VerticalPodAutoscaler
  c5c3.nova.vpa:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
  register: vpa_result
"""

RETURN = r"""
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: VPAReady
      status: "True"
      reason: VPANotRequired
      message: No workload opts in
    goes_on: true
    look: null
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, drift, ownership
from ansible_collections.c5c3.nova.plugins.module_utils.rules import vpa as rules

_KIND: Final = "VerticalPodAutoscaler"

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    **entry.POOL_ARGUMENT,
    "has_daemon_set": {"type": "bool", "default": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, cluster = task.params["pool"], task.target_cluster()
    try:
        served = cluster.serves(_KIND)
    except errors.CallError as error:
        return {"outcome": conditions.outcome(conditions.VPA, "CapabilityProbeFailed", str(error))}
    if not served:
        return {"outcome": rules.judge(pool, None, served=False)}
    namespace = pool["metadata"]["namespace"]
    wanted = rules.wanted(pool, has_daemon_set=task.params["has_daemon_set"])
    listed = cluster.list(_KIND, namespace, rules.common_labels(pool["metadata"]["name"]))
    changed, diff = False, []
    if wanted is not None:
        stamped = drift.stamped(wanted)
        changed = not any(drift.is_applied(item, stamped) for item in listed)
        if changed:
            # One without the common labels is not in the list, and an apply would take it over.
            for there in cluster.list(_KIND, namespace, fields={"metadata.name": wanted["metadata"]["name"]}):
                ownership.of_pool(pool).refuse_foreign(there, _KIND)
            applied = cluster.apply(stamped, dry_run=task.check_mode)
            before = next(
                (item["spec"] for item in listed if item["metadata"]["name"] == wanted["metadata"]["name"]), ""
            )
            diff.append(entry.difference(f"{_KIND} {namespace}/{wanted['metadata']['name']}", before, applied["spec"]))
    for item in rules.unwanted(listed, pool, wanted):
        metadata = item["metadata"]
        if cluster.delete(_KIND, metadata["name"], namespace, uid=metadata["uid"], dry_run=task.check_mode):
            changed = True
            diff.append(entry.difference(f"{_KIND} {namespace}/{metadata['name']}", item["spec"], ""))
    return {"changed": changed, "outcome": rules.judge(pool, wanted, served=True), "diff": diff}


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
