#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the host aggregates of a pool's zones."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: aggregates
short_description: Keep the host aggregates of a pool's zones
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Creates and marks the aggregates that the pool needs, and deletes marked ones that no pool of the Nova
    needs any more.
  - A new aggregate gets its name only once it is marked, so that a run which is killed leaves none that nobody owns.
  - Adds no host to an aggregate and removes none.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool, c5c3.nova.nova]
options:
  ledger:
    description: The entries of the pool's ledger.
    type: raw
    required: true
  siblings:
    description: The other pools of the same Nova. Listed where an earlier step has not done it.
    type: raw
"""

EXAMPLES = r"""
- name: Keep the aggregates of the pool's zones
  c5c3.nova.aggregates:
    pool: "{{ novacompute }}"
    nova: "{{ nova }}"
    ledger: "{{ ledger }}"
    siblings: "{{ siblings }}"
  register: aggregates_result
"""

RETURN = r"""
created:
  description: The names of the aggregates that were created and marked.
  returned: success
  type: list
  elements: str
  sample: [az1, tenant_filter_tests]
deleted:
  description: The names of the aggregates that were deleted.
  returned: success
  type: list
  elements: str
  sample: [az2]
outside:
  description: The Pending and Active nodes in no aggregate of their zone, as JSON text.
  returned: success
  type: str
  sample: '["compute-2"]'
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: AggregatesReady
      status: "True"
      reason: AggregatesEnsured
      message: "Aggregates in place for zones: az1"
    goes_on: true
    look: null
"""

from collections.abc import Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import aggregates as rules
from ansible_collections.c5c3.nova.plugins.module_utils.rules import phases, vocabulary

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.POOL_ARGUMENT,
    **entry.NOVA_ARGUMENT,
    "ledger": {"type": "raw", "required": True},
    "siblings": {"type": "raw"},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, ledger, cluster = task.params["pool"], task.params["ledger"], task.cluster()
    siblings = task.params["siblings"]
    if siblings is None:
        siblings = phases.siblings(pool, cluster.list("NovaCompute", pool["metadata"]["namespace"]))
    nova = nova_client.open_nova_from_cluster(cluster, task.params["nova"])
    listed = nova.list_aggregates()
    outside = rules.outside_zone(ledger, listed)
    plan = rules.plan(pool, ledger, siblings, listed)
    marker = rules.marker(task.params["nova"]["namespace"], task.params["nova"]["name"])
    names = {"created": [name for name, _zone in plan.create], "deleted": [item["name"] for item in plan.delete]}
    changed = any(names.values())
    result = {
        "changed": changed,
        **names,
        "outside": outside,
        "outcome": rules.judge(ledger, outside, plan),
        "diff": _differences(plan, marker),
    }
    if task.check_mode:
        return result
    for name, zone in plan.create:
        try:
            _create(nova, marker, name, zone, plan.begun.get(name))
        except errors.CallError as error:
            if error.status != 409:
                raise
            return {**result, "changed": True, "outcome": rules.concurrent_creator(name)}
        cluster.record_event(pool, "Normal", "AggregateCreated", f"Created the aggregate {name}")
    for unneeded in plan.delete:
        nova.delete_aggregate(unneeded["id"])
        cluster.record_event(pool, "Normal", "AggregateDeleted", f"Deleted the aggregate {unneeded['name']}")
    for kept in plan.keep:
        keys = ", ".join(rules.foreign_keys(kept))
        cluster.record_event(
            pool,
            "Warning",
            "AggregateKept",
            f"Kept the aggregate {kept['name']} for its metadata: {keys}",
            once=True,
        )
    return result


def _differences(plan: rules.Plan, marker: str) -> list[dict[str, Any]]:
    return [
        *(
            entry.difference(
                f"aggregate {name}",
                "",
                {"name": name, "availability_zone": zone, "metadata": {vocabulary.AGGREGATE_MARKER: marker}},
            )
            for name, zone in plan.create
        ),
        *(entry.difference(f"aggregate {unneeded['name']}", dict(unneeded), "") for unneeded in plan.delete),
    ]


def _create(nova: nova_client.Nova, marker: str, name: str, zone: str | None, begun: Mapping[str, Any] | None) -> None:
    """Create a marked aggregate. Raises `errors.CallError`, with the status 409 when somebody else has made one.

    What cannot be marked, or has to make way, is deleted again; what a killed pass left is known by its name.
    """
    aggregate = begun or nova.create_aggregate(rules.name_until_marked(marker, name), zone)
    try:
        nova.set_aggregate_metadata(aggregate["id"], {vocabulary.AGGREGATE_MARKER: marker})
        nova.rename_aggregate(aggregate["id"], name)
    except errors.CallError:
        nova.delete_aggregate(aggregate["id"])
        raise


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
