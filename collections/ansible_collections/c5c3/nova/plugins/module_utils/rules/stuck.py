# SPDX-License-Identifier: Apache-2.0
"""Why a node does not leave its pool, and what a person can do about it ("When the drain does not finish").

The pool only waits: it never moves a server and never times a drain out. So the cause lies with the servers, with
whoever moves them, with a call that fails, or with the node's pod. What was read of each is held against one list of
findings here; each says what is seen and what to do, most hindering first. What could not be read is a finding of its
own, and nothing is concluded from it: not known is not the same as not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, ownership, phases, report, vocabulary

Finding = dict[str, str]

#: States of a migration that is over; any other one is still under way.
_OVER: Final = frozenset(
    {"completed", "done", "finished", "confirmed", "reverted", "error", "failed", "cancelled", "canceled"}
)
_FAILED: Final = frozenset({"error", "failed"})
#: What a server's state asks of whoever wants it moved; a state that is absent asks for nothing.
_BY_STATUS: Final[Mapping[str, tuple[str, str]]] = {
    "ERROR": (
        "is in ERROR, and an Eviction tries it only after the others",
        "see its fault (openstack server show {id}), then migrate, rebuild or delete it",
    ),
    "SHUTOFF": (
        "does not run, so it would be moved by a cold migration, which needs ssh between the computes",
        "start it, and it can be live-migrated: openstack server start {id}",
    ),
    "SUSPENDED": ("is suspended and cannot be live-migrated", "resume it: openstack server resume {id}"),
    "RESCUE": ("is in rescue and cannot be live-migrated", "end the rescue: openstack server unrescue {id}"),
    "VERIFY_RESIZE": (
        "waits for its resize to be confirmed",
        "confirm or revert it: openstack server resize confirm {id}",
    ),
    "SOFT_DELETED": (
        "was deleted by its owner, may still be restored, and counts until then",
        "wait until Nova reclaims it, or delete it for good: openstack server delete --force {id}",
    ),
}


def explain(pool: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    """What holds one node of the pool, as ``{node, phase, summary, findings}``; a finding is ``{seen, do}``.

    ``node`` is what was read: ``{name, nova_ready, exists, service, servers, migrations, pod, hypervisor, eviction,
    errors}``. What is not there is empty; what could not be read is None, and why is in ``errors``, or in
    ``nova_ready``, the condition that a pass would give now. ``servers`` and ``migrations`` are returned as read.
    """
    name = node["name"]
    entry = next((each for each in report.ledger_of(pool) if each["name"] == name), {"name": name, "phase": ""})
    findings = [
        *_stopped_pass(pool),
        *_unusable_nova(pool, node["nova_ready"]),
        *_failed_calls(pool, node["errors"]),
        *_by_phase(pool, entry, node),
    ]
    return {
        "node": name,
        "phase": entry["phase"],
        "summary": _summary(pool, entry, node),
        "findings": findings,
        "servers": node["servers"],
        "migrations": node["migrations"],
    }


def _summary(pool: Mapping[str, Any], entry: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    phase, owner = entry["phase"], report.name_of(pool)
    if phase == vocabulary.DRAINING:
        return f"leaves {owner}: {_servers(entry, node['servers'])}"
    if phase == vocabulary.RELEASING:
        return f"leaves {owner}: the pool counted no server; its pod, then its compute service, go next"
    if phase == vocabulary.CONFLICT:
        return f"is selected by {owner}, but {entry.get('conflictsWith', 'another pool')} holds it"
    if phase == vocabulary.PENDING:
        return f"joins {owner}: its compute service is not registered and mapped yet"
    return f"is in {owner}" if phase else f"is not in {owner}"


def _servers(entry: Mapping[str, Any], servers: Sequence[Mapping[str, Any]] | None) -> str:
    if servers is not None:
        named = [f"{server['name']} ({server['id']}, {server['status']})" for server in servers]
        return f"{report.servers(len(servers))} on its host" + (f": {conditions.name_some(named)}" if named else "")
    if entry.get("instances") is None:
        return "its servers were not counted yet"
    return f"{report.servers(entry['instances'])} on its host when the pool last counted"


def _stopped_pass(pool: Mapping[str, Any]) -> Iterator[Finding]:
    """The step that ended the last pass before it came to the services: no drain goes on behind it."""
    for type_ in conditions.STEPS:
        found = report.condition(pool, type_)
        if not found or found["status"] == "True":
            continue
        try:
            row = conditions.reason(type_, found["reason"])
        except KeyError:
            continue
        if row.flow is conditions.Flow.STOPS:
            yield _finding(f"the pass stops at {type_}={found['reason']}: {found['message']}", row.way_out)
            return


def _unusable_nova(pool: Mapping[str, Any], found: Mapping[str, Any] | None) -> Iterator[Finding]:
    """What keeps a pass from the Nova, or from the cluster of the pool, now; told once where the last pass says it."""
    if found is None or found["status"] == "True":
        return
    recorded = report.condition(pool, found["type"])
    if (recorded.get("reason"), recorded.get("message")) != (found["reason"], found["message"]):
        yield _finding(
            f"a pass from here would stop at {found['type']}={found['reason']}: {found['message']}",
            conditions.reason(found["type"], found["reason"]).way_out,
        )


def _failed_calls(pool: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for error in errors:
        yield _finding(f"a call fails: {conditions.describe(error)}", _way_out(pool, error))


def _way_out(pool: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    system, status = error.get("system"), error.get("status")
    whose = {"kubernetes": "the API server", "keystone": "Keystone", "nova": "Nova's API", "placement": "Placement"}
    named = whose.get(str(system), str(system))
    if status is None:
        return f"{named} gives no answer: look at its pods, its Service and the NetworkPolicies in front of it"
    if status in (401, 403) and system == "kubernetes":
        placed = ownership.target_cluster(pool)
        there = f"; on {placed} it is the account of its registration" if placed else ""
        return f"whoever runs this lacks the right: give it, or run it as the operator's service account{there}"
    if status in (401, 403):
        return "the service user of the Nova needs the right password and the admin role"
    # Of the Secrets that are read here, only that of the service user has to be there.
    if (system, status) == ("kubernetes", 200) or (error.get("kind"), status) == ("Secret", 404):
        return conditions.reason(conditions.NOVA, "WaitingForServiceUserSecret").way_out
    if status == 200:
        return "until every cell answers, no count can be relied on: look at the cell's database and conductor"
    return f"see the log of {named} for this call"


def _by_phase(pool: Mapping[str, Any], entry: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Finding]:
    if entry["phase"] == vocabulary.DRAINING:
        yield from _service(pool, node)
        yield from _movers(node)
        for server in node["servers"] or ():
            yield from _server(server, node["migrations"] or ())
    elif entry["phase"] == vocabulary.RELEASING:
        yield from _pod(node)
    elif entry["phase"] == vocabulary.CONFLICT:
        yield _finding(
            f"{entry.get('conflictsWith', 'another pool')} holds the node",
            "make the selectors disjoint, or let the node leave the other pool",
        )


def _service(pool: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Finding]:
    name, service, count = node["name"], node["service"], len(node["servers"] or ())
    if node["exists"] is False and count:
        yield _finding(
            f"the Node is gone, with {report.servers(count)} left on its host",
            "nothing can run there any more: evacuate or delete them",
        )
    if not service:
        return
    if service["status"] == "enabled" and not phases.pool_of(pool).deleting:
        yield _finding(
            "the compute service is enabled, so the scheduler still places servers there",
            f"disable it: openstack compute service set --disable {name} {vocabulary.COMPONENT}",
        )
    if service["state"] == "down" and count:
        yield _finding(
            "Nova reports the compute service down: no server can be live-migrated away",
            f"look at the pod on {name} and its log",
        )


def _movers(node: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether anybody moves the servers; nothing is said of it while the migrations are not known."""
    name, migrations, hypervisor = node["name"], node["migrations"], node["hypervisor"]
    if not node["servers"] or migrations is None or any(is_under_way(each) for each in migrations):
        return
    if hypervisor is None:
        yield _finding(
            "no migration is under way; whether the hypervisor operator evicts the host is not known",
            f"kubectl describe hypervisor {name}; move the servers by hand only where nothing evicts them",
        )
    elif not hypervisor:
        yield _finding(
            "no migration is under way, and the pool never moves a server",
            f"move them: openstack server migrate --live-migration <server>; or delete them: {_list_command(name)}",
        )
    elif not (hypervisor.get("spec") or {}).get("maintenance"):
        yield _finding(
            "no migration is under way: the Hypervisor is not in maintenance, so nothing evicts its servers",
            f"kubectl patch hypervisor {name} --type merge "
            """-p '{"spec":{"maintenance":"manual","maintenanceReason":"leaving the pool"}}', and leave it set""",
        )
    elif (hypervisor.get("status") or {}).get("evicted"):
        yield _finding(
            "the Eviction counts as done, and looks at the host no more",
            f"move what is left by hand: openstack server migrate --live-migration <server>; {_list_command(name)}",
        )
    else:
        yield _finding(
            f"no migration is under way, and the Hypervisor is in maintenance: {_eviction_says(node['eviction'])}",
            f"kubectl describe eviction {name}",
        )


