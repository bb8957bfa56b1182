# SPDX-License-Identifier: Apache-2.0
"""Which tolerations let a pod stay on a node that openstack-hypervisor-operator takes out of service."""

from __future__ import annotations

from typing import Any

import pytest
import toleration_rows
from ansible_collections.c5c3.nova.plugins.filter import pool as filters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import tolerations
from unit.admission.reviews import created
from unit.rules import objects

rule = pytest.mark.rule
KEY = "kvm.cloud.sap/offboarding"
TOLERATES = (
    "tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute service only "
    "after every agent pod on the node is gone, and a nova-compute that stays re-registers it"
)

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "key equal, Exists, effect NoExecute or empty, any value": [
        {"key": KEY, "operator": "Exists", "effect": "NoExecute"},
        {"key": KEY, "operator": "Exists", "effect": ""},
        {"key": KEY, "operator": "Exists"},
        {"key": KEY, "operator": "Exists", "value": "anything"},
    ],
    "key empty, Exists, effect NoExecute or empty": [
        {"key": "", "operator": "Exists", "effect": "NoExecute"},
        {"key": "", "operator": "Exists", "effect": ""},
        {"operator": "Exists"},
    ],
    "key equal, Equal or no operator, no value": [
        {"key": KEY, "operator": "Equal", "value": "", "effect": "NoExecute"},
        {"key": KEY, "operator": "Equal"},
        {"key": KEY, "operator": "", "value": ""},
        {"key": KEY},
    ],
    "key equal, Equal or no operator, a value": [
        {"key": KEY, "operator": "Equal", "value": "x"},
        {"key": KEY, "operator": "", "value": "x"},
    ],
    "key empty, Equal or no operator, no value": [
        {"key": "", "operator": "Equal", "value": ""},
        {"operator": ""},
        {},
    ],
    "key empty, Equal or no operator, a value": [
        {"key": "", "operator": "Equal", "value": "x"},
        {"value": "x"},
    ],
    "another key, any operator": [
        {"key": "other", "operator": "Exists"},
        {"key": "other", "operator": "Equal"},
        {"key": "other"},
        {"key": KEY.upper(), "operator": "Exists"},
    ],
    "effect NoSchedule, PreferNoSchedule or unknown": [
        {"key": KEY, "operator": "Exists", "effect": "NoSchedule"},
        {"key": KEY, "operator": "Exists", "effect": "PreferNoSchedule"},
        {"operator": "Exists", "effect": "NoSchedule"},
        {"key": KEY, "operator": "Exists", "effect": "noexecute"},
    ],
    "operator Lt, Gt or unknown": [
        {"key": KEY, "operator": "Lt", "value": "1"},
        {"key": KEY, "operator": "Gt", "value": "1"},
        {"key": KEY, "operator": "exists"},
        {"key": KEY, "operator": "Nonsense"},
    ],
    "matching, with tolerationSeconds": [
        {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
        {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -5},
        {"operator": "Exists", "tolerationSeconds": 300},
    ],
}
EACH = [(row, toleration) for row, tolerations_of_it in EXAMPLES.items() for toleration in tolerations_of_it]


@pytest.mark.toleration("{row}")
@pytest.mark.parametrize(("row", "toleration"), EACH)
def test_a_pod_with_it_stays_or_leaves_as_its_row_says(row: str, toleration: dict[str, Any]) -> None:
    assert tolerations.tolerates_offboarding(toleration) is toleration_rows.ROWS[row]


@pytest.mark.toleration("{row}")
@pytest.mark.parametrize(("row", "toleration"), EACH)
def test_a_pool_with_it_is_refused_for_staying_if_a_pod_stays(row: str, toleration: dict[str, Any]) -> None:
    said = [one for one in created(tolerations=[toleration]) if TOLERATES in one]
    assert said == ([f"spec.tolerations[0]: Forbidden: {TOLERATES}"] if toleration_rows.ROWS[row] else [])


@pytest.mark.toleration("two matching, one of them with tolerationSeconds")
@rule("tolerations", TOLERATES)
@pytest.mark.parametrize("index", [0, 1])
def test_one_that_stays_counts_wherever_one_that_leaves_stands(index: int) -> None:
    stays = {"key": KEY, "operator": "Exists", "effect": "NoExecute"}
    both = [{**stays, "tolerationSeconds": 300}]
    both.insert(index, stays)
    assert created(tolerations=both) == [f"spec.tolerations[{index}]: Forbidden: {TOLERATES}"]


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "compute"},
        {"operator": "Exists", "effect": "NoSchedule"},
    ],
)
def test_a_toleration_that_lets_go_of_the_node_is_admitted(toleration: dict[str, Any]) -> None:
    assert created(tolerations=[toleration]) == []


@pytest.mark.parametrize(
    ("toleration", "said"),
    [
        pytest.param(
            {"key": "/a", "operator": "Exists"},
            '.key: Invalid value: "/a": prefix part must be non-empty',
            marks=rule("tolerations", "what labels.key_problems says"),
        ),
        pytest.param(
            {"value": "x"},
            (
                '.operator: Invalid value: "": operator must be Exists when `key` is empty, '
                'which means "match all values and all keys"'
            ),
            marks=rule(
                "tolerations",
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            ),
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "tolerationSeconds": 3},
            ".effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            marks=rule("tolerations", "effect must be 'NoExecute' when `tolerationSeconds` is set"),
        ),
        pytest.param(
            {"key": "a", "value": "x" * 64},
            f'.value: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            marks=rule("tolerations", "what labels.value_problems says"),
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "value": "x"},
            ".value: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
            marks=rule("tolerations", "value must be empty when `operator` is 'Exists'"),
        ),
        pytest.param(
            {"key": "a", "operator": "Gt", "value": "1"},
            '.operator: Unsupported value: "Gt": supported values: "Equal", "Exists"',
            marks=rule("tolerations", 'supported values: "Equal", "Exists"'),
        ),
        pytest.param(
            {"key": "a", "effect": "NoRun"},
            '.effect: Unsupported value: "NoRun": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            marks=rule("tolerations", 'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'),
        ),
    ],
)
def test_a_toleration_that_no_pod_may_carry_is_refused(toleration: dict[str, Any], said: str) -> None:
    assert created(tolerations=[toleration]) == [f"spec.tolerations[0]{said}"]


def test_toleration_that_got_past_admission_is_left_out_of_the_pod() -> None:
    keeps = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    evictable = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    assert tolerations.admissible([{"operator": "Exists"}, keeps, evictable]) == [keeps, evictable]


def test_owner_is_told_of_each_toleration_that_is_left_out_of_the_pod_and_of_no_other() -> None:
    given = [{"key": "a", "operator": "Exists"}, {"operator": "Exists"}, {"key": tolerations.TAINT_KEY}]
    assert tolerations.left_out(given, "spec.tolerations") == [
        f"spec.tolerations[{index}] is left out of the pods: it {TOLERATES}" for index in (1, 2)
    ]


def test_toleration_that_is_left_out_of_the_daemon_set_is_a_warning_of_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(filters.display, "warning", said.append)
    keeps = {"key": "a", "operator": "Exists"}
    for given, told in (([keeps], 0), ([keeps, {"operator": "Exists"}], 1)):
        values = filters.daemon_set_values(objects.novacompute(tolerations=given), "", {"installed_release": "2026.1"})
        assert (values["tolerations"], len(said)) == ([keeps], told)
    assert said[0].startswith("spec.tolerations[1] is left out of the pods: it tolerates ")
