# SPDX-License-Identifier: Apache-2.0
"""Which tolerations let a pod stay on a node that openstack-hypervisor-operator takes out of service."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import tolerations
from unit.admission.reviews import created

KEY = "kvm.cloud.sap/offboarding"
TOLERATES = (
    "tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute service only "
    "after every agent pod on the node is gone, and a nova-compute that stays re-registers it"
)

STAYS = [
    {"key": KEY, "operator": "Exists", "effect": "NoExecute"},
    {"key": KEY, "operator": "Exists", "effect": ""},
    {"key": KEY, "operator": "Exists"},
    {"key": KEY, "operator": "Exists", "value": "anything"},
    {"key": "", "operator": "Exists", "effect": "NoExecute"},
    {"key": "", "operator": "Exists", "effect": ""},
    {"operator": "Exists"},
    {"key": KEY, "operator": "Equal", "value": "", "effect": "NoExecute"},
    {"key": KEY, "operator": "Equal"},
    {"key": KEY, "operator": "", "value": ""},
    {"key": KEY},
    {"key": "", "operator": "Equal", "value": ""},
    {"operator": ""},
    {},
]
LEAVES = [
    {"key": KEY, "operator": "Equal", "value": "x"},
    {"key": KEY, "operator": "", "value": "x"},
    {"key": "", "operator": "Equal", "value": "x"},
    {"value": "x"},
    {"key": "other", "operator": "Exists"},
    {"key": "other", "operator": "Equal"},
    {"key": "other"},
    {"key": KEY.upper(), "operator": "Exists"},
    {"key": KEY, "operator": "Exists", "effect": "NoSchedule"},
    {"key": KEY, "operator": "Exists", "effect": "PreferNoSchedule"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"key": KEY, "operator": "Exists", "effect": "noexecute"},
    {"key": KEY, "operator": "Lt", "value": "1"},
    {"key": KEY, "operator": "Gt", "value": "1"},
    {"key": KEY, "operator": "exists"},
    {"key": KEY, "operator": "Nonsense"},
    *(
        {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": number}
        for number in (300, 0, -5)
    ),
    {"operator": "Exists", "tolerationSeconds": 300},
]


@pytest.mark.parametrize("toleration", STAYS)
def test_a_pod_with_it_stays(toleration: dict[str, Any]) -> None:
    assert tolerations.tolerates_offboarding(toleration)


@pytest.mark.parametrize("toleration", LEAVES)
def test_a_pod_with_it_leaves(toleration: dict[str, Any]) -> None:
    assert not tolerations.tolerates_offboarding(toleration)


@pytest.mark.parametrize("toleration", STAYS)
def test_a_pool_with_it_is_refused(toleration: dict[str, Any]) -> None:
    assert f"spec.tolerations[0]: Forbidden: {TOLERATES}" in created(tolerations=[toleration])


@pytest.mark.parametrize("toleration", LEAVES)
def test_a_pool_with_it_is_not_refused_for_staying(toleration: dict[str, Any]) -> None:
    assert TOLERATES not in "".join(created(tolerations=[toleration]))


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
        (
            {"value": "x"},
            (
                '.operator: Invalid value: "": operator must be Exists when `key` is empty, '
                'which means "match all values and all keys"'
            ),
        ),
        (
            {"key": "a", "operator": "Exists", "tolerationSeconds": 3},
            ".effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
        (
            {"key": "a", "operator": "Exists", "value": "x"},
            ".value: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
        ),
        (
            {"key": "a", "operator": "Gt", "value": "1"},
            '.operator: Unsupported value: "Gt": supported values: "Equal", "Exists"',
        ),
        (
            {"key": "a", "effect": "NoRun"},
            '.effect: Unsupported value: "NoRun": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        ),
    ],
)
def test_a_toleration_that_no_pod_may_carry_is_refused(toleration: dict[str, Any], said: str) -> None:
    assert created(tolerations=[toleration]) == [f"spec.tolerations[0]{said}"]


def test_toleration_that_got_past_admission_is_left_out_of_the_pod() -> None:
    keeps = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    evictable = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    assert tolerations.admissible([{"operator": "Exists"}, keeps, evictable]) == [keeps, evictable]
