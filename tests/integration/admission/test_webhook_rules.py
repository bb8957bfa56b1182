# SPDX-License-Identifier: Apache-2.0
"""The table of the webhook's rules, row by row, through a real API server.

What the schema refuses never reaches the webhook. So each row is asked for twice where both know it: of a NovaCompute,
and of an object whose schema refuses nothing, where the webhook's own words are heard.
"""

from __future__ import annotations

from typing import Any

import pytest
from integration import kube
from integration.admission import webhooks

CPU_MODELS = "cpuModels is required when cpuMode is custom and must be empty otherwise"
IMAGE = "exactly one of image.tag or image.digest must be set"
NAME = "name must be at most 63 characters: it is the app.kubernetes.io/instance label value of every child"
IMMUTABLE_NOVA = ("spec.novaRef.name", 'Invalid value: "other": novaRef is immutable')
TOLERATES = (
    "Forbidden: tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute "
    "service only after every agent pod on the node is gone, and a nova-compute that stays re-registers it"
)
TAINT = "kvm.cloud.sap/offboarding"
PLACED_LATE = (
    "spec.targetClusterRef",
    "Forbidden: targetClusterRef is immutable (adding or removing it after creation is not permitted)",
)
STRATEGY = "spec.updateStrategy.maxUnavailable"
BOUND = "spec.verticalAutoscaling.minAllowed[cpu]"

