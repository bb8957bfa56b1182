# SPDX-License-Identifier: Apache-2.0
"""Odd objects by the thousand: the rules do not fail, agree with the API server, and admit nothing that it refuses.

Every call is a dry run, so that nothing is stored. FUZZ=10 makes it ten times as many objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission, drift, labels, quantities
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integration import kube
from integration.admission import conftest, rendering, webhooks

VPA_CRD_FILE = webhooks.TREE / "lab" / "crds" / "vpa.yaml"
DRY_RUN = {"dryRun": "All"}
# What the schema lets through as a quantity, with exponents that a server can write out.
SCHEMA_PATTERN = (
    r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]{1,2}(\.[0-9]*)?)|(\.[0-9]+))))?"
)


def bounded(examples: int) -> settings:
    """That many examples, times $FUZZ, however long each takes."""
    slow = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples * int(os.environ.get("FUZZ", "1")), deadline=None, suppress_health_check=slow)


# --- labels


WORDS = st.text(st.sampled_from("aZ9-_./ \nü"), max_size=8)
LABELS = WORDS | st.text(max_size=4) | st.integers(62, 65).map(lambda n: "a" * n) | st.just("x" * 254 + "/a")


def label_problems(server: kube.Server, namespace: str, key: str, value: str) -> list[str]:
    """What the API server says against a label."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {key: value}}}
    reply = server.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", body, query=DRY_RUN)
    if reply.status == 201:
        return []
    causes = [cause["message"] for cause in reply.body["details"]["causes"]]
    # 'Invalid value: "...": name part ...': the value itself may hold anything, the words of a rule begin like this.
    beginnings = ("name part ", "prefix part ", "a valid label", "must be no more than 63 bytes")
    return sorted(
        max((cause[cause.index(word) :] for word in beginnings if f": {word}" in cause), key=len) for cause in causes
    )


@bounded(400)
@given(key=LABELS, value=LABELS)
def test_labels_are_judged_as_the_api_server_judges_them(
    server: kube.Server, namespace: str, key: str, value: str
) -> None:
    ours = labels.key_problems(key) + labels.value_problems(value)
    assert sorted(ours) == label_problems(server, namespace, key, value)


# --- quantities


NUMBERS = st.sampled_from(["0", "1", "9", "00", "1.", ".5", "1.5", "0.1", "1024", "1000", "9" * 18, "1.0001"])
SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
EXPONENTS = st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 30)).map(
    lambda parts: "".join(map(str, parts))
)
QUANTITIES = st.tuples(st.sampled_from(["", "", "+"]), NUMBERS, SUFFIXES | EXPONENTS).map("".join)


@bounded(400)
@given(least=QUANTITIES, most=QUANTITIES)
def test_quantities_are_compared_as_the_api_server_compares_them(
    server: kube.Server, namespace: str, least: str, most: str
) -> None:
    limit = {"type": "Container", "min": {"memory": least}, "max": {"memory": most}}
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}, "spec": {"limits": [limit]}}
    reply = server.call("POST", f"/api/v1/namespaces/{namespace}/limitranges", body, query=DRY_RUN)
    exceeds = "is greater than max value" in reply.body.get("message", "")
    assert reply.status in (201, 422)
    assert (quantities.parse_for_pod(least) > quantities.parse_for_pod(most)) == exceeds


@bounded(200)
@given(text=st.from_regex(SCHEMA_PATTERN, fullmatch=True).filter(lambda text: len(text) < 16))
def test_what_is_a_quantity_is_one_for_the_api_server(server: kube.Server, namespace: str, text: str) -> None:
    limit = {"type": "Container", "default": {"cpu": text}}
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}, "spec": {"limits": [limit]}}
    reply = server.call("POST", f"/api/v1/namespaces/{namespace}/limitranges", body, query=DRY_RUN)
    try:
        quantities.parse(text)
    except ValueError:
        assert reply.status == 400
    else:
        # A negative one is a quantity, and refused for that.
        assert reply.status == 201 or "must be greater than or equal to 0" in reply.body["message"]


# --- whole pools


TEXT = st.sampled_from(["", "a", "b", "kvm.cloud.sap/offboarding", "{{ 1 / 0 }}", "a\nb", "x=y", "[s]", " a"]) | LABELS
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
AMOUNTS = QUANTITIES | st.integers(-2, 2**40) | st.sampled_from(["-1", "1e1.5", "100m", "2Mi", "3Mi", "1e40"])
RESOURCES = st.sampled_from(
    [
        *("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-x", "pods", "x", "a/b/c"),
        *("example.com/gpu", "kubernetes.io/x", "requests.cpu", "requests.example.com/x"),
    ]
)


