# SPDX-License-Identifier: Apache-2.0
"""The custom traits that a pool declares for its hosts, who created them, and when they go ("The traits").

A pool writes each node's list into the node's Hypervisor, from where the hypervisor operator applies it. Hypervisors
enter here as {custom_traits, lifecycle_enabled, maintenance, reported, failure}: the list in the spec, the switches,
the CUSTOM_ traits in the status, and the message of a TraitsUpdated=False (None otherwise).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases, vocabulary

Hypervisors = Mapping[str, Mapping[str, Any]]

#: While a Node carries it, the hypervisor operator overwrites the list from it, whatever its value.
ANNOTATION: Final = "nova.openstack.cloud.sap/custom-traits"
_CUSTOM: Final = "CUSTOM_"
#: Once this is set the API server refuses every change of the Hypervisor's spec.
_TERMINATION: Final = "termination"


def _in_byte_order(names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=str.encode)


def desired(spec: Mapping[str, Any], node: str) -> list[str]:
    """The desired list of one node: deduplicated, in byte order."""
    entry = _host_entry(spec, node) or {}
    shared = [] if entry.get("mode") == "Replace" else spec.get("traits") or []
    return _in_byte_order([*shared, *(entry.get("traits") or [])])


def declared(spec: Mapping[str, Any]) -> set[str]:
    """Every trait that a pool's spec names."""
    hosts = [trait for entry in spec.get("hostTraits") or [] for trait in entry.get("traits") or []]
    return {*(spec.get("traits") or []), *hosts}


def _host_entry(spec: Mapping[str, Any], node: str) -> Mapping[str, Any] | None:
    return next((entry for entry in spec.get("hostTraits") or [] if entry["nodeName"] == node), None)


