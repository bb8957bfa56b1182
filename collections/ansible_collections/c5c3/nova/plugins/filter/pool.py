# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that a template or a playbook needs, under the names it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils import packing
from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    aggregates,
    compute_config,
    conditions,
    drain,
    ownership,
    phases,
    report,
    status,
    tolerations,
    traits,
    workload,
)


def failed_outcome(failed_result: dict[str, Any], condition: str) -> dict[str, Any]:
    """The outcome of a step from C(ansible_failed_result)."""
    return conditions.failure(condition, failed_result.get("msg", "failed"), failed_result.get("error"))


def daemon_set_values(pool: dict[str, Any], default_pull_policy: str, nova: dict[str, Any]) -> dict[str, Any]:
    """What the DaemonSet's template needs beside the pool itself and its node affinity."""
    spec, name = pool["spec"], pool["metadata"]["name"]
    return {
        "name": workload.name(name),
        "labels": workload.labels(name),
        "owner": ownership.of_pool(pool).marks(),
        "image": workload.image(spec.get("image"), nova["installed_release"]),
        "pull_policy": workload.pull_policy(spec.get("image"), default_pull_policy),
        "resources": workload.resources(spec.get("resources")),
        "tolerations": tolerations.admissible(spec.get("tolerations") or []),
        "update_strategy": workload.update_strategy(spec),
    }


def traits_outcome(  # noqa: PLR0917 - a filter takes its arguments by position
    pool: dict[str, Any],
    ledger: list[dict[str, Any]],
    read: dict[str, Any],
    annotated: list[str],
    created: list[str],
    errors: list[dict[str, Any]],
) -> dict[str, Any]:
    """The outcome of the traits; ``read`` is what hypervisor_info returned, or empty when nothing was to be done."""
    if errors:
        return conditions.failure(conditions.TRAITS, conditions.describe_some(errors), errors[0])
    if not read.get("served", True):
        return traits.not_installed()
    return traits.judge(
        pool,
        ledger,
        packing.unpack(read.get("hypervisors", {})),
        annotated=[node for node in traits.managed(pool, ledger) if node in annotated],
        missing=read.get("missing", []),
        created=created,
    )


def traits_ledger(pool: Any, ledger: Any, hypervisors: Any) -> str:
    """The ledger with what each managed node carries, as text."""
    return packing.pack(packing.unpacking(traits.next_ledger)(pool, ledger, hypervisors))


def node_names(ledger: list[dict[str, Any]]) -> list[str]:
    """The names of all nodes of a ledger."""
    return [entry["name"] for entry in ledger]


def without_ledger(pool: dict[str, Any]) -> dict[str, Any]:
    """The pool for who does not look at its nodes: without them it is small."""
    return {**pool, "status": {name: value for name, value in (pool.get("status") or {}).items() if name != "nodes"}}


class FilterModule:
    """The filters of the collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "failed_outcome": failed_outcome,
            "pool_options": compute_config.options,
            "extra_config_outcome": compute_config.judge_extra_config,
            "affinity_terms": packing.unpacking(workload.affinity_terms),
            "daemon_set_values": daemon_set_values,
            "aggregates_settled": packing.unpacking(aggregates.settle),
            "nodes_in_phase": packing.unpacking(phases.held),
            "nodes_to_count": packing.unpacking(drain.nodes_to_count),
            "nodes_to_map": packing.unpacking(drain.nodes_to_map),
            "traits_concern": packing.unpacking(traits.concerns),
            "traits_managed": packing.unpacking(traits.managed),
            "traits_to_create": packing.unpacking(traits.to_create),
            "traits_to_write": packing.unpacking(traits.to_write),
            "traits_created_after": traits.created_after,
            "traits_to_delete": packing.unpacking(traits.to_delete),
            "traits_to_keep": packing.unpacking(traits.to_keep),
            "traits_ledger": traits_ledger,
            "node_names": packing.unpacking(node_names),
            "without_ledger": without_ledger,
            "traits_outcome": packing.unpacking(traits_outcome),
            "next_look": packing.unpacking(status.next_look),
            "may_release": packing.unpacking(status.may_release),
            "shortfall": packing.unpacking(report.shortfall),
        }