# What a pool says, and what the webhook says to it. The schema knows the rows with True as well.
ROWS: dict[str, tuple[dict[str, Any], list[tuple[str, str]], bool]] = {
    "no Nova": (
        {"novaRef": {"name": ""}},
        [("spec.novaRef.name", "Required value: novaRef.name must be set (the Nova this node pool joins)")],
        True,
    ),
    "no label": (
        {"nodeSelector": {}},
        [("spec.nodeSelector", "Required value: nodeSelector must carry at least one label")],
        True,
    ),
    "bad label value": (
        {"nodeSelector": {"a": "-"}},
        [
            (
                "spec.nodeSelector[a]",
                (
                    'Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '
                    "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
                    "'my_value',  or '12345', regex used for validation is "
                    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                ),
            )
        ],
        False,
    ),
    "long label key": (
        {"nodeSelector": {"k" * 64: "a"}},
        [(f"spec.nodeSelector[{'k' * 64}]", f'Invalid value: "{"k" * 64}": name part must be no more than 63 bytes')],
        False,
    ),
    "stays on a tainted node": (
        {"tolerations": [{"key": "a", "operator": "Exists"}, {"key": TAINT, "operator": "Exists"}]},
        [("spec.tolerations[1]", TOLERATES)],
        False,
    ),
    "stays on every node": ({"tolerations": [{"operator": "Exists"}]}, [("spec.tolerations[0]", TOLERATES)], False),
    "pace of OnDelete": (
        {"updateStrategy": {"type": "OnDelete", "maxUnavailable": 1}},
        [(STRATEGY, "Forbidden: maxUnavailable applies to RollingUpdate only")],
        False,
    ),
    "malformed pace": (
        {"updateStrategy": {"maxUnavailable": "some"}},
        [(STRATEGY, 'Invalid value: "some": maxUnavailable must be an integer or a percentage such as "25%"')],
        False,
    ),
    "no pace": (
        {"updateStrategy": {"maxUnavailable": "0%"}},
        [(STRATEGY, 'Invalid value: "0%": maxUnavailable must resolve to at least 1 for RollingUpdate')],
        False,
    ),
    "no node at a time": (
        {"updateStrategy": {"maxUnavailable": 0}},
        [(STRATEGY, "Invalid value: 0: maxUnavailable must resolve to at least 1 for RollingUpdate")],
        False,
    ),
    "custom without models": (
        {"libvirt": {"cpuMode": "custom"}},
        [("spec.libvirt.cpuModels", f"Invalid value: []: {CPU_MODELS}")],
        True,
    ),
    "models without custom": (
        {"libvirt": {"cpuMode": "none", "cpuModels": ["a"]}},
        [("spec.libvirt.cpuModels", f'Invalid value: ["a"]: {CPU_MODELS}')],
        True,
    ),
    "owned key": (
        {"extraConfig": {"DEFAULT": {"state_path": "/x"}}},
        [
            (
                "spec.extraConfig[DEFAULT][state_path]",
                (
                    "Forbidden: state_path is managed via the /var/lib/nova host mount and must not be set in "
                    "extraConfig (what nova-compute writes elsewhere is gone with its container)"
                ),
            )
        ],
        False,
    ),
    "newline": (
        {"extraConfig": {"DEFAULT": {"debug": "true\n[libvirt]"}}},
        [
            (
                "spec.extraConfig[DEFAULT][debug]",
                "Forbidden: extraConfig value must not contain a newline or carriage return",
            )
        ],
        False,
    ),
    "carriage return": (
        {"extraConfig": {"libvirt\r": {"a": "b"}}},
        [
            (
                "spec.extraConfig[libvirt\r]",
                "Forbidden: extraConfig section must not contain a newline or carriage return",
            )
        ],
        False,
    ),
    "another control character": (
        {"extraConfig": {"libvirt": {"cpu_mode": "none\t"}}},
        [
            (
                "spec.extraConfig[libvirt][cpu_mode]",
                (
                    "Forbidden: extraConfig value must not contain a newline or carriage return "
                    "or another control character"
                ),
            )
        ],
        False,
    ),
    "newline in the name of an empty section": (
        {"extraConfig": {"a\nb": {}}},
        [
            (
                "spec.extraConfig[a\nb]",
                "Forbidden: extraConfig section must not contain a newline or carriage return",
            )
        ],
        False,
    ),
    "image without repository": (
        {"image": {"tag": "1"}},
        [("spec.image.repository", "Required value: repository must be set")],
        True,
    ),
    "image with neither": (
        {"image": {"repository": "nova"}},
        [("spec.image", f'Invalid value: {{"repository":"nova"}}: {IMAGE}')],
        True,
    ),
    "target cluster without name": (
        {"targetClusterRef": {"name": ""}},
        [("spec.targetClusterRef.name", "Required value: target cluster name must be set")],
        True,
    ),
    "least above most": (
        {"verticalAutoscaling": {"updateMode": "Off", "minAllowed": {"cpu": "2"}, "maxAllowed": {"cpu": "1999m"}}},
        [(BOUND, 'Invalid value: "2": must not exceed maxAllowed')],
        False,
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_webhook_refuses_in_the_words_of_its_table(unruly: webhooks.Unruly, row: str) -> None:
    spec, said, _ = ROWS[row]
    assert unruly.create_with(**spec).refusals() == said


@pytest.mark.parametrize("row", [row for row, (_, _, in_schema) in ROWS.items() if not in_schema])
def test_a_pool_meets_the_webhook(pools: kube.Pools, row: str) -> None:
    spec, said, _ = ROWS[row]
    assert pools.create_with(**spec).refusals() == said


@pytest.mark.parametrize("row", [row for row, (_, _, in_schema) in ROWS.items() if in_schema])
def test_a_pool_meets_the_schema_first(pools: kube.Pools, row: str) -> None:
    reply = pools.create_with(**ROWS[row][0])
    assert reply.status == 422
    assert "admission webhook" not in reply.body["message"]


@pytest.mark.parametrize("row", ROWS)
def test_an_update_is_judged_like_a_creation(unruly: webhooks.Unruly, row: str) -> None:
    spec, said, _ = ROWS[row]
    unruly.create_with().accepted()
    expected = [*said, *([PLACED_LATE] if "targetClusterRef" in spec else [])]
    if "novaRef" in spec:
        expected.append(("spec.novaRef.name", 'Invalid value: "": novaRef is immutable'))
    body = unruly.read()
    body["spec"] |= spec
    assert unruly.server.call("PUT", unruly.path("pool-a"), body).refusals() == sorted(expected)


# --- what only a creation or only a change is judged by


def test_a_long_name_is_refused(pools: kube.Pools) -> None:
    name = "p" * 64
    assert pools.create_with(name=name).refusals() == [("metadata.name", f'Invalid value: "{name}": {NAME}')]


def test_a_long_name_that_is_there_may_change_otherwise(
    pools: kube.Pools, unwatched: kube.Pools, hooks: webhooks.Webhooks
) -> None:
    name = "p" * 64
    unwatched.create_with(name=name).accepted()
    watch(unwatched, hooks)
    wait_until_watched(unwatched)
    assert unwatched.patch({"nodeSelector": {"more": "labels"}}, name=name).accepted()["metadata"]["generation"] == 2


def test_a_pool_cannot_move_to_another_nova(unruly: webhooks.Unruly) -> None:
    unruly.create_with().accepted()
    assert unruly.patch({"novaRef": {"name": "other"}}).refusals() == [IMMUTABLE_NOVA]


def test_a_pool_cannot_move_to_a_target_cluster(unruly: webhooks.Unruly) -> None:
    unruly.create_with().accepted()
    assert unruly.patch({"targetClusterRef": {"name": "a"}}).refusals() == [PLACED_LATE]


def test_a_pool_cannot_leave_its_target_cluster(unruly: webhooks.Unruly) -> None:
    unruly.create_with(targetClusterRef={"name": "a"}).accepted()
    assert unruly.patch({"targetClusterRef": None}).refusals() == [PLACED_LATE]


def test_a_pool_cannot_move_to_another_target_cluster(unruly: webhooks.Unruly) -> None:
    unruly.create_with(targetClusterRef={"name": "a"}).accepted()
    assert unruly.patch({"targetClusterRef": {"name": "b"}}).refusals() == [
        (
            "spec.targetClusterRef.name",
            (
                'Invalid value: "b": targetClusterRef is immutable '
                "(the children already exist on the previously named cluster)"
            ),
        )
    ]


# --- one answer


def test_every_violation_is_in_one_answer(pools: kube.Pools) -> None:
    reply = pools.create_with(
        nodeSelector={"a": "-"},
        tolerations=[{"operator": "Exists"}],
        updateStrategy={"maxUnavailable": 0},
        extraConfig={"DEFAULT": {"host": "x", "my_ip": "1"}},
    )
    assert [field for field, _ in reply.refusals()] == [
        "spec.extraConfig[DEFAULT][host]",
        "spec.extraConfig[DEFAULT][my_ip]",
        "spec.nodeSelector[a]",
        "spec.tolerations[0]",
        STRATEGY,
    ]


def test_the_refusal_reads_as_kubectl_prints_it(pools: kube.Pools) -> None:
    body = pools.create_with(updateStrategy={"maxUnavailable": 0}, tolerations=[{"operator": "Exists"}]).body
    assert body["message"] == (
        'admission webhook "vnovacompute.kb.io" denied the request: '
        'NovaCompute.nova.openstack.c5c3.io "pool-a" is invalid: '
        f"[spec.tolerations[0]: {TOLERATES}, "
        f"{STRATEGY}: Invalid value: 0: maxUnavailable must resolve to at least 1 for RollingUpdate]"
    )
    assert (body["code"], body["reason"]) == (422, "Invalid")


def test_a_good_pool_is_admitted_and_the_object_left_as_it_is(pools: kube.Pools, unwatched: kube.Pools) -> None:
    assert pools.create_with().accepted()["spec"] == unwatched.create_with().accepted()["spec"]


# --- a pool that is being deleted


def watch(pools: kube.Pools, hooks: webhooks.Webhooks) -> None:
    """From here on the webhooks watch the namespace of these pools."""
    body = {"metadata": {"labels": {webhooks.LABEL: hooks.name}}}
    pools.server.call("PATCH", f"/api/v1/namespaces/{pools.namespace}", body, content_type=kube.MERGE_PATCH).accepted()


def wait_until_watched(pools: kube.Pools) -> None:
    bad = pools.manifest("bad", kube.minimal_spec() | {"tolerations": [{"operator": "Exists"}]})
    kube.wait_until(
        lambda: pools.server.call("POST", pools.path(), bad, query={"dryRun": "All"}).status == 422,
        "the webhook watches the namespace",
    )


@pytest.fixture
def slipped(unwatched: kube.Pools, hooks: webhooks.Webhooks) -> kube.Pools:
    """A pool with a finalizer that an owned key, a bad label and a toleration got into while no webhook looked."""
    body = unwatched.manifest(
        "pool-a",
        kube.minimal_spec()
        | {
            "nodeSelector": {"a": "-"},
            "tolerations": [{"operator": "Exists"}],
            "extraConfig": {"DEFAULT": {"host": "x"}},
        },
    )
    body["metadata"]["finalizers"] = ["test.c5c3.io/hold"]
    unwatched.server.call("POST", unwatched.path(), body).accepted()
    watch(unwatched, hooks)
    wait_until_watched(unwatched)
    return unwatched


def let_go(pools: kube.Pools) -> kube.Reply:
    body = {"metadata": {"finalizers": None}}
    return pools.server.call("PATCH", pools.path("pool-a"), body, content_type=kube.MERGE_PATCH)


def test_the_finalizer_of_a_deleted_pool_may_leave_whatever_its_spec_says(slipped: kube.Pools) -> None:
    slipped.server.call("DELETE", slipped.path("pool-a")).accepted()
    let_go(slipped).accepted()
    kube.wait_until(lambda: slipped.server.call("GET", slipped.path("pool-a")).status == 404, "the end of the pool")


def test_the_escape_by_hand_of_the_documentation_works_on_it(slipped: kube.Pools) -> None:
    slipped.server.call("DELETE", slipped.path("pool-a")).accepted()
    steps: Any = [
        {"op": "test", "path": "/metadata/finalizers/0", "value": "test.c5c3.io/hold"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]
    path = slipped.path("pool-a")
    slipped.server.call("PATCH", path, steps, content_type="application/json-patch+json").accepted()
    kube.wait_until(lambda: slipped.server.call("GET", path).status == 404, "the end of the pool")


def test_a_deleted_pool_whose_spec_changes_is_judged(slipped: kube.Pools) -> None:
    slipped.server.call("DELETE", slipped.path("pool-a")).accepted()
    assert len(slipped.patch({"libvirt": {"cpuMode": "none"}}).refusals()) == 3
    assert (
        slipped.patch({"nodeSelector": {"a": None, "b": "c"}, "tolerations": None, "extraConfig": None}).status == 200
    )
    let_go(slipped).accepted()


def test_a_pool_that_stays_is_judged_on_every_update(slipped: kube.Pools) -> None:
    assert len(let_go(slipped).refusals()) == 3


def test_its_status_is_written_all_the_same(slipped: kube.Pools) -> None:
    assert slipped.patch_status({"status": {"observedGeneration": 1}}).status == 200
