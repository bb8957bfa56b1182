# SPDX-License-Identifier: Apache-2.0
"""A settled pass writes nothing, and a changed definition or a foreign hand is put right."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import drift

DEFINITION: dict[str, Any] = {
    "metadata": {"name": "pool-a-nova-compute"},
    "spec": {"limits": {"cpu": "1", "memory": "768Mi"}, "terms": [{"key": "a"}, {"key": "b"}], "tolerations": []},
}


def live_object() -> dict[str, Any]:
    """What the API server stores of the definition: empty lists gone, its own fields added."""
    live = copy.deepcopy(drift.stamped(DEFINITION))
    del live["spec"]["tolerations"]
    live["metadata"]["uid"] = "1"
    live["spec"]["terms"][0]["default"] = True
    return live


def test_object_that_says_all_of_the_definition_is_applied() -> None:
    assert drift.is_applied(live_object(), drift.stamped(DEFINITION))


def test_absent_object_is_not_applied() -> None:
    assert not drift.is_applied(None, drift.stamped(DEFINITION))


def test_value_changed_by_somebody_else_is_drift() -> None:
    live = live_object()
    live["spec"]["limits"]["memory"] = "1Gi"
    assert not drift.is_applied(live, drift.stamped(DEFINITION))


def test_list_item_added_by_somebody_else_is_drift() -> None:
    live = live_object()
    live["spec"]["terms"].append({"key": "c"})
    assert not drift.is_applied(live, drift.stamped(DEFINITION))


def test_field_gone_from_the_definition_is_a_change() -> None:
    smaller = copy.deepcopy(DEFINITION)
    del smaller["spec"]["limits"]["cpu"]
    assert not drift.is_applied(live_object(), drift.stamped(smaller))


def test_stamp_leaves_the_definition_alone() -> None:
    before = copy.deepcopy(DEFINITION)
    drift.stamped(DEFINITION)
    assert before == DEFINITION
