# SPDX-License-Identifier: Apache-2.0
"""The table of the webhook's rules, row by row, with the words in which each refuses."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission
from unit.admission.reviews import created, pool, updated

rule = pytest.mark.rule
NAME = "name must be at most 63 characters: it is the app.kubernetes.io/instance label value of every child"
CPU_MODELS = "cpuModels is required when cpuMode is custom and must be empty otherwise"
IMAGE = "exactly one of image.tag or image.digest must be set"
STRATEGY = "spec.updateStrategy.maxUnavailable"
BOUNDS = "spec.verticalAutoscaling"


def test_a_pool_without_a_fault_is_admitted_without_a_word() -> None:
    assert admission.review("CREATE", pool()) == admission.Verdict()


# --- the name


@rule("admission", NAME)
def test_a_name_that_is_no_label_value_is_refused_on_creation() -> None:
    verdict = admission.review("CREATE", pool("a" * 64))
    assert [str(one) for one in verdict.violations] == [f'metadata.name: Invalid value: "{"a" * 64}": {NAME}']


def test_a_name_of_63_characters_is_admitted() -> None:
    assert admission.review("CREATE", pool("a" * 63)).allowed


def test_a_name_that_is_there_is_not_judged_again() -> None:
    assert updated(pool("a" * 64), pool("a" * 64, nodeSelector={"pool": "b"})) == []


# --- references


@rule("admission", "novaRef.name must be set (the Nova this node pool joins)")
@pytest.mark.parametrize("reference", [None, {}, {"name": ""}])
def test_a_pool_needs_a_nova(reference: Any) -> None:
    assert created(novaRef=reference) == [
        "spec.novaRef.name: Required value: novaRef.name must be set (the Nova this node pool joins)"
    ]


@rule("admission", "novaRef is immutable")
def test_a_pool_cannot_move_to_another_nova() -> None:
    assert updated(pool(), pool(novaRef={"name": "other"})) == [
        'spec.novaRef.name: Invalid value: "other": novaRef is immutable'
    ]


@rule("admission", "target cluster name must be set")
def test_a_target_cluster_needs_a_name() -> None:
    assert created(targetClusterRef={"name": ""}) == [
        "spec.targetClusterRef.name: Required value: target cluster name must be set"
    ]


@rule("admission", "targetClusterRef is immutable (adding or removing it after creation is not permitted)")
@pytest.mark.parametrize(
    ("old", "new"), [(pool(), pool(targetClusterRef={"name": "a"})), (pool(targetClusterRef={"name": "a"}), pool())]
)
def test_a_pool_cannot_move_to_or_from_a_target_cluster(old: Any, new: Any) -> None:
    assert updated(old, new) == [
        (
            "spec.targetClusterRef: Forbidden: targetClusterRef is immutable "
            "(adding or removing it after creation is not permitted)"
        )
    ]


@rule(
    "admission",
    "targetClusterRef is immutable (the children already exist on the previously named cluster)",
)
def test_a_pool_cannot_move_to_another_target_cluster() -> None:
    assert updated(pool(targetClusterRef={"name": "a"}), pool(targetClusterRef={"name": "b"})) == [
        (
            'spec.targetClusterRef.name: Invalid value: "b": targetClusterRef is immutable '
            "(the children already exist on the previously named cluster)"
        )
    ]


# --- the selector


@rule("admission", "nodeSelector must carry at least one label")
@pytest.mark.parametrize("selector", [None, {}])
def test_a_pool_needs_a_label_to_select_by(selector: Any) -> None:
    assert created(nodeSelector=selector) == [
        "spec.nodeSelector: Required value: nodeSelector must carry at least one label"
    ]


@rule("admission", "what labels.key_problems says")
@rule("admission", "what labels.value_problems says")
def test_a_label_that_no_selector_may_carry_is_refused_with_the_words_of_kubernetes() -> None:
    assert created(nodeSelector={"good": "yes", "bad key": "bad value"}) == [
        (
            'spec.nodeSelector[bad key]: Invalid value: "bad key": name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        ),
        (
            'spec.nodeSelector[bad key]: Invalid value: "bad value": a valid label must be an empty string or consist '
            "of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ),
    ]


# --- image and libvirt


@rule("admission", IMAGE)
@pytest.mark.parametrize("naming", [{}, {"tag": "1", "digest": "sha256:1"}, {"tag": "", "digest": ""}])
def test_an_image_needs_either_a_tag_or_a_digest(naming: dict[str, str]) -> None:
    (said,) = created(image={"repository": "nova"} | naming)
    assert said.startswith("spec.image: Invalid value: {")
    assert said.endswith(f": {IMAGE}")


@rule("admission", "repository must be set")
def test_an_image_needs_a_repository() -> None:
    assert created(image={"tag": "1"}) == ["spec.image.repository: Required value: repository must be set"]


@pytest.mark.parametrize("naming", [{"tag": "1"}, {"digest": "sha256:1"}])
def test_an_image_with_one_of_both_is_admitted(naming: dict[str, str]) -> None:
    assert created(image={"repository": "nova"} | naming) == []


@rule("admission", CPU_MODELS)
def test_custom_needs_cpu_models() -> None:
    assert created(libvirt={"cpuMode": "custom"}) == [f"spec.libvirt.cpuModels: Invalid value: []: {CPU_MODELS}"]


@rule("admission", CPU_MODELS)
@pytest.mark.parametrize("libvirt", [{"cpuModels": ["a"]}, {"cpuMode": "none", "cpuModels": ["a"]}])
def test_cpu_models_need_custom(libvirt: dict[str, Any]) -> None:
    assert created(libvirt=libvirt) == [f'spec.libvirt.cpuModels: Invalid value: ["a"]: {CPU_MODELS}']


@pytest.mark.parametrize("libvirt", [{}, {"cpuModels": []}, {"cpuMode": "custom", "cpuModels": ["a"]}])
def test_cpu_models_that_fit_are_admitted(libvirt: dict[str, Any]) -> None:
    assert created(libvirt=libvirt) == []


# --- the pace of a rollout


@rule("admission", "maxUnavailable applies to RollingUpdate only")
def test_max_unavailable_is_for_a_rolling_update_only() -> None:
    assert created(updateStrategy={"type": "OnDelete", "maxUnavailable": 1}) == [
        f"{STRATEGY}: Forbidden: maxUnavailable applies to RollingUpdate only"
    ]


@rule("admission", 'maxUnavailable must be an integer or a percentage such as "25%"')
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("25", '"25"'),
        ("", '""'),
        ("%", '"%"'),
        ("25 %", '"25 %"'),
        ("+5%", '"+5%"'),
        ("2.5%", '"2.5%"'),
        ("25%\n", '"25%\\n"'),
        ("\u0665%", '"\u0665%"'),
        ("a lot", '"a lot"'),
        (2**31, "2147483648"),
    ],
)
def test_malformed_max_unavailable_is_refused(value: Any, shown: str) -> None:
    assert created(updateStrategy={"maxUnavailable": value}) == [
        f'{STRATEGY}: Invalid value: {shown}: maxUnavailable must be an integer or a percentage such as "25%"'
    ]


@rule("admission", "maxUnavailable must resolve to at least 1 for RollingUpdate")
@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (-1, "-1"), ("0%", '"0%"'), ("-5%", '"-5%"'), ("00%", '"00%"')])
def test_max_unavailable_that_lets_no_node_restart_is_refused(value: Any, shown: str) -> None:
    assert created(updateStrategy={"type": "RollingUpdate", "maxUnavailable": value}) == [
        f"{STRATEGY}: Invalid value: {shown}: maxUnavailable must resolve to at least 1 for RollingUpdate"
    ]


@rule("admission", "must not be greater than 100%")
def test_more_than_all_nodes_is_refused_as_a_daemon_set_refuses_it() -> None:
    assert created(updateStrategy={"maxUnavailable": "101%"}) == [
        f'{STRATEGY}: Invalid value: "101%": must not be greater than 100%'
    ]


@pytest.mark.parametrize("value", [1, 7, 1000, "1%", "25%", "100%", "007%"])
def test_max_unavailable_that_kubernetes_understands_is_admitted(value: Any) -> None:
    assert created(updateStrategy={"maxUnavailable": value}) == []


# --- resources and their autoscaler


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        pytest.param(
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1000m"}},
            'spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1000m',
            marks=rule("resources", "must be less than or equal to <name> limit of <limit>"),
        ),
        pytest.param(
            {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}},
            'spec.resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2',
            marks=rule("resources", "must be equal to <name> limit of <limit>"),
        ),
        pytest.param(
            {"limits": {"memory": "-1"}},
            'spec.resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
            marks=rule("resources", "must be greater than or equal to 0"),
        ),
        pytest.param(
            {"requests": {"disk": "1"}},
            'spec.resources.requests[disk]: Invalid value: "disk": must be a standard resource for containers',
            marks=rule("resources", "must be a standard resource for containers"),
        ),
        pytest.param(
            {"limits": {"requests.example.com/gpu": "1"}},
            (
                'spec.resources.limits[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": '
                "doesn't follow extended resource name standard"
            ),
            marks=rule("resources", "doesn't follow extended resource name standard"),
        ),
        pytest.param(
            {"limits": {"/gpu": "1"}},
            'spec.resources.limits[/gpu]: Invalid value: "/gpu": prefix part must be non-empty',
            marks=rule("resources", "what labels.key_problems says"),
        ),
        pytest.param(
            {"requests": {"cpu": "1e1.5"}},
            'spec.resources.requests[cpu]: Invalid value: "1e1.5": unable to parse quantity\'s suffix',
            marks=rule("resources", "what resources._amount says"),
        ),
        pytest.param(
            {"requests": {"example.com/gpu": "1"}},
            "spec.resources.limits: Required value: Limit must be set for non overcommitable resources",
            marks=rule("resources", "Limit must be set for non overcommitable resources"),
        ),
        pytest.param(
            {"limits": {"example.com/gpu": "500m"}},
            'spec.resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer',
            marks=rule("resources", "must be an integer"),
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "3Mi"}},
            (
                'spec.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": '
                "3Mi is not positive integer multiple of hugepages-2Mi"
            ),
            marks=rule("resources", "<value> is not positive integer multiple of <name>"),
        ),
        pytest.param(
            {"claims": [{"name": "gpu"}]},
            (
                'spec.resources.claims[0]: Not found: "gpu": '
                "must be one of the names in pod.spec.resourceClaims which is empty"
            ),
            marks=rule("resources", "must be one of the names in pod.spec.resourceClaims which is empty"),
        ),
    ],
)
def test_resources_that_no_pod_may_carry_are_refused(resources: Any, said: str) -> None:
    assert created(resources=resources) == [said]


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": "0", "memory": "1Gi"}},
        {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}},
        {"limits": {"memory": "100Mi"}},
        {"requests": {"ephemeral-storage": "1Gi"}},
        {"limits": {"example.com/gpu": 2, "hugepages-2Mi": "4Mi"}},
    ],
)
def test_resources_that_a_pod_may_carry_are_admitted(resources: Any) -> None:
    assert created(resources=resources) == []


@rule("resources", "must not exceed maxAllowed")
def test_the_least_must_not_exceed_the_most_of_its_resource() -> None:
    scaling = {"minAllowed": {"cpu": "1001m", "memory": "1Gi"}, "maxAllowed": {"cpu": 1, "memory": "1024Mi"}}
    assert created(verticalAutoscaling=scaling) == [
        f'{BOUNDS}.minAllowed[cpu]: Invalid value: "1001m": must not exceed maxAllowed'
    ]


@pytest.mark.parametrize("missing", ["minAllowed", "maxAllowed"])
def test_one_bound_alone_is_admitted(missing: str) -> None:
    scaling = {"minAllowed": {"cpu": "5"}, "maxAllowed": {"cpu": "1"}}
    assert created(verticalAutoscaling={key: value for key, value in scaling.items() if key != missing}) == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param(
            "cpu",
            "1u",
            "must be a whole number of milli CPUs",
            marks=rule("resources", "must be a whole number of milli CPUs"),
        ),
        pytest.param(
            "memory",
            "1500m",
            "must be a whole number of bytes",
            marks=rule("resources", "must be a whole number of bytes"),
        ),
        ("memory", "1e1.5", "unable to parse quantity's suffix"),
    ],
)
def test_a_bound_that_the_autoscaler_refuses_is_refused(name: str, value: str, said: str) -> None:
    assert created(verticalAutoscaling={"maxAllowed": {name: value}}) == [
        f'{BOUNDS}.maxAllowed[{name}]: Invalid value: "{value}": {said}'
    ]


# --- all of them together, and those that are let through


def test_every_fault_is_in_one_answer_in_the_order_of_the_fields() -> None:
    bad: dict[str, Any] = {
        "targetClusterRef": {"name": ""},
        "extraConfig": {"DEFAULT": {"host": "x"}},
        "verticalAutoscaling": {"minAllowed": {"cpu": 2}, "maxAllowed": {"cpu": 1}},
        "resources": {"claims": [{"name": "x"}]},
        "updateStrategy": {"maxUnavailable": 0},
        "libvirt": {"cpuMode": "custom"},
        "image": {"tag": "1"},
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {},
        "novaRef": {"name": ""},
    }
    verdict = admission.review("CREATE", pool("a" * 64, **bad))
    assert [one.field for one in verdict.violations] == [
        "metadata.name",
        "spec.novaRef.name",
        "spec.nodeSelector",
        "spec.tolerations[0]",
        "spec.image.repository",
        "spec.libvirt.cpuModels",
        "spec.updateStrategy.maxUnavailable",
        "spec.resources.claims[0]",
        "spec.verticalAutoscaling.minAllowed[cpu]",
        "spec.extraConfig[DEFAULT][host]",
        "spec.targetClusterRef.name",
    ]


BAD = {"extraConfig": {"DEFAULT": {"host": "x"}}, "nodeSelector": {"bad key": "x"}}


def test_the_finalizer_of_a_pool_that_is_being_deleted_may_leave_whatever_its_spec_says() -> None:
    assert updated(pool(deleting=True, **BAD), pool(deleting=True, **BAD)) == []


def test_a_pool_that_is_being_deleted_is_judged_when_its_spec_changes() -> None:
    changed = pool(deleting=True, **BAD, libvirt={"cpuMode": "none"})
    assert len(updated(pool(deleting=True, **BAD), changed)) == 2


def test_a_pool_that_stays_is_judged_on_every_update() -> None:
    assert len(updated(pool(**BAD), pool(**BAD))) == 2
