# SPDX-License-Identifier: Apache-2.0
"""Who a container runs as and what it may do."""

from __future__ import annotations

from typing import Any

import pytest
from novalab.agent import environment, kernel, security

EVERY = frozenset(kernel.CAPABILITIES)


def describe(own: dict[str, Any], pod: dict[str, Any] | None = None) -> dict[str, Any]:
    return security.describe({"securityContext": pod or {}}, {"securityContext": own}, EVERY)


def test_container_without_a_context_is_root_with_the_usual_capabilities() -> None:
    made = describe({})
    assert (made["uid"], set(made["capabilities"])) == (0, security.DEFAULT_CAPABILITIES)


def test_own_context_wins_over_that_of_the_pod() -> None:
    assert describe({"runAsUser": 5}, {"runAsUser": 4, "runAsGroup": 3})["uid"] == 5


def test_context_of_the_pod_counts_where_there_is_no_own() -> None:
    assert describe({"runAsUser": 5}, {"runAsUser": 4, "runAsGroup": 3})["gid"] == 3


def test_user_zero_of_its_own_is_not_taken_for_none() -> None:
    assert describe({"runAsUser": 0}, {"runAsUser": 4})["uid"] == 0


def test_capability_is_named_with_or_without_its_prefix() -> None:
    context = {"capabilities": {"drop": ["all"], "add": ["CAP_DAC_OVERRIDE"]}}
    assert describe(context)["capabilities"] == ["DAC_OVERRIDE"]


def test_capability_that_no_kernel_knows_is_left_out() -> None:
    assert describe({"capabilities": {"drop": ["ALL"], "add": ["MAGIC"]}})["capabilities"] == []


def test_root_is_refused_where_only_others_may_run() -> None:
    with pytest.raises(environment.ConfigError, match="runAsNonRoot"):
        describe({}, {"runAsNonRoot": True})


def test_file_system_group_and_more_groups_are_joined() -> None:
    assert describe({}, {"fsGroup": 7, "supplementalGroups": [8, 9]})["groups"] == [7, 8, 9]