def _eviction_says(eviction: Mapping[str, Any] | None) -> str:
    if eviction is None:
        return "what its Eviction says is not known"
    if not eviction:
        return "there is no Eviction of that name"
    found = (eviction.get("status") or {}).get("conditions") or []
    said = [f"{each['type']}={each['status']} {each['reason']}: {each.get('message', '')}" for each in found]
    return "the Eviction says " + ("; ".join(said) or "nothing yet")


def _server(server: Mapping[str, Any], migrations: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    title = f"server {server['name']} ({server['id']})"
    own = [each for each in migrations if each["server"] == server["id"]]
    running = next((each for each in own if is_under_way(each)), None)
    if running is not None:
        yield _finding(
            f"{title} is being moved: {running['type']} to {running['target'] or 'a host not chosen yet'},"
            f" {running['status']} since {running['updated_at'] or running['created_at']}",
            f"wait; openstack server migration list --server {server['id']} shows how it goes",
        )
        return
    seen, do = _BY_STATUS.get(server["status"], ("", ""))
    if seen:
        yield _finding(f"{title} {seen}", do.format(id=server["id"]))
    elif server["task_state"]:
        yield _finding(
            f"{title} is busy: {server['task_state']}",
            f"wait; openstack server event list {server['id']} shows what it does",
        )
    if own and own[0]["status"] in _FAILED:
        target = own[0]["target"] or "no host"
        yield _finding(
            f"the last {own[0]['type']} of {title} to {target} failed at {own[0]['updated_at']}",
            f"openstack server event list {server['id']}, and the log of nova-compute on both hosts",
        )


def is_under_way(migration: Mapping[str, Any]) -> bool:
    """Whether the migration may still move its server."""
    return migration["status"] not in _OVER


def _pod(node: Mapping[str, Any]) -> Iterator[Finding]:
    name, pod, service = node["name"], node["pod"], node["service"]
    if node["servers"]:
        yield _finding(
            f"{report.servers(len(node['servers']))} came back to the host", "the node drains once more; move them"
        )
    if pod:
        ends = f"ends since {pod['ends_since']}" if pod["ends_since"] else "was not told to end yet"
        yield _finding(
            f"the pod {pod['name']} {ends}",
            f"wait for the kubelet of {name}; of a node that is dead for good delete the Node, and its pods go with it",
        )
    elif pod is not None and service:
        yield _finding(
            "the pod is gone and the compute service is still there", "the next pass that counts no server deletes it"
        )


def _list_command(name: str) -> str:
    return f"openstack server list --all-projects --host {name}"


def _finding(seen: str, do: str) -> Finding:
    return {"seen": seen, "do": do}