def managed(pool: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """The Pending and Active nodes whose list the pool keeps: they desire a trait, record one, or are to be cleared."""
    return [
        entry["name"]
        for entry in ledger
        if entry["phase"] in vocabulary.SELECTED_PHASES
        and (
            desired(pool["spec"], entry["name"])
            or entry.get("traits")
            or (_host_entry(pool["spec"], entry["name"]) or {}).get("mode") == "Replace"
        )
    ]


def concerns(pool: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is anything to do: a node desires a trait, a node records one, or the pool created one.

    An entry that gives its node no traits is nothing to do by itself: what was never declared leaves nothing to clear.
    """
    return bool(
        _desiring(pool, phases.held(ledger, *vocabulary.SELECTED_PHASES))
        or any(entry.get("traits") for entry in ledger)
        or pool.get("status", {}).get("createdTraits")
    )


def _desiring(pool: Mapping[str, Any], nodes: Iterable[str]) -> list[str]:
    return [node for node in nodes if desired(pool["spec"], node)]


def hypervisor(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the rules need of a Hypervisor object."""
    spec, status = found.get("spec", {}), found.get("status", {})
    updated: Mapping[str, Any] = next(
        (item for item in status.get("conditions") or [] if item["type"] == "TraitsUpdated"), {}
    )
    return {
        "custom_traits": list(spec.get("customTraits") or []),
        "lifecycle_enabled": spec.get("lifecycleEnabled", True) is not False,
        "maintenance": spec.get("maintenance") or "",
        "reported": [trait for trait in status.get("traits") or [] if trait.startswith(_CUSTOM)],
        "failure": updated.get("message", "") if updated.get("status") == "False" else None,
    }


def to_create(pool: Mapping[str, Any], hypervisors: Hypervisors) -> list[str]:
    """The traits that a node desires and does not carry yet, in byte order: Placement refuses an unknown one."""
    return _in_byte_order(
        trait
        for node, state in hypervisors.items()
        for trait in desired(pool["spec"], node)
        if trait not in state["reported"]
    )


def to_write(pool: Mapping[str, Any], hypervisors: Hypervisors) -> dict[str, list[str]]:
    """Node to the list to write, where the Hypervisor says another one; not where it is being terminated."""
    lists = {node: desired(pool["spec"], node) for node in sorted(hypervisors)}
    return {
        node: traits
        for node, traits in lists.items()
        if hypervisors[node]["custom_traits"] != traits and hypervisors[node]["maintenance"] != _TERMINATION
    }


def without_hypervisor(
    pool: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    hypervisors: Hypervisors,
    annotated: Collection[str],
) -> list[str]:
    """The managed nodes that have no Hypervisor, once those of all but the ``annotated`` ones were asked for."""
    known = {*hypervisors, *annotated}
    return [node for node in managed(pool, ledger) if node not in known]


def next_ledger(
    pool: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    hypervisors: Hypervisors,
    absent: Iterable[str] = (),
) -> list[dict[str, Any]]:
    """The ledger with what each managed node carries or is about to: what no pool may delete from Placement.

    Written ahead of the lists: until the new list is in the Hypervisor, the operator may still apply the one there, and
    a node without a record would not be looked at again. A node whose Hypervisor was not read keeps its record; so does
    one that is known to have none (``absent``), as long as it desires a trait.
    """
    gone = {node for node in absent if not desired(pool["spec"], node)}
    settled = []
    for entry in ledger:
        bare = {key: value for key, value in entry.items() if key != "traits"}
        state = hypervisors.get(entry["name"])
        if state is None:
            settled.append(bare if entry["name"] in gone else dict(entry))
            continue
        listed = [trait for trait in state["custom_traits"] if trait.startswith(_CUSTOM)]
        about_to = [] if state["maintenance"] == _TERMINATION else desired(pool["spec"], entry["name"])
        carried = _in_byte_order([*state["reported"], *listed, *about_to])
        settled.append({**bare, "traits": carried} if carried else bare)
    return settled


def created_after(created: Iterable[str], made: Iterable[str], dropped: Collection[str] = ()) -> list[str]:
    """The traits that are the pool's own after it made some and dropped others, in byte order."""
    return _in_byte_order(trait for trait in [*created, *made] if trait not in dropped)


def to_delete(
    pool: Mapping[str, Any],
    created: Iterable[str],
    ledger: Sequence[Mapping[str, Any]],
    siblings: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The created traits that no live pool of the Nova declares and no pool of it records, in byte order."""
    wanted = set() if phases.pool_of(pool).deleting else declared(pool["spec"])
    wanted |= declared_by_others(siblings) | set(_recorded(ledger))
    for sibling in siblings:
        wanted |= set(_recorded(sibling.get("status", {}).get("nodes", [])))
    return _in_byte_order(trait for trait in created if trait not in wanted)


def to_keep(pool: Mapping[str, Any], created: Iterable[str], siblings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The created traits that a pool being deleted leaves to another live pool that declares them, in byte order."""
    if not phases.pool_of(pool).deleting:
        return []
    others = declared_by_others(siblings)
    return _in_byte_order(trait for trait in created if trait in others)


def declared_by_others(siblings: Iterable[Mapping[str, Any]]) -> set[str]:
    """Every trait that another pool of the Nova declares and is not being deleted."""
    return {
        trait for sibling in siblings if not phases.pool_of(sibling).deleting for trait in declared(sibling["spec"])
    }


def _recorded(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    return [trait for entry in entries for trait in entry.get("traits") or []]


def judge(
    pool: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    hypervisors: Hypervisors,
    *,
    annotated: Sequence[str],
    missing: Sequence[str],
    created: Sequence[str],
    served: bool = True,
) -> dict[str, Any]:
    """The TraitsReady outcome once the lists were written.

    ``annotated`` and ``missing`` are the managed nodes whose list the pool leaves alone, or which have no Hypervisor;
    ``created`` are the traits that the pool created and has not deleted yet. ``served`` says whether the cluster serves
    Hypervisors.
    """
    if not concerns({**pool, "status": {"createdTraits": list(created)}}, ledger):
        return _nothing_declared()
    if not served and _desiring(pool, phases.held(ledger, *vocabulary.SELECTED_PHASES)):
        return _not_installed()
    # Where no trait is desired, there is nothing for a Hypervisor to say.
    missing = _desiring(pool, missing)
    lists = {node: desired(pool["spec"], node) for node in sorted(hypervisors)}
    # Equal lists come first: the operator leaves an old TraitsUpdated=False in place when a list goes back.
    pending = [node for node, traits in lists.items() if hypervisors[node]["reported"] != traits]
    off = [node for node in pending if not hypervisors[node]["lifecycle_enabled"]]
    failed = [node for node in pending if hypervisors[node]["failure"] is not None]
    leaving = [node for node in pending if hypervisors[node]["maintenance"] == _TERMINATION]
    waiting = [node for node in pending if node not in leaving]
    named = conditions.name_some
    if annotated:
        reason, message = (
            "NodesWithCustomTraitsAnnotation",
            f"Nodes with the annotation {ANNOTATION}: {named(annotated)}",
        )
    elif missing:
        reason, message = "NodesWithoutHypervisor", f"Nodes without a Hypervisor: {named(missing)}"
    elif off:
        reason, message = "HypervisorLifecycleDisabled", f"Hypervisors with spec.lifecycleEnabled false: {named(off)}"
    elif failed:
        reason = "HypervisorTraitsFailed"
        message = f"Hypervisor {failed[0]}: {hypervisors[failed[0]]['failure'] or 'TraitsUpdated is False'}"
    elif waiting:
        reason = "WaitingForHypervisorOperator"
        message = f"Waiting for the hypervisor operator to apply the traits of: {named(waiting)}"
    else:
        reason, message = "TraitsApplied", _applied(pool, ledger, lists, leaving, created)
    look = vocabulary.LOOK_AT_DRAINING if created and phases.pool_of(pool).deleting else None
    return conditions.outcome(conditions.TRAITS, reason, message, look=look)


def _applied(
    pool: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    lists: Mapping[str, Sequence[str]],
    leaving: Sequence[str],
    created: Sequence[str],
) -> str:
    held = set(phases.held(ledger))
    strangers = [entry["nodeName"] for entry in pool["spec"].get("hostTraits") or [] if entry["nodeName"] not in held]
    own = set() if phases.pool_of(pool).deleting else declared(pool["spec"])
    orphans = [trait for trait in created if trait not in own]
    parts = [f"The traits of {len(lists) - len(leaving)} nodes are applied"]
    if leaving:
        parts.append(f"left alone, their Hypervisors are being terminated: {conditions.name_some(leaving)}")
    if orphans:
        parts.append(f"waiting for their last carrier before deletion: {conditions.name_some(orphans)}")
    if strangers:
        parts.append(f"hostTraits entries that match no node of the pool: {conditions.name_some(strangers)}")
    return "; ".join(parts)


def _nothing_declared() -> dict[str, Any]:
    """The outcome of a pool without traits."""
    return conditions.outcome(conditions.TRAITS, "NoTraitsDeclared", "No trait is declared")


def _not_installed() -> dict[str, Any]:
    """The outcome on a cluster that serves no Hypervisor."""
    return conditions.outcome(
        conditions.TRAITS,
        "HypervisorOperatorNotInstalled",
        "The pool's cluster serves no hypervisors.kvm.cloud.sap",
    )
