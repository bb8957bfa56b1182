# SPDX-License-Identifier: Apache-2.0
"""The one list of custom traits that a node is to carry."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import traits

POOL = ["CUSTOM_B", "CUSTOM_A"]


@pytest.mark.parametrize(
    ("entry", "desired"),
    [
        (None, ["CUSTOM_A", "CUSTOM_B"]),
        ({"traits": ["CUSTOM_C"]}, ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]),
        ({"traits": ["CUSTOM_C"], "mode": "Append"}, ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]),
        ({"traits": ["CUSTOM_B"], "mode": "Append"}, ["CUSTOM_A", "CUSTOM_B"]),
        ({"traits": ["CUSTOM_C"], "mode": "Replace"}, ["CUSTOM_C"]),
        ({"mode": "Replace"}, []),
    ],
    ids=["no entry", "default mode", "append", "append twice", "replace", "clear"],
)
def test_list_of_a_node(entry: dict[str, Any] | None, desired: list[str]) -> None:
    host_traits = [] if entry is None else [{"nodeName": "node-1", **entry}]
    assert traits.desired({"traits": POOL, "hostTraits": host_traits}, "node-1") == desired


def test_entry_of_another_node_changes_nothing() -> None:
    spec = {"traits": POOL, "hostTraits": [{"nodeName": "node-2", "mode": "Replace"}]}
    assert traits.desired(spec, "node-1") == ["CUSTOM_A", "CUSTOM_B"]


def test_pool_that_declares_none_desires_none() -> None:
    assert traits.desired({}, "node-1") == []


def test_underscore_sorts_after_letters_and_digits_before_them() -> None:
    given = ["CUSTOM_A_B", "CUSTOM_AZ", "CUSTOM_A0", "CUSTOM_A"]
    assert traits.desired({"traits": given}, "n") == ["CUSTOM_A", "CUSTOM_A0", "CUSTOM_AZ", "CUSTOM_A_B"]