def odd(*usual: Any) -> st.SearchStrategy[Any]:
    """One of what is usual, and at times anything at all."""
    return st.one_of(
        *(one if isinstance(one, st.SearchStrategy) else st.just(one) for one in usual for _ in range(6)), JUNK
    )


def fields(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=known)


TOLERATIONS = fields(
    key=odd("", "a", "kvm.cloud.sap/offboarding", LABELS),
    operator=odd("", "Equal", "Exists", "Gt"),
    value=odd("", "a", LABELS),
    effect=odd("", "NoSchedule", "NoExecute"),
    tolerationSeconds=odd(0, 300, -5),
)
ALLOWED = odd(st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS, max_size=2))
EXTRA = st.dictionaries(
    st.sampled_from(["DEFAULT", "libvirt", "LibVirt", "vnc", "mdev_a"]) | TEXT,
    st.dictionaries(st.sampled_from(["host", "HOST", "debug", "virt_type"]) | TEXT, TEXT, max_size=2),
    max_size=2,
)
# As short and as long as admission lets a name be, and longer.
NAMES = st.integers(1, 65).map(lambda length: "a" * length) | st.sampled_from(["pool-a", "a" * 55 + ".b", "a.b"])
SPECS = fields(
    nodeSelector=odd({"a": "b"}, st.dictionaries(LABELS, LABELS, max_size=2)),
    tolerations=odd(st.lists(TOLERATIONS, max_size=2)),
    image=odd({"repository": "nova", "tag": "1"}, fields(repository=odd("nova"), tag=odd("1", ""), digest=odd(""))),
    libvirt=odd({}, fields(virtType=odd("qemu"), cpuMode=odd("custom", "none"), cpuModels=odd(["a"], []))),
    updateStrategy=odd(
        {},
        fields(
            type=odd("RollingUpdate", "OnDelete"),
            maxUnavailable=odd(0, 1, 2**31 - 1, 2**31, "1%", "0%", "100%", "101%", "-1%", "+1%", "1", "1%%", "01%"),
        ),
    ),
    resources=odd(
        {},
        fields(
            requests=odd(st.dictionaries(RESOURCES, AMOUNTS, max_size=3)),
            limits=odd(st.dictionaries(RESOURCES, AMOUNTS, max_size=3)),
            claims=odd([{"name": "a"}], []),
        ),
    ),
    verticalAutoscaling=odd(
        {"updateMode": "Off"}, fields(updateMode=st.just("Auto"), minAllowed=ALLOWED, maxAllowed=ALLOWED)
    ),
    extraConfig=odd({}, EXTRA, EXTRA),
    targetClusterRef=odd({"name": "a"}, {"name": ""}),
    traits=odd(["CUSTOM_A"], ["a"]),
)


@pytest.fixture(scope="module")
def autoscalers(server: kube.Server) -> Iterator[None]:
    """The kind of the autoscaler, for this module: other tests look whether the cluster has it."""
    for manifest in yaml.safe_load_all(VPA_CRD_FILE.read_text(encoding="utf-8")):
        if manifest["metadata"]["name"].startswith("verticalpodautoscalers."):
            yield from conftest.defined(server, manifest)


@bounded(1500)
@given(name=NAMES, spec=SPECS)
def test_a_pool_is_judged_by_the_rules_and_has_no_child_that_the_api_server_refuses(
    pools: kube.Pools, unwatched: kube.Pools, autoscalers: None, name: str, spec: dict[str, Any]
) -> None:
    del autoscalers
    reply = create(pools, name, spec)
    assert reply.status in (201, 400, 422), reply.body
    if reply.status == 201:
        assert admission.review("CREATE", reply.body).violations == ()
        for path, child in rendering.children(reply.body).items():
            wanted = drift.stamped(child)
            made = pools.server.call("POST", path, wanted, query=DRY_RUN)
            assert made.status == 201, made.body
            # However the API server writes it, the next pass finds nothing to change.
            assert drift.is_applied(made.body, wanted), (wanted, made.body)
    elif "admission webhook" in reply.body["message"]:
        # Nobody but the webhook had anything against it, and it said what the rules say, in their order.
        stored = create(unwatched, name, spec).accepted()
        causes = [(cause["field"], cause["message"]) for cause in reply.body["details"]["causes"]]
        assert causes == [(one.field, one.body) for one in admission.review("CREATE", stored).violations]


def create(pools: kube.Pools, name: str, spec: dict[str, Any]) -> kube.Reply:
    body = pools.manifest(name, kube.minimal_spec() | spec)
    return pools.server.call("POST", pools.path(), body, query=DRY_RUN)
