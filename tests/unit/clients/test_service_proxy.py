# SPDX-License-Identifier: Apache-2.0
"""Services through the API server: where a request goes, and whose answer comes back."""

from __future__ import annotations

import pytest
import requests
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes, service_proxy
from unit.clients import answering

Reply = answering.Reply
NOVA = "http://nova.openstack.svc.cluster.local:8774"
PROXIED_NOVA = "/api/v1/namespaces/openstack/services/http:nova:8774/proxy"


@pytest.fixture
def outside(cluster: kubernetes.Cluster) -> requests.Session:
    return session(cluster, refuse_other_hosts=False)


def session(cluster: kubernetes.Cluster, *, refuse_other_hosts: bool) -> requests.Session:
    made = requests.Session()
    adapter = service_proxy.ProxyAdapter(cluster.server, refuse_other_hosts=refuse_other_hosts)
    made.mount("http://", adapter)
    made.mount("https://", adapter)
    return made


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://nova.openstack.svc:8774/v2.1", "/api/v1/namespaces/openstack/services/http:nova:8774/proxy"),
        ("http://nova.openstack.svc.cluster.local:8774", "/api/v1/namespaces/openstack/services/http:nova:8774/proxy"),
        ("http://nova.openstack.svc.cluster.local.:8774", "/api/v1/namespaces/openstack/services/http:nova:8774/proxy"),
        ("https://keystone.a-b.svc", "/api/v1/namespaces/a-b/services/https:keystone:443/proxy"),
        ("http://placement-api.x.svc/", "/api/v1/namespaces/x/services/http:placement-api:80/proxy"),
        ("HTTP://NOVA.OpenStack.SVC:80", "/api/v1/namespaces/openstack/services/http:nova:80/proxy"),
    ],
)
def test_a_service_address_is_recognised(url: str, path: str) -> None:
    service = service_proxy.service_of(url)
    assert service is not None
    assert service.proxy_path == path


@pytest.mark.parametrize(
    "url",
    [
        "https://keystone.example.com/v3",
        "http://nova.openstack.svc.example.com",
        "http://nova.svc",
        "http://a.nova.openstack.svc",
        "http://nova.openstack.svc.cluster.local.evil.com",
        "http://nova_x.openstack.svc",
        "http://127.0.0.1:8774",
        "ftp://nova.openstack.svc",
        "/v2.1",
    ],
)
def test_any_other_address_is_none_of_a_service(url: str) -> None:
    assert service_proxy.service_of(url) is None


def test_a_request_arrives_below_the_service_with_path_and_query_as_they_were(
    api: answering.Server, outside: requests.Session
) -> None:
    api.answer = lambda _request: Reply(body={"services": []})
    outside.get(f"{NOVA}/v2.1/os-services?host=a%2Fb%20c&binary=nova-compute&x=")
    assert api.requests[0].target == f"{PROXIED_NOVA}/v2.1/os-services?host=a%2Fb%20c&binary=nova-compute&x="


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_method_body_and_token_pass(api: answering.Server, outside: requests.Session, method: str) -> None:
    api.answer = lambda _request: Reply(status=202, body={"ok": True}, headers={"X-Subject-Token": "t"})
    answer = outside.request(method, f"{NOVA}/x", json={"a": 1}, headers={"X-Auth-Token": "nova-token"})
    request = api.requests[0]
    assert (request.method, request.document, request.headers["X-Auth-Token"]) == (method, {"a": 1}, "nova-token")
    assert (answer.status_code, answer.json(), answer.headers["x-subject-token"]) == (202, {"ok": True}, "t")


def test_the_host_is_the_api_server_and_the_credentials_are_ours_there(
    api: answering.Server, outside: requests.Session
) -> None:
    api.answer = lambda _request: Reply(body={})
    outside.get(f"{NOVA}/x", headers={"Host": "nova", "Authorization": "Basic somebody"})
    headers = api.requests[0].headers
    assert headers["Host"] == api.url.removeprefix("http://")
    assert headers["Authorization"] == "Bearer kubernetes-token"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, 'services "nova" not found'),
        (403, 'services "http:nova:8774" is forbidden: User "x" cannot get resource "services/proxy"'),
        (503, 'no endpoints available for service "http:nova:8774"'),
        (503, "error trying to reach service: dial tcp 198.51.100.10:8774: connect: connection refused"),
    ],
)
def test_a_failure_of_the_proxy_is_the_cluster_s_and_no_answer_of_nova(
    api: answering.Server, outside: requests.Session, status: int, message: str
) -> None:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status}
    api.answer = lambda _request: Reply(status=status, body=body)
    with pytest.raises(errors.CallError) as caught:
        outside.delete(f"{NOVA}/v2.1/os-services/1?secret=1")
    assert (caught.value.system, caught.value.status) == ("kubernetes", status)
    assert caught.value.call == f"DELETE {PROXIED_NOVA}/v2.1/os-services/1"
    assert caught.value.detail == f"the service proxy did not reach http://nova.openstack.svc:8774: {message}"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"itemNotFound": {"code": 404, "message": "Service 1 could not be found."}}),
        (409, {"conflictingRequest": {"code": 409, "message": "Unable to delete compute service"}}),
        (503, {"message": "The server is currently unavailable."}),
        (500, b"<html>kind: Status</html>"),
        (404, {"kind": "Status"}),
        (404, ["kind", "Status"]),
    ],
)
def test_an_error_of_the_service_stays_its_own(
    api: answering.Server, outside: requests.Session, status: int, body: object
) -> None:
    api.answer = lambda _request: Reply(status=status, body=body)
    assert outside.delete(f"{NOVA}/v2.1/os-services/1").status_code == status


def test_a_link_is_not_followed(api: answering.Server, outside: requests.Session) -> None:
    api.answer = lambda _request: Reply(status=300, headers={"Location": f"{api.url}/elsewhere"})
    assert outside.get(f"{NOVA}/", allow_redirects=False).status_code == 300
    assert len(api.requests) == 1


def test_another_host_is_dialled_as_it_is(api: answering.Server, outside: requests.Session) -> None:
    with answering.Server(lambda _request: Reply(body={"direct": True})).running() as public:
        assert outside.get(f"{public.url}/v3").json() == {"direct": True}
    assert api.requests == []


def test_another_host_is_refused_where_only_services_may_be_reached(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    with pytest.raises(errors.CallError, match=r"https://keystone\.example\.com is not dialled"):
        session(cluster, refuse_other_hosts=True).get("https://user:secret@keystone.example.com/v3?token=1")
    assert api.requests == []


def test_an_api_server_that_does_not_answer_is_the_cluster_s_failure(
    api: answering.Server, outside: requests.Session
) -> None:
    api.answer = lambda _request: Reply(hang_up=True)
    with pytest.raises(errors.CallError) as caught:
        outside.post(f"{NOVA}/x", json={})
    assert (caught.value.system, caught.value.status) == ("kubernetes", None)
    assert caught.value.detail.startswith(
        "nothing came from http://nova.openstack.svc:8774; no answer from the API server"
    )
    assert len(api.requests) == 1
