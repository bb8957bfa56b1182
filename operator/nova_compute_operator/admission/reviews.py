# SPDX-License-Identifier: Apache-2.0
"""AdmissionReviews of the API server, and the answers to them.

A refusal is a Status such as the API server itself writes for an object that its schema refuses, so that kubectl and
every other client show both alike. Source: Kubernetes, ``admission.k8s.io/v1`` and apimachinery's ``NewInvalid``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission, extra_config, violations

GROUP = "nova.openstack.c5c3.io"
KIND = "NovaCompute"
API_VERSION = "admission.k8s.io/v1"

#: Reads the Nova of a namespace and a name.
ReadNova = Callable[[str, str], extra_config.Nova]


class MalformedError(ValueError):
    """What came is no AdmissionReview; the text says what is missing from it."""


def parse(body: bytes) -> dict[str, Any]:
    """The request of an AdmissionReview. Raises MalformedError."""
    try:
        review = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError("the body is not JSON") from error
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        raise MalformedError("the body is no AdmissionReview")
    if review.get("apiVersion") != API_VERSION:
        raise MalformedError(f"only {API_VERSION} is understood")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise MalformedError("the AdmissionReview carries no request with a uid")
    return request


def mutate(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that leaves the object as it is: defaults come from the schema, or are no part of the object."""
    return _answer(request, allowed=True)


def validate(request: Mapping[str, Any], read_nova: ReadNova) -> dict[str, Any]:
    """The verdict on the object of the request; ``read_nova`` is asked only when the verdict depends on the Nova."""
    operation, new, old = str(request.get("operation")), request.get("object"), request.get("oldObject")
    if operation not in (admission.CREATE, admission.UPDATE) or not isinstance(new, dict):
        return _answer(request, allowed=True)
    nova = None
    if admission.needs_nova(operation, new, old):
        namespace, name = admission.nova_of(new)
        # Without a name there is nothing to read, and a violation that says so.
        nova = read_nova(str(request.get("namespace") or namespace), name) if name else None
    verdict = admission.review(operation, new, old, nova=nova)
    status = None if verdict.allowed else invalid(_name(request, new), verdict.violations)
    return _answer(request, allowed=verdict.allowed, status=status, warnings=verdict.warnings)


def fail(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer when the verdict could not be reached: refused, for what was not judged may be wrong."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "InternalError",
        "code": 500,
        "message": "Internal error occurred: the object could not be judged; the log of the operator says why",
    }
    return _answer(request, allowed=False, status=status)


def invalid(name: str, found: Iterable[violations.Violation]) -> dict[str, Any]:
    """The Status of an invalid NovaCompute, with a cause for each violation."""
    said = list(found)
    # A text that occurs twice says nothing more the second time.
    texts = list(dict.fromkeys(map(str, said)))
    what = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": f"{KIND}.{GROUP} {violations.quoted(name)} is invalid: {what}",
        "details": {
            "group": GROUP,
            "kind": KIND,
            "name": name,
            "causes": [{"reason": one.kind.reason, "message": one.body, "field": one.field} for one in said],
        },
    }


def _name(request: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    return str((new.get("metadata") or {}).get("name") or request.get("name") or "")


def _answer(
    request: Mapping[str, Any],
    *,
    allowed: bool,
    status: Mapping[str, Any] | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": request["uid"], "allowed": allowed}
    if status is not None:
        response["status"] = dict(status)
    told = list(warnings)
    if told:
        response["warnings"] = told
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
