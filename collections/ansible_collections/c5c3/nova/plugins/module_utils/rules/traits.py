# SPDX-License-Identifier: Apache-2.0
"""The custom traits that a pool declares for its hosts ("The traits")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases, vocabulary


def desired(spec: Mapping[str, Any], node: str) -> list[str]:
    """The desired list of one node: deduplicated, in byte order."""
    entries = {entry["nodeName"]: entry for entry in spec.get("hostTraits") or []}
    entry = entries.get(node, {})
    own = entry.get("traits") or []
    shared = [] if entry.get("mode") == "Replace" else spec.get("traits") or []
    return sorted({*shared, *own}, key=str.encode)


def concerns(pool: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a node desires a trait, a node records one, or the pool holds a created one."""
    selected = phases.held(ledger, *vocabulary.SELECTED_PHASES)
    return (
        any(desired(pool["spec"], node) for node in selected)
        or any(entry.get("traits") for entry in ledger)
        or bool(pool.get("status", {}).get("createdTraits"))
    )


def not_installed() -> dict[str, Any]:
    """The outcome on a cluster that serves no Hypervisor."""
    return conditions.outcome(
        conditions.TRAITS,
        "HypervisorOperatorNotInstalled",
        "The pool's cluster serves no hypervisors.kvm.cloud.sap",
    )
