# SPDX-License-Identifier: Apache-2.0
"""Objects of the API server: what is sent, and what an answer means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from unit.clients import answering

Reply = answering.Reply
NODES = "/api/v1/nodes"
POOLS = "/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/openstack/novacomputes"


def status(code: int, reason: str, message: str = "", **details: str) -> Reply:
    """An error as the API server words it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message or reason,
        "reason": reason,
        "details": details,
        "code": code,
    }
    return Reply(status=code, body=body)


def in_turn(replies: Sequence[Reply]) -> Callable[[answering.Request], Reply]:
    """Answers with one reply after the other."""
    remaining = iter(replies)
    return lambda _request: next(remaining)


def pool(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "kind": "NovaCompute",
        "metadata": {"name": "pool-a", "namespace": "openstack", **metadata},
        "spec": {"novaRef": {"name": "nova"}},
    }


# --- reading


def test_get_returns_the_object(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body=pool())
    assert cluster.get("NovaCompute", "pool-a", "openstack") == pool()
    assert api.asked() == [f"GET {POOLS}/pool-a"]


def test_get_of_a_missing_object_is_an_error_that_names_the_call(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    api.answer = lambda _request: status(404, "NotFound", 'novacomputes "x" not found', name="x", kind="novacomputes")
    with pytest.raises(errors.CallError) as caught:
        cluster.get("NovaCompute", "x", "openstack")
    assert str(caught.value) == f'GET {POOLS}/x: HTTP 404: novacomputes "x" not found'
    assert (caught.value.system, caught.value.kind, caught.value.reason) == ("kubernetes", "NovaCompute", "NotFound")


def test_the_token_of_the_kubeconfig_is_sent(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body=pool())
    cluster.get("NovaCompute", "pool-a", "openstack")
    assert api.requests[0].headers["Authorization"] == "Bearer kubernetes-token"


def test_find_of_a_missing_object_is_none(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(404, "NotFound", name="x", kind="novacomputes")
    assert cluster.find("NovaCompute", "x", "openstack") is None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=404, body=b"404 page not found\n", headers={"Content-Type": "text/plain"}),
        status(404, "NotFound", name="openstack", kind="namespaces"),
        status(404, "NotFound", "the server could not find the requested resource"),
        status(403, "Forbidden", name="x", kind="novacomputes"),
    ],
    ids=["kind not served", "namespace missing", "resource not found", "forbidden"],
)
def test_find_takes_no_other_answer_for_a_missing_object(
    api: answering.Server, cluster: kubernetes.Cluster, reply: Reply
) -> None:
    api.answer = lambda _request: reply
    with pytest.raises(errors.CallError) as caught:
        cluster.find("NovaCompute", "x", "openstack")
    assert caught.value.status == reply.status


def test_list_follows_every_page(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = in_turn(
        [
            Reply(body={"metadata": {"continue": "two/="}, "items": [{"metadata": {"name": "a"}}]}),
            Reply(body={"metadata": {}, "items": [{"metadata": {"name": "b"}}]}),
        ]
    )
    assert [node["metadata"]["name"] for node in cluster.list("Node")] == ["a", "b"]
    assert [request.query for request in api.requests] == [{"limit": "500"}, {"limit": "500", "continue": "two/="}]


def test_list_gives_each_item_its_kind(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body={"metadata": {}, "items": [{"metadata": {"name": "a"}}]})
    assert cluster.list("DaemonSet", "openstack") == [
        {"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": "a"}}
    ]


def test_list_of_nothing_is_empty(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body={"metadata": {}, "items": None})
    assert cluster.list("Node") == []


