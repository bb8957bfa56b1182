# SPDX-License-Identifier: Apache-2.0
"""The status that a pass leaves behind, and when a pool that is being deleted may go ("Status", "The drain")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, ownership, phases, vocabulary


def with_ledger(
    status: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The status with its ledger and ``fields`` changed and no condition: what is written ahead of an effect."""
    return _trimmed({**status, **fields, "nodes": [dict(entry) for entry in ledger]})


def after_pass(
    status: Mapping[str, Any],
    *,
    outcomes: Sequence[Mapping[str, Any]],
    fields: Mapping[str, Any],
    generation: int,
    now: str,
) -> dict[str, Any]:
    """The whole status after a pass. ``fields`` are those that steps computed (nodes, numberReady, ...)."""
    merged = conditions.merge(status.get("conditions", []), outcomes, generation=generation, now=now)
    return _trimmed({**status, **fields, "conditions": merged, "observedGeneration": generation})


def after_unfinished(
    status: Mapping[str, Any], *, reason: str, message: str, generation: int, now: str
) -> dict[str, Any]:
    """The status of a pool whose pass did not come to its end: Ready says so, and every step keeps its word.

    What says the same again is no change, so a pool whose passes all hang or all fail is written once.
    """
    ended = conditions.outcome(conditions.READY, reason, message)["condition"]
    return {
        **status,
        "conditions": conditions.put(status.get("conditions", []), [ended], generation=generation, now=now),
    }


def message_of_deadline(limit: float) -> str:
    """What Ready says of a pass that was ended after ``limit`` seconds."""
    return f"The last pass was ended after {limit:g} s, its limit; the next one starts by itself"


def message_of_failure(step: str, task: str, said: str) -> str:
    """What Ready says of a pass that failed: in which step and task, either of which may be empty, and what it said."""
    where = ": ".join(part for part in (step, task) if part)
    return f"The last pass failed{f' in {where}' if where else ''}: {said or 'see the log of the operator'}"


def _trimmed(status: Mapping[str, Any]) -> dict[str, Any]:
    """Without the lists that are empty: an absent list and an empty one must not look like a change."""
    return {key: value for key, value in status.items() if value not in (None, [], "")}


def new_override(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What the status says now, and did not say before, of overridden owned keys; empty where that is nothing."""
    said, says = _override(before), _override(after)
    return says if says != said else ""


def _override(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions", []):
        if condition["type"] == conditions.EXTRA_CONFIG and condition["status"] == "False":
            return str(condition["message"])
    return ""


def next_look(outcomes: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]], scale: float = 1.0) -> float:
    """Seconds until the next pass: the shortest that any step asked for, 60 when none did, times ``scale``."""
    looks = [outcome.get("look") for outcome in outcomes]
    if phases.held(ledger, vocabulary.RELEASING):
        looks.append(vocabulary.LOOK_AT_RELEASING)
    shortest = conditions.earliest(looks)
    return (vocabulary.LOOK_AT_SETTLED if shortest is None else shortest) * scale


def finalizers(pool: Mapping[str, Any]) -> list[str]:
    """The finalizers that hold the deletion of a pool, in the order in which they are added."""
    placed = ownership.target_cluster(pool)
    return [vocabulary.DRAIN_FINALIZER, *([vocabulary.CHILDREN_FINALIZER] if placed else [])]


def may_release(
    pool: Mapping[str, Any], began_with: Sequence[Mapping[str, Any]], outcomes: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether the finalizers of a pool may leave.

    Only of a pool that is being deleted: when its Nova is gone, so that nothing is left to clean there, or when the
    pass began with no held node (``began_with`` is the ledger it read), its aggregates were settled and no created
    trait is left. ``pool`` is the object as this pass wrote it.
    """
    if not phases.pool_of(pool).deleting:
        return False
    reasons = {outcome["condition"]["type"]: outcome["condition"] for outcome in outcomes}
    if reasons.get(conditions.NOVA, {}).get("reason") == "NovaNotFound":
        return True
    settled = all(reasons.get(step, {}).get("status") == "True" for step in (conditions.AGGREGATES, conditions.TRAITS))
    return settled and not phases.held(began_with) and not pool.get("status", {}).get("createdTraits")
