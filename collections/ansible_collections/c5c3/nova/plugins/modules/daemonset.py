#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the DaemonSet of a pool."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: daemonset
short_description: Keep the DaemonSet of a pool
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Applies the DaemonSet server-side where it differs, or deletes it when no pod is left to run.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
options:
  definition:
    description:
      - The DaemonSet as it shall be, as YAML. Without it the DaemonSet is deleted.
      - It is text, which Ansible hands on as it is; of a structure it would copy every value at every use.
    type: str
  config_created:
    description:
      - Whether the ConfigMap that it mounts was not there before this pass. The difference of one that was there is
        shown when the pods go back to it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Apply the DaemonSet
  c5c3.nova.daemonset:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
    definition: "{{ lookup('ansible.builtin.template', 'daemonset.yml.j2') }}"
  register: daemonset_result

- name: Remove the DaemonSet of a pool that runs no pod any more
  c5c3.nova.daemonset:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
  register: daemonset_result
"""

RETURN = r"""
fields:
  description: The fields of the pool's status that mirror the DaemonSet.
  returned: success
  type: dict
  sample: {desiredNumberScheduled: 2, numberReady: 2, installedImage: "ghcr.io/c5c3/nova-compute:2026.1"}
observed:
  description: Whether the DaemonSet controller has seen the current template and affinity, or the DaemonSet is gone.
  returned: success
  type: bool
  sample: true
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: DaemonSetReady
      status: "True"
      reason: DaemonSetReady
      message: 2 of 2 nodes run a ready pod
    goes_on: true
    look: null
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import absent, entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, drift, ownership, workload

try:
    import yaml
except ImportError:
    yaml = absent.library("PyYAML")

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    **entry.POOL_ARGUMENT,
    "definition": {"type": "str"},
    "config_created": {"type": "bool", "default": False},
}


LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def run(task: entry.Task) -> dict[str, Any]:
    pool, text, cluster = task.params["pool"], task.params["definition"], task.target_cluster()
    namespace, name = pool["metadata"]["namespace"], workload.name(pool["metadata"]["name"])
    before = cluster.find("DaemonSet", name, namespace)
    ownership.of_pool(pool).refuse_foreign(before, "DaemonSet")
    if text is None:
        deleted = before is not None and cluster.delete("DaemonSet", name, namespace, dry_run=task.check_mode)
        return {
            "changed": deleted,
            "fields": workload.status_fields(None, ""),
            "observed": True,
            "outcome": workload.judge(None),
            "diff": entry.difference(f"DaemonSet {namespace}/{name}", before["spec"] if before and deleted else "", ""),
        }
    definition = yaml.load(text, Loader=LOADER)
    wanted = drift.stamped(definition)
    settled = before if drift.is_applied(before, wanted) else None
    returned = _returned(task, before, wanted)
    after = settled or cluster.apply(wanted, dry_run=task.check_mode)
    image = definition["spec"]["template"]["spec"]["containers"][0]["image"]
    return {
        "changed": settled is None,
        "fields": workload.status_fields(after, image),
        "observed": workload.is_observed(after),
        "outcome": workload.judge(after),
        "diff": [
            *returned,
            entry.difference(f"DaemonSet {namespace}/{name}", before["spec"] if before else "", after["spec"]),
        ],
    }


def _returned(task: entry.Task, before: dict[str, Any] | None, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """What changes in compute-pool.conf for pods that go back to a ConfigMap which was there before this pass."""
    if not task.diff_mode or task.params["config_created"]:
        return []
    namespace, was, now = wanted["metadata"]["namespace"], workload.config_map(before), workload.config_map(wanted)
    if was is None or now is None or was == now:
        return []
    old, new = (task.target_cluster().find("ConfigMap", name, namespace) for name in (was, now))
    if old is None or new is None:
        # What is gone cannot be compared with. That the pods mount another one is seen in the DaemonSet.
        return []
    texts = compute_config.text_of(old), compute_config.text_of(new)
    return [entry.difference(f"ConfigMap {namespace}/{now}", *texts, was=f"ConfigMap {namespace}/{was}")]


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
