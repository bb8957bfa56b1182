# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that a template or a playbook needs, under the names it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.utils.display import Display
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

display = Display()


def failed_outcome(failed_result: dict[str, Any], condition: str) -> dict[str, Any]:
    """The outcome of a step from C(ansible_failed_result)."""
    return conditions.failure(condition, failed_result.get("msg", "failed"), failed_result.get("error"))


def daemon_set_values(pool: dict[str, Any], default_pull_policy: str, nova: dict[str, Any]) -> dict[str, Any]:
    """What the DaemonSet's template needs beside the pool itself and its node affinity.

    A toleration that is left out is a warning of the task: its owner would look for it in the pods in vain.
    """
    spec, name = pool["spec"], pool["metadata"]["name"]
    for said in tolerations.left_out(spec.get("tolerations") or [], "spec.tolerations"):
        display.warning(said)
    return {
        "name": workload.name(name),
        "namespace": pool["metadata"]["namespace"],
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
    left_alone = frozenset(annotated)
    return traits.judge(
        pool,
        ledger,
        packing.unpack(read.get("hypervisors", {})),
        annotated=[node for node in traits.managed(pool, ledger) if node in left_alone],
        missing=read.get("missing", []),
        created=created,
        served=read.get("served", True),
    )


def traits_ledger(pool: Any, ledger: Any, hypervisors: Any, annotated: list[str] | None = None) -> str:
    """The ledger with what each managed node carries, as text.

    C(annotated) are the nodes whose Hypervisors were not asked for; without it none is taken to have no Hypervisor.
    """
    pool, ledger, hypervisors = packing.unpack(pool), packing.unpack(ledger), packing.unpack(hypervisors)
    absent = [] if annotated is None else traits.without_hypervisor(pool, ledger, hypervisors, annotated)
    return packing.pack(traits.next_ledger(pool, ledger, hypervisors, absent))


def node_names(ledger: list[dict[str, Any]]) -> list[str]:
    """The names of all nodes of a ledger."""
    return [entry["name"] for entry in ledger]


def pool_options(pool: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What compute-pool.conf of a pool holds, section to key to value."""
    return compute_config.options(pool["spec"])


def extra_config_outcome(pool: dict[str, Any]) -> dict[str, Any]:
    """The outcome of what a pool sets in C(spec.extraConfig)."""
    return compute_config.judge_extra_config(pool["spec"].get("extraConfig"))


def traits_created(pool: dict[str, Any], created: list[str]) -> list[str]:
    """The traits that a pool has created, once it has created these too."""
    return traits.created_after((pool.get("status") or {}).get("createdTraits") or [], created)


def known_ledger(pool: dict[str, Any]) -> str:
    """The ledger in the status of a pool, as text."""
    return packing.pack((pool.get("status") or {}).get("nodes") or [])


def without_ledger(pool: dict[str, Any]) -> str:
    """The pool for who does not look at its nodes, as text: without them it is small."""
    status = {name: value for name, value in (pool.get("status") or {}).items() if name != "nodes"}
    return packing.pack({**pool, "status": status})


class FilterModule:
    """The filters of the collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "failed_outcome": failed_outcome,
            "pool_options": packing.unpacking(pool_options),
            "extra_config_outcome": packing.unpacking(extra_config_outcome),
            "affinity_terms": packing.unpacking(workload.affinity_terms),
            "daemon_set_values": packing.unpacking(daemon_set_values),
            "aggregates_settled": packing.unpacking(aggregates.settle),
            "nodes_in_phase": packing.unpacking(phases.held),
            "nodes_to_count": packing.unpacking(drain.nodes_to_count),
            "nodes_to_map": packing.unpacking(drain.nodes_to_map),
            "traits_concern": packing.unpacking(traits.concerns),
            "traits_managed": packing.unpacking(traits.managed),
            "traits_to_create": packing.unpacking(traits.to_create),
            "traits_to_write": packing.unpacking(traits.to_write),
            "traits_created": packing.unpacking(traits_created),
            "traits_created_after": traits.created_after,
            "traits_to_delete": packing.unpacking(traits.to_delete),
            "traits_to_keep": packing.unpacking(traits.to_keep),
            "traits_ledger": traits_ledger,
            "node_names": packing.unpacking(node_names),
            "known_ledger": packing.unpacking(known_ledger),
            "packed": packing.pack,
            "without_ledger": without_ledger,
            "traits_outcome": packing.unpacking(traits_outcome),
            "next_look": packing.unpacking(status.next_look),
            "may_release": packing.unpacking(status.may_release),
            "shortfall": packing.unpacking(report.shortfall),
        }
