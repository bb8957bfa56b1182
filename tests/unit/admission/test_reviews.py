# SPDX-License-Identifier: Apache-2.0
"""AdmissionReviews in and out: what is understood, and how a refusal is written."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import extra_config
from nova_compute_operator.admission import application, reviews
from unit.admission.reviews import NOVA, pool

Data = dict[str, Any]


def asked(new: Any, *, operation: str = "CREATE", old: Any = None) -> Data:
    request = {"uid": "u-1", "operation": operation, "namespace": "openstack", "object": new, "oldObject": old}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


class Reader:
    """Reads one Nova, and remembers which ones were asked for."""

    def __init__(self, nova: extra_config.Nova = NOVA) -> None:
        self.asked: list[tuple[str, str]] = []
        self._nova = nova

    def __call__(self, namespace: str, name: str) -> extra_config.Nova:
        self.asked.append((namespace, name))
        return self._nova


def call(body: bytes, reader: reviews.ReadNova, path: str, method: str = "POST") -> tuple[int, bytes]:
    """The status and the body of the application's answer to one request."""
    sent: list[Data] = []

    async def receive() -> Data:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    asyncio.run(application.make(reader)(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def answered(review: Data, reader: reviews.ReadNova | None = None, path: str = application.VALIDATE_PATH) -> Data:
    status, body = call(json.dumps(review).encode(), reader or Reader(), path)
    assert status == 200, body
    answer: Data = json.loads(body)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Data = answer["response"]
    assert response["uid"] == "u-1"
    return response


def test_a_good_pool_is_allowed_and_nothing_else_is_said() -> None:
    assert answered(asked(pool())) == {"uid": "u-1", "allowed": True}


def test_one_violation_is_written_as_the_api_server_writes_it() -> None:
    status = answered(asked(pool(image={"tag": "1"})))["status"]
    assert status == {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": 'NovaCompute.nova.openstack.c5c3.io "pool-a" is invalid: '
        "spec.image.repository: Required value: repository must be set",
        "details": {
            "group": "nova.openstack.c5c3.io",
            "kind": "NovaCompute",
            "name": "pool-a",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: repository must be set",
                    "field": "spec.image.repository",
                }
            ],
        },
    }


def test_several_violations_stand_in_brackets_and_each_is_a_cause() -> None:
    status = answered(asked(pool(image={"tag": "1"}, targetClusterRef={})))["status"]
    assert status["message"] == (
        'NovaCompute.nova.openstack.c5c3.io "pool-a" is invalid: '
        "[spec.image.repository: Required value: repository must be set, "
        "spec.targetClusterRef.name: Required value: target cluster name must be set]"
    )
    assert [cause["field"] for cause in status["details"]["causes"]] == [
        "spec.image.repository",
        "spec.targetClusterRef.name",
    ]


def test_a_warning_comes_along_with_the_verdict() -> None:
    extra = {"DEFAULT": {"old_debug": "1"}}
    assert answered(asked(pool(extraConfig=extra))) == {
        "uid": "u-1",
        "allowed": True,
        "warnings": ["spec.extraConfig[DEFAULT][old_debug]: deprecated in nova 2026.1, use [DEFAULT] debug"],
    }


def test_the_nova_of_the_pools_namespace_is_read_once() -> None:
    reader = Reader()
    answered(asked(pool(extraConfig={"DEFAULT": {"debug": "1"}, "libvirt": {"virt_type": "kvm"}})), reader)
    assert reader.asked == [("openstack", "nova")]


@pytest.mark.parametrize(
    "spec", [{}, {"extraConfig": {}}, {"extraConfig": {"DEFAULT": {"debug": "1"}}, "novaRef": None}]
)
def test_no_nova_is_read_without_need(spec: Data) -> None:
    reader = Reader()
    answered(asked(pool(**spec)), reader)
    assert reader.asked == []


def test_the_finalizer_of_a_bad_pool_that_is_being_deleted_may_leave() -> None:
    old = pool(deleting=True, nodeSelector={})
    assert answered(asked(pool(deleting=True, nodeSelector={}), operation="UPDATE", old=old))["allowed"]


def test_a_deletion_is_no_business_of_admission() -> None:
    assert answered(asked(None, operation="DELETE", old=pool(nodeSelector={})))["allowed"]


@pytest.mark.parametrize("new", [pool(), pool(nodeSelector={})])
def test_the_mutating_webhook_leaves_the_object_as_it_is(new: Data) -> None:
    assert answered(asked(new), path=application.MUTATE_PATH) == {"uid": "u-1", "allowed": True}


def test_a_verdict_that_cannot_be_reached_is_a_refusal() -> None:
    def broken(namespace: str, name: str) -> extra_config.Nova:
        raise RuntimeError("canary")

    response = answered(asked(pool(extraConfig={"DEFAULT": {"debug": "1"}})), broken)
    assert (response["allowed"], response["status"]["code"]) == (False, 500)
    assert "canary" not in json.dumps(response)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b"[]", "the body is no AdmissionReview"),
        (
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}',
            "only admission.k8s.io/v1 is understood",
        ),
        (
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}}',
            "the AdmissionReview carries no request with a uid",
        ),
    ],
)
def test_what_is_no_review_is_a_bad_request(body: bytes, said: str) -> None:
    assert call(body, Reader(), application.VALIDATE_PATH) == (400, f"{said}\n".encode())


def test_more_than_any_review_is_not_read_to_its_end() -> None:
    assert call(b" " * (16 * 1024 * 1024 + 1), Reader(), application.VALIDATE_PATH)[0] == 413


def test_there_is_nothing_else_to_call() -> None:
    assert call(b"", Reader(), application.VALIDATE_PATH, "GET")[0] == 405
    assert call(b"", Reader(), "/")[0] == 404
