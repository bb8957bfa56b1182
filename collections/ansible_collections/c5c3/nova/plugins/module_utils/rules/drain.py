# SPDX-License-Identifier: Apache-2.0
"""What Nova's answers do to the ledger: Pending to Active and back, the drain, the release ("The drain").

The role asks in this order, and each question is a function here: which services to disable, whose servers to count,
which services to delete, and what the ledger and ServicesReady say in the end. Services are rows
{host, id, status, state, disabled_reason} keyed by host, from a list that every cell answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases, vocabulary

Entry = phases.Entry
Service = Mapping[str, Any]
Services = Mapping[str, Service]
#: Host to servers; a host that was not counted is absent.
Counts = Mapping[str, int]

#: What became of a service that was to be deleted.
DELETED, GONE, REFUSED = "deleted", "gone", "refused"


def services_to_disable(ledger: Sequence[Mapping[str, Any]], services: Services) -> list[dict[str, str]]:
    """The services to disable, as {node, id}: of nodes that began to drain and are still enabled.

    Once is once: a Draining node whose servers were counted before has had its disable, and whoever enabled the
    service since then did so on purpose. A service that somebody else disabled keeps its reason.
    """
    return [
        {"node": entry["name"], "id": services[entry["name"]]["id"]}
        for entry in ledger
        if entry["phase"] == vocabulary.DRAINING and _awaits_disable(entry, services.get(entry["name"]))
    ]


def _awaits_disable(entry: Mapping[str, Any], service: Service | None) -> bool:
    """Whether this very service was not disabled for the drain: a nova-compute that registers anew is enabled again."""
    if service is None or service["status"] != "enabled":
        return False
    return entry.get("instances") is None or entry.get("serviceID") != service["id"]


def nodes_to_count(
    ledger: Sequence[Mapping[str, Any]],
    pods: Mapping[str, str] | None,
    handed_over: Collection[str],
    not_disabled: Collection[str] = (),
) -> list[str]:
    """The hosts whose servers decide something in this pass: Draining ones, and those about to lose their service.

    ``pods`` is None when they could not be listed. The nodes in ``not_disabled``, whose disable failed, are left out: a
    host that still takes servers is not empty, whatever the count.
    """
    draining = [name for name in phases.held(ledger, vocabulary.DRAINING) if name not in not_disabled]
    return draining + ([] if pods is None else released_nodes(ledger, pods, handed_over))


def released_nodes(
    ledger: Sequence[Mapping[str, Any]], pods: Mapping[str, str], handed_over: Collection[str]
) -> list[str]:
    """Releasing nodes whose pod is gone and that no other pool takes over. ``pods`` maps a node to its pod."""
    taken = {*pods, *handed_over}
    return [name for name in phases.held(ledger, vocabulary.RELEASING) if name not in taken]


def services_to_delete(
    ledger: Sequence[Mapping[str, Any]],
    services: Services,
    counts: Counts,
    pods: Mapping[str, str],
    handed_over: Collection[str],
) -> list[dict[str, str]]:
    """The services to delete, as {node, id}: the pod is gone and this pass counted no server on the host."""
    return [
        {"node": name, "id": services[name]["id"]}
        for name in released_nodes(ledger, pods, handed_over)
        if name in services and counts.get(name) == 0
    ]


def nodes_to_map(ledger: Sequence[Mapping[str, Any]], services: Services) -> list[str]:
    """The Pending nodes with a registered service: only they make the pool read the hypervisor list."""
    return [name for name in phases.held(ledger, vocabulary.PENDING) if name in services]


def next_ledger(
    ledger: Sequence[Mapping[str, Any]],
    *,
    services: Services,
    counts: Counts,
    pods: Mapping[str, str] | None,
    handed_over: Collection[str],
    mapped: Collection[str],
    deletions: Mapping[str, str],
) -> list[Entry]:
    """The ledger after the pass asked Nova. ``pods`` is None when they could not be listed: nobody is dropped then.

    ``services`` is what Nova lists after the pass's own disables, ``deletions`` what became of each delete.
    """
    handed_over, mapped, settled = frozenset(handed_over), frozenset(mapped), []
    for entry in ledger:
        name, phase = entry["name"], entry["phase"]
        if phase == vocabulary.CONFLICT:
            settled.append(dict(entry))
            continue
        moved = _with_service(entry, services.get(name))
        if phase in vocabulary.LEAVING_PHASES and _awaits_disable(entry, services.get(name)):
            # The count says that the service was disabled: it must not say so of another one, or of a failed disable.
            moved.pop("instances", None)
        if phase in vocabulary.SELECTED_PHASES:
            moved["phase"] = _selected_phase(phase, registered=name in services, mapped=name in mapped)
        elif phase == vocabulary.DRAINING and name in counts:
            moved["instances"] = counts[name]
            if counts[name] == 0:
                moved["phase"] = vocabulary.RELEASING
        elif phase == vocabulary.RELEASING and pods is not None and name not in pods:
            if name in handed_over or _is_released(name, services, counts, deletions):
                continue
            if deletions.get(name) == REFUSED or counts.get(name, 0) > 0:
                moved = _back_to_draining(moved, counts)
        settled.append(moved)
    return settled


def leftover(node: str, provider: str) -> str:
    """What a person should know of a resource provider that outlived the service of its compute.

    Nova answers 204 to the delete of a service although Placement refused that of the provider, whose allocations may
    belong to servers that live on elsewhere: nothing of it is ever deleted by force.
    """
    return (
        f"the compute service of {node} is deleted, and its resource provider {provider} is still in Placement: "
        f"look at `openstack resource provider show --allocations {provider}`"
    )


def _is_released(name: str, services: Services, counts: Counts, deletions: Mapping[str, str]) -> bool:
    """Whether Nova no longer knows the host: its service was deleted, or there was none and no server either."""
    if deletions.get(name) in (DELETED, GONE):
        return True
    return name not in services and counts.get(name) == 0


def _back_to_draining(entry: Entry, counts: Counts) -> Entry:
    """Servers came back. The count is kept only where the service was disabled before, see services_to_disable."""
    moved = {**entry, "phase": vocabulary.DRAINING}
    if "instances" in moved and entry["name"] in counts:
        moved["instances"] = counts[entry["name"]]
    return moved


def _selected_phase(phase: str, *, registered: bool, mapped: bool) -> str:
    """An Active node is not checked again, unless its service disappeared."""
    if not registered:
        return vocabulary.PENDING
    return vocabulary.ACTIVE if phase == vocabulary.ACTIVE or mapped else vocabulary.PENDING


def _with_service(entry: Mapping[str, Any], service: Service | None) -> Entry:
    known = service or {}
    fields = {
        "serviceID": known.get("id"),
        "serviceStatus": known.get("status"),
        "serviceState": known.get("state"),
        "disabledReason": known.get("disabled_reason"),
    }
    return {key: value for key, value in {**entry, **fields}.items() if value is not None and value != ""}


def look(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> float:
    """Seconds until Nova is looked at again: the shortest that the ledger asks for at the entry or exit of the step."""
    remaining = {entry["name"] for entry in after}
    present = {entry["phase"] for entry in (*before, *after)}
    if vocabulary.RELEASING in present or any(entry["name"] not in remaining for entry in before):
        return vocabulary.LOOK_AT_RELEASING
    if {vocabulary.DRAINING, vocabulary.PENDING} & present:
        return vocabulary.LOOK_AT_DRAINING
    return vocabulary.LOOK_AT_SETTLED


def judge(
    before: Sequence[Mapping[str, Any]],
    ledger: Sequence[Mapping[str, Any]],
    *,
    discovery: str = "",
    errors: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The ServicesReady outcome.

    ``discovery`` says how the host discovery Job stands, for the message; ``errors`` are the calls of the step that
    failed, as data: the first one is the reason, since what the others found may rest on it.
    """
    wake = look(before, ledger)
    if errors:
        failed = conditions.failure(conditions.SERVICES, conditions.describe_some(errors), errors[0])
        return {**failed, "look": conditions.earliest([failed["look"], wake])}
    selected = [entry for entry in ledger if entry["phase"] in vocabulary.SELECTED_PHASES]
    unregistered = [entry["name"] for entry in selected if "serviceID" not in entry]
    unmapped = [entry["name"] for entry in selected if entry["phase"] == vocabulary.PENDING and "serviceID" in entry]
    down = [entry["name"] for entry in selected if entry.get("serviceState") == "down"]
    leaving = [_leaving(entry) for entry in ledger if entry["phase"] in vocabulary.LEAVING_PHASES]
    if unregistered:
        reason, message = "WaitingForServices", f"No compute service yet: {conditions.name_some(unregistered)}"
    elif unmapped:
        state = f"; {discovery}" if discovery else ""
        reason, message = "WaitingForHostMapping", f"Not mapped into the cell: {conditions.name_some(unmapped)}{state}"
    elif down:
        reason, message = "ServicesDown", f"Compute service down: {conditions.name_some(down)}"
    elif leaving:
        reason, message = "Draining", f"Leaving the pool: {conditions.name_some(leaving)}"
    else:
        reason, message = "ServicesUp", f"{len(selected)} compute services are registered and up"
    return conditions.outcome(conditions.SERVICES, reason, message, look=wake)


def _leaving(entry: Mapping[str, Any]) -> str:
    if entry["phase"] == vocabulary.RELEASING:
        return f"{entry['name']} (releasing)"
    count = entry.get("instances")
    return f"{entry['name']} (not counted yet)" if count is None else f"{entry['name']} ({_servers(count)})"


def _servers(count: int) -> str:
    return "1 instance" if count == 1 else f"{count} instances"
