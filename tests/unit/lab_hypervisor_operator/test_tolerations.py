# SPDX-License-Identifier: Apache-2.0
"""The rule by which a pod stays in spite of the offboarding taint, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from novalab.hypervisor_operator import agent_pods, tolerations
from unit.lab_hypervisor_operator import memory

KEY = "kvm.cloud.sap/offboarding"


@pytest.mark.parametrize(
    ("toleration", "matches"),
    [
        ({"key": KEY, "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": KEY, "operator": "Exists"}, True),
        ({"key": KEY, "operator": "Exists", "value": "anything"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"operator": "Exists"}, True),
        ({"key": KEY, "operator": "Equal", "value": ""}, True),
        ({"key": KEY}, True),
        ({"key": KEY, "operator": "Equal", "value": "x"}, False),
        ({"key": KEY, "value": "x"}, False),
        ({"operator": "Equal", "value": ""}, True),
        ({}, True),
        ({"operator": "Equal", "value": "x"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "other", "operator": "Equal"}, False),
        ({"key": KEY.upper(), "operator": "Exists"}, False),
        ({"key": KEY, "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": KEY, "operator": "Exists", "effect": "PreferNoSchedule"}, False),
        ({"key": KEY, "operator": "Lt", "value": "1"}, False),
        ({"key": KEY, "operator": "Gt", "value": "1"}, False),
        ({"key": KEY, "operator": "Unknown"}, False),
        ({"key": KEY, "operator": "exists"}, False),
    ],
)
def test_toleration_matches_the_taint(toleration: dict[str, Any], matches: bool) -> None:  # noqa: FBT001
    assert tolerations.matches(toleration) is matches
    assert tolerations.tolerates_for_ever(memory.pod("p", toleration)) is matches


@pytest.mark.parametrize("seconds", [300, 0, -5])
def test_toleration_for_a_time_is_none(seconds: int) -> None:
    limited = {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    assert tolerations.matches(limited)
    assert not tolerations.tolerates_for_ever(memory.pod("p", limited))


@pytest.mark.parametrize("order", [1, -1])
def test_one_toleration_without_a_time_is_enough_in_either_order(order: int) -> None:
    both = [{"operator": "Exists", "tolerationSeconds": 300}, {"key": KEY, "operator": "Exists"}]
    assert tolerations.tolerates_for_ever(memory.pod("p", *both[::order]))


def test_pod_of_a_daemon_set_does_not_tolerate_by_default() -> None:
    own = [
        {"key": f"node.kubernetes.io/{problem}", "operator": "Exists", "effect": "NoExecute"}
        for problem in ("not-ready", "unreachable")
    ]
    assert agent_pods.counts(memory.pod("p", *own))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pod_does_not_count(phase: str) -> None:
    assert not agent_pods.counts(memory.pod("p", phase=phase))


def test_pod_that_is_being_deleted_counts() -> None:
    assert agent_pods.counts(memory.pod("p", deleting=True))
