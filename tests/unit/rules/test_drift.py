# SPDX-License-Identifier: Apache-2.0
"""A settled pass writes nothing, and a changed definition or a foreign hand is put right."""

from __future__ import annotations

import copy
from typing import Any

import pytest
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


@pytest.mark.parametrize("empty", ["", [], {}], ids=["text", "list", "map"])
def test_what_is_empty_is_the_same_as_what_is_absent(empty: Any) -> None:
    definition = drift.stamped({"metadata": {}, "spec": {"tolerations": [{"key": empty, "operator": "Exists"}]}})
    assert drift.is_applied({**definition, "spec": {"tolerations": [{"operator": "Exists"}]}}, definition)


@pytest.mark.parametrize(("empty", "full"), [("", "a"), ([], ["a"]), ({}, ["a"]), ("", ["a"])])
def test_what_somebody_else_put_where_nothing_was_to_be_is_drift(empty: Any, full: Any) -> None:
    definition = drift.stamped({"metadata": {}, "spec": {"field": empty}})
    assert not drift.is_applied({**definition, "spec": {"field": full}}, definition)


@pytest.mark.parametrize("value", [0, False])
def test_zero_and_false_are_not_the_same_as_what_is_absent(value: Any) -> None:
    definition = drift.stamped({"metadata": {}, "spec": {"tolerationSeconds": value}})
    assert not drift.is_applied({**definition, "spec": {}}, definition)


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
