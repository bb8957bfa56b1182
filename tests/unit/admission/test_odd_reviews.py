# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a review, there is an answer to it: a verdict, or a refusal because there is none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission
from hypothesis import given, settings
from hypothesis import strategies as st
from nova_compute_operator.admission import application
from unit.admission.reviews import NOVA, pool

FIELDS = [
    *("novaRef", "nodeSelector", "tolerations", "image", "libvirt", "updateStrategy", "resources"),
    *("verticalAutoscaling", "extraConfig", "targetClusterRef"),
]
NAMES = st.sampled_from(["name", "key", "operator", "cpu", "limits", "minAllowed", "maxUnavailable", "DEFAULT", "host"])
TEXT = st.text(st.characters(), max_size=4) | st.sampled_from(["a", "1e999999999", "9" * 5000, "25%", "\ud800"])
# JSON as Python reads it, which knows lone halves of characters and numbers without end.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES | TEXT, inner, max_size=3),
    max_leaves=6,
)
SPECS = st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=4)


def answer(request: Any) -> dict[str, Any]:
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    app = application.make(lambda _namespace, _name: NOVA)
    scope = {"type": "http", "method": "POST", "path": application.VALIDATE_PATH, "query_string": b"", "headers": []}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 200
    response: dict[str, Any] = json.loads(b"".join(part.get("body", b"") for part in sent))["response"]
    return response


@settings(max_examples=300, deadline=None)
@given(new=ANYTHING | SPECS.map(lambda spec: pool(**spec)), old=ANYTHING | SPECS.map(lambda spec: pool(**spec)))
def test_every_review_has_an_answer(new: Any, old: Any) -> None:
    response = answer({"uid": "u", "operation": "UPDATE", "namespace": "openstack", "object": new, "oldObject": old})
    assert response["uid"] == "u"
    assert response["allowed"] or response["status"]["code"] in (422, 500)


TYPED = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": st.dictionaries(TEXT, TEXT, max_size=2),
        "tolerations": st.lists(
            st.dictionaries(st.sampled_from(["key", "operator", "value", "effect"]), TEXT), max_size=2
        ),
        "updateStrategy": st.fixed_dictionaries({"maxUnavailable": TEXT | st.integers()}),
        "resources": st.dictionaries(
            st.sampled_from(["limits", "requests"]), st.dictionaries(TEXT | NAMES, TEXT | st.integers(), max_size=2)
        ),
        "verticalAutoscaling": st.dictionaries(
            st.sampled_from(["minAllowed", "maxAllowed"]),
            st.dictionaries(st.sampled_from(["cpu", "memory"]), TEXT | st.integers()),
        ),
        "extraConfig": st.dictionaries(TEXT | NAMES, st.dictionaries(TEXT | NAMES, TEXT, max_size=2), max_size=2),
    },
)


@settings(max_examples=1000, deadline=None)
@given(spec=TYPED)
def test_a_pool_of_the_right_types_always_gets_a_verdict(spec: dict[str, Any]) -> None:
    verdict = admission.review("CREATE", pool(**spec), nova=NOVA)
    assert verdict.allowed == (verdict.violations == ())
    assert {one.field.partition("[")[0].split(".")[1] for one in verdict.violations} <= set(FIELDS)