def test_list_starts_anew_when_its_pages_expire(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    first = Reply(body={"metadata": {"continue": "old"}, "items": [{"metadata": {"name": "stale"}}]})
    whole = Reply(body={"metadata": {}, "items": [{"metadata": {"name": "fresh"}}]})
    api.answer = in_turn([first, status(410, "Expired"), whole])
    assert [node["metadata"]["name"] for node in cluster.list("Node")] == ["fresh"]


def test_list_gives_up_on_pages_that_keep_expiring(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(410, "Expired")
    with pytest.raises(errors.CallError) as caught:
        cluster.list("Node")
    assert caught.value.status == 410
    assert len(api.requests) == kubernetes.LIST_ATTEMPTS


def test_list_sends_labels_and_fields(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body={"metadata": {}, "items": []})
    cluster.list("Pod", "openstack", {"b": "2", "a.io/x": "1"}, {"spec.nodeName": "n1"})
    assert api.requests[0].query == {
        "limit": "500",
        "labelSelector": "a.io/x=1,b=2",
        "fieldSelector": "spec.nodeName=n1",
    }


def test_list_of_metadata_asks_for_nothing_more(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    item = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}
    api.answer = lambda _request: Reply(body={"metadata": {}, "items": [item]})
    assert cluster.list("Node", metadata_only=True) == [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}]
    assert "PartialObjectMetadataList" in api.requests[0].headers["Accept"]


@pytest.mark.parametrize(
    ("reply", "served"),
    [
        (Reply(body={"kind": "APIResourceList", "resources": [{"name": "hypervisors"}]}), True),
        (Reply(body={"kind": "APIResourceList", "resources": [{"name": "evictions"}]}), False),
        (Reply(status=404, body=b"404 page not found\n"), False),
    ],
    ids=["served", "another kind of the group", "no such group"],
)
def test_serves(api: answering.Server, cluster: kubernetes.Cluster, reply: Reply, served: bool) -> None:  # noqa: FBT001
    api.answer = lambda _request: reply
    assert cluster.serves("Hypervisor") is served


def test_a_failed_probe_is_not_a_no(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(403, "Forbidden")
    with pytest.raises(errors.CallError):
        cluster.serves("VerticalPodAutoscaler")


# --- writing


@pytest.mark.case("C35")
def test_apply_is_forced_in_the_name_of_the_one_manager(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body=pool())
    cluster.apply(pool())
    request = api.requests[0]
    assert (request.method, request.path) == ("PATCH", f"{POOLS}/pool-a")
    assert request.query == {"fieldManager": "cobaltcore-operator", "force": "true"}
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"


def test_apply_leaves_out_what_the_server_owns(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body=pool())
    read = pool(
        uid="u", resourceVersion="1", generation=2, managedFields=[{}], creationTimestamp="t", labels={"a": "b"}
    )
    cluster.apply({**read, "status": {"numberReady": 1}})
    assert api.requests[0].document == pool(labels={"a": "b"})


@pytest.mark.parametrize(
    "write",
    [
        lambda cluster: cluster.apply(pool(), dry_run=True),
        lambda cluster: cluster.create(pool(), dry_run=True),
        lambda cluster: cluster.replace_status(pool(resourceVersion="1"), dry_run=True),
        lambda cluster: cluster.patch("NovaCompute", "pool-a", "openstack", {}, dry_run=True),
    ],
    ids=["apply", "create", "replace_status", "patch"],
)
def test_a_dry_run_is_one_at_the_server(
    api: answering.Server, cluster: kubernetes.Cluster, write: Callable[[kubernetes.Cluster], Any]
) -> None:
    api.answer = lambda _request: Reply(body=pool())
    write(cluster)
    assert api.requests[0].query["dryRun"] == "All"


def test_a_dry_delete_is_one_at_the_server(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body={"kind": "Status", "status": "Success"})
    assert cluster.delete("Job", "j", "openstack", dry_run=True)
    assert api.requests[0].document["dryRun"] == ["All"]


def test_create_of_an_existing_object_says_so(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(409, "AlreadyExists")
    with pytest.raises(errors.CallError) as caught:
        cluster.create(pool())
    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")


def test_the_status_is_replaced_at_the_version_that_was_read(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    api.answer = lambda _request: Reply(body=pool())
    cluster.replace_status(pool(resourceVersion="7"))
    request = api.requests[0]
    assert (request.method, request.path) == ("PUT", f"{POOLS}/pool-a/status")
    assert request.document["metadata"]["resourceVersion"] == "7"


def test_a_status_without_a_version_is_never_sent(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    with pytest.raises(ValueError, match="resourceVersion"):
        cluster.replace_status(pool())
    assert api.requests == []


def test_a_status_that_changed_meanwhile_is_a_conflict(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(409, "Conflict", "the object has been modified")
    with pytest.raises(errors.CallError) as caught:
        cluster.replace_status(pool(resourceVersion="7"))
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")


@pytest.mark.parametrize(
    ("type_", "content_type"),
    [
        ("merge", "application/merge-patch+json"),
        ("json", "application/json-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
    ],
)
def test_patch_types(api: answering.Server, cluster: kubernetes.Cluster, type_: Any, content_type: str) -> None:
    api.answer = lambda _request: Reply(body=pool())
    cluster.patch("NovaCompute", "pool-a", "openstack", [], type_)
    assert api.requests[0].headers["Content-Type"] == content_type


@pytest.mark.case("C33")
def test_delete_is_in_the_background_and_of_the_object_that_was_seen(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    api.answer = lambda _request: Reply(body={"kind": "Status", "status": "Success"})
    assert cluster.delete("Job", "j", "openstack", uid="u1")
    body = api.requests[0].document
    assert (body["propagationPolicy"], body["preconditions"]) == ("Background", {"uid": "u1"})


def test_delete_of_what_is_gone_is_false(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(404, "NotFound", name="j", kind="jobs")
    assert cluster.delete("Job", "j", "openstack") is False


def test_delete_leaves_a_successor_of_the_same_name_alone(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = in_turn(
        [
            status(409, "Conflict", "Precondition failed: UID in precondition: u1, UID in object meta: u2"),
            Reply(body={"kind": "Job", "metadata": {"name": "j", "uid": "u2"}}),
        ]
    )
    assert cluster.delete("Job", "j", "openstack", uid="u1") is False


def test_a_refused_delete_of_the_object_itself_is_an_error(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = in_turn(
        [status(409, "Conflict", "busy"), Reply(body={"kind": "Job", "metadata": {"name": "j", "uid": "u1"}})]
    )
    with pytest.raises(errors.CallError, match="busy"):
        cluster.delete("Job", "j", "openstack", uid="u1")


def test_a_kind_that_needs_a_namespace_is_never_asked_for_without_one(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    with pytest.raises(ValueError, match="lives in a namespace"):
        cluster.get("Secret", "s")
    assert api.requests == []


def test_a_name_cannot_leave_its_place_in_the_path(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(body=pool())
    cluster.get("Secret", "../../nodes?x=1", "openstack")
    assert api.requests[0].target == "/api/v1/namespaces/openstack/secrets/..%2F..%2Fnodes%3Fx%3D1"


# --- events


def test_an_event_is_of_the_object_that_it_is_about(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(status=201, body={"kind": "Event"})
    cluster.record_event(pool(uid="u1", resourceVersion="7"), "Warning", "NodeConflict", "node-1 (held by pool-b)")
    request = api.requests[0]
    event = request.document
    assert request.path == "/api/v1/namespaces/openstack/events"
    assert event["involvedObject"] == {
        "kind": "NovaCompute",
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "name": "pool-a",
        "namespace": "openstack",
        "uid": "u1",
        "resourceVersion": "7",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "NodeConflict", "node-1 (held by pool-b)")
    assert (event["source"], event["count"]) == ({"component": "novacompute-controller"}, 1)
    assert event["firstTimestamp"] == event["lastTimestamp"]


def test_a_long_message_is_cut_between_characters(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(status=201, body={"kind": "Event"})
    cluster.record_event(pool(), "Normal", "X", "x" + "é" * 1000)
    message = api.requests[0].document["message"]
    assert len(message.encode()) == 1023
    assert set(message) == {"x", "é"}


def test_an_event_of_a_cluster_scoped_object_goes_to_default(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    api.answer = lambda _request: Reply(status=201, body={"kind": "Event"})
    cluster.record_event({"kind": "Node", "metadata": {"name": "n1"}}, "Normal", "X", "x")
    assert api.requests[0].path == "/api/v1/namespaces/default/events"


def test_an_event_recorded_once_has_a_name_of_its_own_making(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    api.answer = lambda _request: Reply(status=201, body={"kind": "Event"})
    for reason, once in (("A", True), ("A", True), ("B", True), ("A", False)):
        cluster.record_event(pool(uid="u1"), "Normal", reason, "x", once=once)
    first, again, other, always = [request.document["metadata"] for request in api.requests]
    assert first["name"] == again["name"] != other["name"]
    assert always == {"namespace": "openstack", "generateName": "pool-a."}


def test_an_event_that_cannot_be_written_fails_nothing(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: status(403, "Forbidden", "the namespace is being terminated")
    assert cluster.record_event(pool(), "Normal", "X", "x") is False


# --- when there is no good answer


def test_a_read_whose_connection_broke_is_sent_again(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = in_turn([Reply(hang_up=True), Reply(body=pool())])
    assert cluster.get("NovaCompute", "pool-a", "openstack") == pool()


def test_a_read_is_sent_again_only_once(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(hang_up=True)
    with pytest.raises(errors.CallError) as caught:
        cluster.get("NovaCompute", "pool-a", "openstack")
    assert caught.value.status is None
    assert "closed without an answer" in caught.value.detail
    assert len(api.requests) == 2


def test_a_write_whose_connection_broke_is_not_sent_again(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(hang_up=True)
    with pytest.raises(errors.CallError):
        cluster.create(pool())
    assert len(api.requests) == 1


def test_an_api_server_that_is_not_there_is_named_with_the_reason(kubeconfig_for: Callable[..., str]) -> None:
    nowhere = kubernetes.Cluster.connect(kubeconfig_for("http://127.0.0.1:9"))
    with pytest.raises(errors.CallError) as caught:
        nowhere.list("Node", labels={"a": "b"})
    assert str(caught.value) == f"GET {NODES}: no answer from the API server http://127.0.0.1:9: Connection refused"


def test_a_success_that_is_no_object_does_not_show_its_content(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    api.answer = lambda _request: Reply(body=b"cGFzc3dvcmQ")
    with pytest.raises(errors.CallError) as caught:
        cluster.get("Secret", "s", "openstack")
    assert "cGFzc3dvcmQ" not in str(caught.value)


def test_redirects_are_not_followed(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    api.answer = lambda _request: Reply(status=302, headers={"Location": "/elsewhere"})
    with pytest.raises(errors.CallError) as caught:
        cluster.get("Node", "n1")
    assert caught.value.status == 302
    assert len(api.requests) == 1
