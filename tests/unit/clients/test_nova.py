# SPDX-License-Identifier: Apache-2.0
"""Nova's answers, read as they are meant."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from unit.clients import answering, openstack

Reply = answering.Reply
SERVICES = "/v2.1/os-services"
HYPERVISORS = "/v2.1/os-hypervisors/detail"
SERVERS = "/v2.1/servers"
AGGREGATES = "/v2.1/os-aggregates"


@pytest.fixture
def nova(cloud: openstack.OpenStack, cluster: kubernetes.Cluster) -> nova_client.Nova:
    return nova_client.open_nova(cluster, cloud.nova(), openstack.PASSWORD)


# --- compute services


@pytest.mark.case("C11")
def test_services_are_listed_as_nova_spells_them(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    rows = [openstack.service("Node-1"), openstack.service("node-10", status="disabled", disabled_reason="by hand")]
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": rows})
    base = {"state": "up", "zone": "nova"}
    assert nova.list_services() == [
        {"host": "Node-1", "id": "id-Node-1", "status": "enabled", "disabled_reason": None, **base},
        {"host": "node-10", "id": "id-node-10", "status": "disabled", "disabled_reason": "by hand", **base},
    ]


def test_services_are_asked_for_where_a_silent_cell_shows(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": []})
    nova.list_services()
    request = cloud.asked(SERVICES)[0]
    assert request.query == {"binary": "nova-compute"}
    assert request.headers["OpenStack-API-Version"] == "compute 2.69"


@pytest.mark.case("C12")
@pytest.mark.parametrize(
    "row",
    [
        {"binary": "nova-compute", "host": "node-2", "status": "UNKNOWN"},
        openstack.service("node-2", status="UNKNOWN"),
        {"binary": "nova-compute", "host": "node-2", "status": "enabled"},
        {"binary": "nova-conductor", "host": "node-2", "status": "UNKNOWN"},
    ],
    ids=["down cell", "unknown with fields", "fields missing", "another binary of a down cell"],
)
def test_a_cell_that_does_not_answer_fails_the_whole_list(
    cloud: openstack.OpenStack, nova: nova_client.Nova, row: dict[str, Any]
) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": [openstack.service("node-1"), row]})
    with pytest.raises(errors.CallError) as caught:
        nova.list_services()
    assert str(caught.value) == f"GET {SERVICES}: HTTP 200: a cell did not answer: hosts node-2"
    assert caught.value.system == "nova"


@pytest.mark.case("C9")
def test_only_the_binary_itself_counts(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    rows = [openstack.service("node-1", binary="nova-compute-ironic"), openstack.service("node-2")]
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": rows})
    assert [row["host"] for row in nova.list_services()] == ["node-2"]


def test_an_answer_without_a_list_is_not_an_empty_list(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"versions": []})
    with pytest.raises(errors.CallError, match="no list of services"):
        nova.list_services()


def test_a_service_is_disabled_with_its_reason(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    reason = "c5c3.io: leaving NovaCompute openstack/pool-a"
    row = openstack.service("node-1", status="disabled", disabled_reason=reason)
    cloud.answers[f"PUT {SERVICES}/id-node-1"] = Reply(body={"service": row})
    assert nova.disable_service("id-node-1", reason)["disabled_reason"] == reason
    request = cloud.asked(f"{SERVICES}/id-node-1")[0]
    assert request.document == {"status": "disabled", "disabled_reason": reason}
    assert request.headers["OpenStack-API-Version"] == "compute 2.53"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(status=204), "deleted"),
        (openstack.fault(404, "itemNotFound", "Service x not found."), "gone"),
        (
            openstack.fault(409, "conflictingRequest", "Unable to delete compute service that is hosting instances."),
            "refused",
        ),
    ],
)
def test_a_deleted_service(cloud: openstack.OpenStack, nova: nova_client.Nova, reply: Reply, outcome: str) -> None:
    cloud.answers[f"DELETE {SERVICES}/x"] = reply
    assert nova.delete_service("x") == outcome


def test_any_other_answer_to_a_delete_is_an_error(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"DELETE {SERVICES}/x"] = openstack.fault(403, "forbidden", "Policy doesn't allow it")
    with pytest.raises(errors.CallError, match=f"^DELETE {SERVICES}/x: HTTP 403: Policy doesn't allow it$"):
        nova.delete_service("x")


# --- servers and hypervisors


def pages_by_marker(key: str, pages: dict[str, list[dict[str, Any]]]) -> Callable[[answering.Request], Reply]:
    """Answers with the page that follows the marker; '' is the first."""
    return lambda request: Reply(body={key: pages[request.query.get("marker", "")]})


@pytest.mark.case("C9")
def test_servers_of_every_project_on_that_very_host_are_counted(
    cloud: openstack.OpenStack, nova: nova_client.Nova
) -> None:
    cloud.answers[f"GET {SERVERS}"] = pages_by_marker("servers", {"": [{"id": "1"}, {"id": "2"}], "2": []})
    assert nova.count_servers("node-1.example") == 2
    assert [request.query for request in cloud.asked(SERVERS)] == [
        {"all_tenants": "1", "soft_deleted": "true", "host": "node-1.example", "limit": "500"},
        {"all_tenants": "1", "soft_deleted": "true", "host": "node-1.example", "limit": "500", "marker": "2"},
    ]


def test_servers_are_counted_over_pages_and_each_once(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    pages = {"": [{"id": "1"}, {"id": "2"}], "2": [{"id": "2"}, {"id": "3"}], "3": []}
    cloud.answers[f"GET {SERVERS}"] = pages_by_marker("servers", pages)
    assert nova.count_servers("node-1") == 3


def test_no_server_is_zero(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVERS}"] = Reply(body={"servers": []})
    assert nova.count_servers("node-1") == 0


def test_a_server_that_ignores_the_marker_ends_the_count(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVERS}"] = Reply(body={"servers": [{"id": "1"}]})
    assert nova.count_servers("node-1") == 1


def test_mapped_hosts_go_on_past_a_short_page_without_a_link(
    cloud: openstack.OpenStack, nova: nova_client.Nova
) -> None:
    first = [openstack.hypervisor(f"node-{n}") for n in range(97)]
    last = [openstack.hypervisor("node-200")]
    pages = {"": first, "hypervisor-node-96": last, "hypervisor-node-200": []}
    cloud.answers[f"GET {HYPERVISORS}"] = pages_by_marker("hypervisors", pages)
    assert nova.mapped_hosts() == {*(f"node-{n}" for n in range(97)), "node-200"}


@pytest.mark.case("C15")
def test_hypervisors_are_asked_for_without_their_counters(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {HYPERVISORS}"] = Reply(body={"hypervisors": []})
    assert nova.mapped_hosts() == set()
    assert cloud.asked(HYPERVISORS)[0].headers["OpenStack-API-Version"] == "compute 2.88"


def test_links_are_never_followed(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    link = {"hypervisors_links": [{"rel": "next", "href": "http://127.0.0.1:9/nowhere"}]}
    pages = {"": [openstack.hypervisor("node-1")], "hypervisor-node-1": []}
    cloud.answers[f"GET {HYPERVISORS}"] = lambda request: Reply(
        body={"hypervisors": pages[request.query.get("marker", "")], **link}
    )
    assert nova.mapped_hosts() == {"node-1"}


def test_a_hypervisor_without_a_host_is_no_answer(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {HYPERVISORS}"] = Reply(body={"hypervisors": [{"id": "h1", "service": {}}]})
    with pytest.raises(errors.CallError, match="the hypervisor h1 names no host"):
        nova.mapped_hosts()


# --- aggregates


def test_aggregates_are_listed_in_one_shape(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    rows = [
        {"id": 1, "name": "az1", "availability_zone": "az1", "hosts": ["n1"], "metadata": {"availability_zone": "az1"}},
        {"id": 2, "name": "t", "availability_zone": None, "hosts": [], "metadata": {"a": "b"}, "uuid": "u"},
    ]
    cloud.answers[f"GET {AGGREGATES}"] = Reply(body={"aggregates": rows})
    assert nova.list_aggregates() == [rows[0], {k: v for k, v in rows[1].items() if k != "uuid"}]


@pytest.mark.parametrize(
    ("zone", "sent", "metadata"),
    [
        ("az1", {"name": "x", "availability_zone": "az1"}, {"availability_zone": "az1"}),
        (None, {"name": "x"}, {}),
    ],
)
def test_a_new_aggregate_has_the_shape_of_a_listed_one(
    cloud: openstack.OpenStack, nova: nova_client.Nova, zone: str | None, sent: Any, metadata: Any
) -> None:
    answer = {"aggregate": {"id": 3, "name": "x", "availability_zone": zone}}
    cloud.answers[f"POST {AGGREGATES}"] = Reply(body=answer)
    assert nova.create_aggregate("x", zone) == {
        "id": 3,
        "name": "x",
        "availability_zone": zone,
        "hosts": [],
        "metadata": metadata,
    }
    assert cloud.asked(AGGREGATES)[0].document == {"aggregate": sent}


def test_an_aggregate_that_somebody_else_created_is_an_error_409(
    cloud: openstack.OpenStack, nova: nova_client.Nova
) -> None:
    cloud.answers[f"POST {AGGREGATES}"] = openstack.fault(409, "conflictingRequest", "Aggregate x already exists.")
    with pytest.raises(errors.CallError) as caught:
        nova.create_aggregate("x", None)
    assert caught.value.status == 409


@pytest.mark.case("C21")
def test_metadata_is_set_key_by_key(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    marker = {"c5c3.io:nova": "openstack/nova"}
    cloud.answers[f"POST {AGGREGATES}/3/action"] = Reply(body={"aggregate": {"id": 3, "metadata": marker}})
    assert nova.set_aggregate_metadata(3, {**marker, "old": None})["metadata"] == marker
    assert cloud.asked(f"{AGGREGATES}/3/action")[0].document == {"set_metadata": {"metadata": {**marker, "old": None}}}


def test_an_aggregate_is_renamed_and_keeps_its_zone(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"PUT {AGGREGATES}/3"] = Reply(body={"aggregate": {"id": 3, "name": "az1"}})
    assert nova.rename_aggregate(3, "az1")["name"] == "az1"
    assert cloud.asked(f"{AGGREGATES}/3")[0].document == {"aggregate": {"name": "az1"}}


@pytest.mark.parametrize(
    ("reply", "deleted"), [(Reply(status=200), True), (openstack.fault(404, "itemNotFound", "gone"), False)]
)
def test_a_deleted_aggregate(
    cloud: openstack.OpenStack,
    nova: nova_client.Nova,
    reply: Reply,
    deleted: bool,  # noqa: FBT001
) -> None:
    cloud.answers[f"DELETE {AGGREGATES}/3"] = reply
    assert nova.delete_aggregate(3) is deleted


def test_an_aggregate_with_hosts_is_not_deleted(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    message = "Cannot remove host from aggregate 3: Host aggregate is not empty."
    cloud.answers[f"DELETE {AGGREGATES}/3"] = openstack.fault(400, "badRequest", message)
    with pytest.raises(errors.CallError, match=f"HTTP 400: {message}"):
        nova.delete_aggregate(3)


# --- the token


@pytest.mark.case("C25")
def test_one_token_serves_every_call(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": []})
    cloud.answers[f"GET {AGGREGATES}"] = Reply(body={"aggregates": []})
    nova.list_services()
    nova.list_aggregates()
    assert cloud.tokens == 1


def test_the_token_is_of_the_service_user_in_its_project(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    nova.authenticate()
    assert cloud.asked("/v3/auth/tokens")[0].document["auth"] == {
        "identity": {
            "methods": ["password"],
            "password": {
                "user": {"name": "nova", "domain": {"name": "Default"}, "password": openstack.PASSWORD},
            },
        },
        "scope": {"project": {"name": "service", "domain": {"name": "Default"}}},
    }


@pytest.mark.case("C24")
def test_a_refused_token_is_renewed_once(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": []})
    nova.authenticate()
    cloud.revoked.add("token-1")
    assert nova.list_services() == []
    assert cloud.tokens == 2


@pytest.mark.case("C24")
def test_a_token_that_is_about_to_end_is_renewed_before_it_is_used(
    cloud: openstack.OpenStack, nova: nova_client.Nova
) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": []})
    cloud.expires_at = (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)).isoformat()
    nova.authenticate()
    cloud.expires_at = "2099-01-01T00:00:00.000000Z"
    nova.list_services()
    nova.list_services()
    assert cloud.tokens == 2


@pytest.mark.case("C24")
def test_a_token_that_is_refused_again_is_an_error(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(status=401, body={"error": {"message": "Unauthorized"}})
    with pytest.raises(errors.CallError) as caught:
        nova.list_services()
    assert (caught.value.system, caught.value.status) == ("nova", 401)
    assert (cloud.tokens, len(cloud.asked(SERVICES))) == (2, 2)


def test_token_data_never_holds_the_token(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    assert nova.token_data() == {
        "user": "nova",
        "project": "service",
        "roles": ["admin"],
        "expires_at": "2099-01-01T00:00:00+00:00",
    }


def test_a_refused_password_is_keystone_s_error_and_stays_secret(
    cloud: openstack.OpenStack, cluster: kubernetes.Cluster
) -> None:
    nova = nova_client.open_nova(cluster, cloud.nova(), "not-the-password")
    with pytest.raises(errors.CallError) as caught:
        nova.list_services()
    assert (caught.value.system, caught.value.status) == ("keystone", 401)
    assert str(caught.value) == ("POST /v3/auth/tokens: HTTP 401: The request you have made requires authentication.")
    assert "not-the-password" not in repr(caught.value)


def test_a_keystone_that_is_not_there_is_named(cloud: openstack.OpenStack, cluster: kubernetes.Cluster) -> None:
    nova = nova_client.open_nova(cluster, cloud.nova(keystone_endpoint="http://127.0.0.1:9/v3"), openstack.PASSWORD)
    with pytest.raises(errors.CallError) as caught:
        nova.list_services()
    assert str(caught.value) == "POST /v3/auth/tokens: no answer from http://127.0.0.1:9: Connection refused"


def test_a_nova_that_is_not_there_is_named_without_the_query(
    cloud: openstack.OpenStack, cluster: kubernetes.Cluster
) -> None:
    nova = nova_client.open_nova(cluster, cloud.nova(compute_endpoint="http://127.0.0.1:9/v2.1"), openstack.PASSWORD)
    with pytest.raises(errors.CallError) as caught:
        nova.count_servers("node-1")
    assert str(caught.value) == f"GET {SERVERS}: no answer from http://127.0.0.1:9: Connection refused"
    assert caught.value.system == "nova"


# --- the session


@pytest.mark.case("C25")
def test_a_process_has_one_session_per_nova_and_password(
    cloud: openstack.OpenStack, cluster: kubernetes.Cluster
) -> None:
    first = nova_client.open_nova(cluster, cloud.nova(), openstack.PASSWORD)
    assert nova_client.open_nova(cluster, cloud.nova(), openstack.PASSWORD) is first
    assert nova_client.open_nova(cluster, cloud.nova(), "another") is not first
    assert nova_client.open_nova(cluster, cloud.nova(name="nova-2"), openstack.PASSWORD) is not first


def test_the_password_comes_from_the_secret(
    api: answering.Server, cloud: openstack.OpenStack, cluster: kubernetes.Cluster
) -> None:
    data = {"password": base64.b64encode(openstack.PASSWORD.encode()).decode()}
    api.answer = lambda _request: Reply(body={"kind": "Secret", "data": data})
    nova_client.open_nova_from_cluster(cluster, cloud.nova()).authenticate()
    assert api.asked() == ["GET /api/v1/namespaces/openstack/secrets/nova-service-user"]
    assert cloud.tokens == 1


@pytest.mark.parametrize("data", [None, {}, {"password": ""}, {"other": "eA=="}, {"password": "_"}], ids=str)
def test_a_secret_without_the_password_is_named_with_the_key(
    api: answering.Server, cloud: openstack.OpenStack, cluster: kubernetes.Cluster, data: Any
) -> None:
    api.answer = lambda _request: Reply(body={"kind": "Secret", "data": data})
    with pytest.raises(errors.CallError, match="nova-service-user: HTTP 200: the key password is absent or empty"):
        nova_client.open_nova_from_cluster(cluster, cloud.nova())


@pytest.mark.parametrize(
    ("variable", "reached"), [(None, "proxy"), ("", "proxy"), ("proxy", "proxy"), ("direct", "direct")]
)
def test_from_outside_nova_is_reached_through_the_proxy_unless_told_otherwise(
    cluster: kubernetes.Cluster, monkeypatch: pytest.MonkeyPatch, variable: str | None, reached: str
) -> None:
    if variable is not None:
        monkeypatch.setenv("NOVA_COMPUTE_REACH", variable)
    assert nova_client.reach(cluster) == reached


def test_from_a_pod_nova_is_reached_directly(cluster: kubernetes.Cluster) -> None:
    cluster.server.in_cluster = True
    assert nova_client.reach(cluster) == "direct"


def test_a_misspelt_reach_is_refused(cluster: kubernetes.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOVA_COMPUTE_REACH", "porxy")
    with pytest.raises(ValueError, match="NOVA_COMPUTE_REACH is 'porxy'"):
        nova_client.reach(cluster)


def test_through_the_proxy_every_call_arrives_at_the_api_server(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    cloud = openstack.OpenStack()
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": [openstack.service("node-1")]})

    def forward(request: answering.Request) -> Reply:
        target = request.target.partition("/proxy")[2]
        return cloud.server.answer(dataclasses.replace(request, target=target))

    api.answer = forward
    nova = nova_client.open_nova(
        cluster,
        cloud.nova(
            keystone_endpoint="http://keystone.identity.svc:5000/v3",
            compute_endpoint="http://nova.openstack.svc.cluster.local:8774/v2.1",
        ),
        openstack.PASSWORD,
    )
    assert [row["host"] for row in nova.list_services()] == ["node-1"]
    assert api.asked() == [
        "POST /api/v1/namespaces/identity/services/http:keystone:5000/proxy/v3/auth/tokens",
        "GET /api/v1/namespaces/openstack/services/http:nova:8774/proxy/v2.1/os-services",
    ]
