# SPDX-License-Identifier: Apache-2.0
"""A Nova on a target cluster: which way its calls take, and what does not leave that way."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration
from unit.clients import answering, openstack

Reply = answering.Reply
SERVICES = "/v2.1/os-services"
EDGE = {"cluster": "edge", "registered_in": "c5c3-clusters", "namespace": "openstack"}
PLACED = {
    "keystone_endpoint": "http://keystone.identity.svc:5000/v3",
    "compute_endpoint": "http://nova.openstack.svc.cluster.local:8774/v2.1",
}


@pytest.fixture
def cloud() -> Iterator[openstack.OpenStack]:
    made = openstack.OpenStack()
    with made.server.running():
        yield made


@pytest.fixture
def edge(cloud: openstack.OpenStack) -> Iterator[answering.Server]:
    """The API server of the target cluster, whose proxy leads to the OpenStack."""

    def forward(request: answering.Request) -> Reply:
        target = request.target.partition("/proxy")[2]
        return cloud.server.answer(dataclasses.replace(request, target=target))

    with answering.Server(forward).running() as server:
        yield server


@pytest.fixture
def placed(
    api: answering.Server,
    edge: answering.Server,
    cloud: openstack.OpenStack,
    cluster: kubernetes.Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., nova_client.Nova]:
    """Opens the Nova of the target cluster; the management cluster has its registration and its password, no more."""
    # What reaches the Services of the management cluster says nothing of another one.
    monkeypatch.setenv("NOVA_COMPUTE_REACH", "direct")
    kubeconfig = {
        "current-context": "edge",
        "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "operator"}}],
        "clusters": [{"name": "edge", "cluster": {"server": edge.url}}],
        "users": [{"name": "operator", "user": {"token": "edge-token"}}],
    }
    registered = {
        "metadata": {"labels": {registration.LABEL: "true"}},
        "data": {"kubeconfig": base64.b64encode(json.dumps(kubeconfig).encode()).decode()},
    }
    password = {"data": {"password": base64.b64encode(openstack.PASSWORD.encode()).decode()}}
    secrets = {
        "/api/v1/namespaces/c5c3-clusters/secrets/edge": registered,
        "/api/v1/namespaces/openstack/secrets/nova-service-user": password,
    }
    api.answer = lambda request: Reply(body=secrets[request.path]) if request.path in secrets else Reply(status=500)

    def opened(**reference: Any) -> nova_client.Nova:
        nova = {**cloud.nova(), **PLACED, "target": EDGE, **reference}
        return nova_client.open_nova_from_cluster(cluster, nova)

    return opened


def test_placed_nova_is_reached_through_the_proxy_of_its_cluster(
    placed: Callable[..., nova_client.Nova], cloud: openstack.OpenStack, edge: answering.Server
) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": [openstack.service("node-1")]})
    assert [row["host"] for row in placed().list_services()] == ["node-1"]
    assert edge.asked() == [
        "POST /api/v1/namespaces/identity/services/http:keystone:5000/proxy/v3/auth/tokens",
        "GET /api/v1/namespaces/openstack/services/http:nova:8774/proxy/v2.1/os-services",
    ]
    assert {request.headers["Authorization"] for request in edge.requests} == {"Bearer edge-token"}


@pytest.mark.parametrize("verb", ["PUT", "POST", "DELETE"])
def test_every_verb_travels_to_a_placed_nova(
    placed: Callable[..., nova_client.Nova], cloud: openstack.OpenStack, edge: answering.Server, verb: str
) -> None:
    cloud.answers[f"PUT {SERVICES}/s"] = Reply(body={"service": openstack.service("node-1")})
    cloud.answers["POST /v2.1/os-aggregates"] = Reply(body={"aggregate": {"id": 1, "name": "az1"}})
    cloud.answers[f"DELETE {SERVICES}/s"] = Reply(status=204)
    calls: dict[str, Callable[[nova_client.Nova], object]] = {
        "PUT": lambda nova: nova.disable_service("s", "leaving"),
        "POST": lambda nova: nova.create_aggregate("az1", "az1"),
        "DELETE": lambda nova: nova.delete_service("s"),
    }
    calls[verb](placed())
    assert edge.requests[-1].method == verb


def test_placed_nova_whose_keystone_lives_elsewhere_has_it_dialled(
    placed: Callable[..., nova_client.Nova], cloud: openstack.OpenStack, edge: answering.Server
) -> None:
    cloud.answers[f"GET {SERVICES}"] = Reply(body={"services": []})
    placed(keystone_endpoint=f"{cloud.server.url}/v3").list_services()
    assert cloud.asked("/v3/auth/tokens")
    assert edge.asked() == ["GET /api/v1/namespaces/openstack/services/http:nova:8774/proxy/v2.1/os-services"]


def test_token_goes_to_no_other_host_for_a_placed_nova(
    placed: Callable[..., nova_client.Nova], cloud: openstack.OpenStack
) -> None:
    cloud.catalog = [openstack.catalog_row("placement", "internal", openstack.REGION, f"{cloud.server.url}/placement")]
    found = placed().placement(openstack.REGION, "")
    with pytest.raises(errors.CallError, match="is not dialled") as refused:
        found.create_trait("CUSTOM_GPU")
    assert refused.value.system == "kubernetes"
    assert cloud.asked("/placement/traits/CUSTOM_GPU") == []


def test_service_that_the_proxy_does_not_find_is_not_deleted_already(
    placed: Callable[..., nova_client.Nova], edge: answering.Server
) -> None:
    nova = placed()
    nova.authenticate()
    status = {"kind": "Status", "apiVersion": "v1", "code": 404, "message": 'services "nova" not found'}
    edge.answer = lambda _request: Reply(status=404, body=status)
    with pytest.raises(errors.CallError, match="the service proxy did not reach") as refused:
        nova.delete_service("s")
    assert (refused.value.system, refused.value.status) == ("kubernetes", 404)
