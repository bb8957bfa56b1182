# SPDX-License-Identifier: Apache-2.0
"""Why a node does not leave its pool, and what is to be done."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, stuck
from unit.rules import objects

DISABLED = {"status": "disabled", "state": "up", "id": "id-node-1"}


def nova_ready(reason: str, message: str = "") -> dict[str, Any]:
    """The condition that a pass would give now."""
    found: dict[str, Any] = conditions.outcome(conditions.NOVA, reason, message)["condition"]
    return found


def seen(**read: Any) -> dict[str, Any]:
    """What was read of node-1, on which nothing is wrong; what is None could not be read."""
    nothing: dict[str, Any] = {
        "name": "node-1",
        "nova_ready": nova_ready("NovaResolved"),
        "exists": True,
        "service": DISABLED,
        "servers": [],
        "migrations": [],
        "pod": {},
        "hypervisor": {},
        "eviction": {},
        "errors": [],
    }
    return {**nothing, **read}


def server(status: str = "ACTIVE", server_id: str = "s1", task_state: str | None = None) -> dict[str, Any]:
    return {"id": server_id, "name": f"web-{server_id}", "status": status, "task_state": task_state}


def migration(status: str, server_id: str = "s1") -> dict[str, Any]:
    times = {"created_at": "10:00", "updated_at": "10:05"}
    return {"server": server_id, "type": "live-migration", "status": status, "target": "node-2", **times}


def explained(phase: str, read: dict[str, Any], **status: Any) -> dict[str, Any]:
    pool = objects.novacompute(status={"nodes": [objects.entry(phase)], **status})
    return stuck.explain(pool, read)


def sights(result: dict[str, Any]) -> list[str]:
    return [finding["seen"] for finding in result["findings"]]


def actions(result: dict[str, Any]) -> str:
    return "\n".join(finding["do"] for finding in result["findings"])


def test_servers_that_nobody_moves_are_named_as_the_cause() -> None:
    result = explained("Draining", seen(servers=[server()]))
    assert result["summary"] == "leaves openstack/pool-a: 1 server on its host: web-s1 (s1, ACTIVE)"
    assert sights(result) == ["no migration is under way, and the pool never moves a server"]
    assert "openstack server list --all-projects --host node-1" in actions(result)


def test_hypervisor_that_is_not_in_maintenance_is_to_be_put_there() -> None:
    result = explained("Draining", seen(servers=[server()], hypervisor={"spec": {"maintenance": ""}}))
    assert "the Hypervisor is not in maintenance" in sights(result)[0]
    assert '"maintenance":"manual"' in actions(result)
    assert "leave it set" in actions(result)


def test_eviction_that_ended_with_servers_left_looks_no_more() -> None:
    hypervisor = {"spec": {"maintenance": "manual"}, "status": {"evicted": True}}
    result = explained("Draining", seen(servers=[server()], hypervisor=hypervisor))
    assert sights(result) == ["the Eviction counts as done, and looks at the host no more"]


def test_eviction_that_fails_is_quoted() -> None:
    condition = {"type": "MigratingInstance", "status": "False", "reason": "Failed", "message": "409 of s1"}
    result = explained(
        "Draining",
        seen(
            servers=[server()],
            hypervisor={"spec": {"maintenance": "manual"}},
            eviction={"status": {"conditions": [condition]}},
        ),
    )
    (said,) = sights(result)
    assert said.startswith("no migration is under way, and the Hypervisor is in maintenance: ")
    assert said.endswith(": the Eviction says MigratingInstance=False Failed: 409 of s1")


def test_migration_under_way_is_told_and_nothing_else_is_asked_for() -> None:
    result = explained("Draining", seen(servers=[server("MIGRATING")], migrations=[migration("running")]))
    assert sights(result) == ["server web-s1 (s1) is being moved: live-migration to node-2, running since 10:05"]


def test_last_failed_migration_is_told_and_older_ones_are_not() -> None:
    result = explained(
        "Draining",
        seen(servers=[server()], migrations=[migration("error"), migration("completed"), migration("error")]),
    )
    assert sights(result)[1:] == ["the last live-migration of server web-s1 (s1) to node-2 failed at 10:05"]


def test_migration_that_failed_before_one_that_went_well_is_no_finding() -> None:
    result = explained("Draining", seen(servers=[server()], migrations=[migration("completed"), migration("error")]))
    assert len(sights(result)) == 1


@pytest.mark.parametrize(
    ("status", "command"),
    [
        ("SHUTOFF", "openstack server start s1"),
        ("SUSPENDED", "openstack server resume s1"),
        ("RESCUE", "openstack server unrescue s1"),
        ("VERIFY_RESIZE", "openstack server resize confirm s1"),
        ("SOFT_DELETED", "openstack server delete --force s1"),
        ("ERROR", "openstack server show s1"),
    ],
)
def test_server_whose_state_holds_it_comes_with_a_command(status: str, command: str) -> None:
    result = explained("Draining", seen(servers=[server(status)]))
    assert command in actions(result)


def test_service_that_a_person_enabled_is_named() -> None:
    result = explained("Draining", seen(service={**DISABLED, "status": "enabled"}))
    assert sights(result) == ["the compute service is enabled, so the scheduler still places servers there"]


def test_service_that_is_down_cannot_migrate() -> None:
    result = explained("Draining", seen(service={**DISABLED, "state": "down"}, servers=[server()]))
    assert "Nova reports the compute service down: no server can be live-migrated away" in sights(result)


def test_node_that_is_gone_with_servers_waits_for_its_owner() -> None:
    result = explained("Draining", seen(exists=False, servers=[server()]))
    assert sights(result)[0] == "the Node is gone, with 1 server left on its host"


def test_failed_call_comes_before_what_it_hides() -> None:
    error = {"system": "nova", "kind": None, "call": "GET /v2.1/os-services", "status": 403, "detail": "policy"}
    result = explained("Draining", seen(errors=[error], servers=None, migrations=None, service=None))
    assert sights(result) == ["a call fails: GET /v2.1/os-services: HTTP 403: policy"]
    assert "admin role" in actions(result)
    assert result["summary"].endswith("its servers were not counted yet")


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ({"system": "nova", "status": None}, "no answer"),
        ({"system": "kubernetes", "status": 403}, "lacks the right"),
        ({"system": "keystone", "status": 401}, "password"),
        ({"system": "nova", "status": 200}, "every cell"),
        ({"system": "kubernetes", "status": 200}, "serviceUser.secretRef"),
        ({"system": "kubernetes", "kind": "Secret", "status": 404}, "serviceUser.secretRef"),
        ({"system": "placement", "status": 500}, "the log of Placement"),
    ],
)
def test_each_failed_call_has_a_way_out(error: dict[str, Any], word: str) -> None:
    result = explained("Draining", seen(errors=[{"call": "GET /x", "detail": "", **error}]))
    assert word in actions(result)


def test_pass_that_stops_before_the_services_is_the_first_cause() -> None:
    rows = [
        {"type": "NovaReady", "status": "True", "reason": "NovaResolved", "message": ""},
        {"type": "ConfigReady", "status": "False", "reason": "WaitingForComputeConfig", "message": "no Secret"},
    ]
    result = explained("Draining", seen(), conditions=rows)
    assert sights(result)[0] == "the pass stops at ConfigReady=WaitingForComputeConfig: no Secret"
    assert actions(result) == conditions.reason("ConfigReady", "WaitingForComputeConfig").way_out


def test_condition_that_lets_the_drain_go_on_is_no_cause() -> None:
    rows = [{"type": "DaemonSetReady", "status": "False", "reason": "DaemonSetProgressing", "message": ""}]
    assert sights(explained("Draining", seen(), conditions=rows)) == []


def test_pod_of_a_released_node_is_waited_for() -> None:
    result = explained("Releasing", seen(pod={"name": "pool-a-x", "ends_since": "10:00"}))
    assert sights(result) == ["the pod pool-a-x ends since 10:00"]
    assert "delete the Node" in actions(result)


def test_released_node_without_a_pod_waits_for_the_next_pass() -> None:
    assert sights(explained("Releasing", seen())) == ["the pod is gone and the compute service is still there"]


# --- what could not be read


ERROR = {"system": "kubernetes", "kind": None, "call": "GET /x", "status": 403, "detail": "no right"}


def said_of(phase: str, **read: Any) -> list[str]:
    """What is said of a node for which a call failed, besides that call."""
    first, *others = sights(explained(phase, seen(errors=[ERROR], **read)))
    assert first == "a call fails: GET /x: HTTP 403: no right"
    return others


def test_pod_that_is_not_known_is_not_said_to_be_gone() -> None:
    assert said_of("Releasing", pod=None) == []


def test_service_that_is_not_known_is_not_said_to_be_there() -> None:
    assert said_of("Releasing", service=None) == []


def test_node_that_is_not_known_is_not_said_to_be_gone() -> None:
    said = said_of("Draining", exists=None, servers=[server()])
    assert said == ["no migration is under way, and the pool never moves a server"]


def test_migrations_that_are_not_known_are_not_said_to_be_none() -> None:
    assert said_of("Draining", servers=[server()], migrations=None) == []


def test_hypervisor_that_is_not_known_is_not_said_to_be_absent() -> None:
    assert said_of("Draining", servers=[server()], hypervisor=None, eviction=None) == [
        "no migration is under way; whether the hypervisor operator evicts the host is not known"
    ]


@pytest.mark.parametrize(
    ("eviction", "said"), [({}, "there is no Eviction of that name"), (None, "what its Eviction says is not known")]
)
def test_eviction_that_is_not_known_is_not_said_to_be_absent(eviction: dict[str, Any] | None, said: str) -> None:
    read = {"servers": [server()], "hypervisor": {"spec": {"maintenance": "manual"}}, "eviction": eviction}
    assert said_of("Draining", **read) == [f"no migration is under way, and the Hypervisor is in maintenance: {said}"]


def test_servers_that_are_not_known_are_those_that_the_pool_counted() -> None:
    pool = objects.novacompute(status={"nodes": [objects.entry("Draining", instances=2)]})
    result = stuck.explain(pool, seen(errors=[ERROR], servers=None, migrations=None))
    assert result["summary"] == "leaves openstack/pool-a: 2 servers on its host when the pool last counted"
    assert (result["servers"], result["migrations"]) == (None, None)


# --- the Nova as it is now


def test_nova_that_cannot_be_used_now_is_told_whatever_the_last_pass_found() -> None:
    found = nova_ready("NovaNotFound", "Nova nova does not exist in the namespace")
    result = explained("Draining", seen(nova_ready=found), conditions=[nova_ready("NovaResolved")])
    assert sights(result) == [
        "a pass from here would stop at NovaReady=NovaNotFound: Nova nova does not exist in the namespace"
    ]
    assert actions(result) == conditions.reason("NovaReady", "NovaNotFound").way_out


def test_nova_that_the_last_pass_could_not_use_either_is_told_once() -> None:
    found = nova_ready("NovaNotFound", "Nova nova does not exist in the namespace")
    assert sights(explained("Draining", seen(nova_ready=found), conditions=[found])) == [
        "the pass stops at NovaReady=NovaNotFound: Nova nova does not exist in the namespace"
    ]


def test_conflict_names_the_holder() -> None:
    pool = objects.novacompute(status={"nodes": [objects.entry("Conflict", conflictsWith="pool-b")]})
    result = stuck.explain(pool, seen())
    assert sights(result) == ["pool-b holds the node"]


def test_node_of_another_pool_is_not_in_this_one() -> None:
    assert stuck.explain(objects.novacompute(status={}), seen())["summary"] == "is not in openstack/pool-a"


def test_text_of_a_server_is_never_a_format() -> None:
    odd = {**server("SHUTOFF", "s1"), "name": "{id} {0} %s"}
    assert "server {id} {0} %s (s1) does not run" in sights(explained("Draining", seen(servers=[odd])))[1]
