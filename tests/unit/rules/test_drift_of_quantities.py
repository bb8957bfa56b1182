# SPDX-License-Identifier: Apache-2.0
"""The API server spells quantities its own way: that is no drift."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import drift


def is_applied(live: Any, wanted: Any, *, block: str = "limits") -> bool:
    definition = drift.stamped({"metadata": {}, "spec": {"resources": {block: {"r": wanted}}}})
    stored = copy.deepcopy(definition)
    stored["spec"]["resources"][block]["r"] = live
    return drift.is_applied(stored, definition)


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ("500m", "500m"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        ("1e3", "1k"),
        ("0.1Ei", "0.1Ei"),
        (0, "0"),
        (2, "2"),
        ("2000m", "2"),
        ("100n", "0.1u"),
        # A pod keeps whole thousandths, of memory too: what is finer is rounded up.
        ("100n", "1m"),
        ("1u", "1m"),
        ("1.0001", "1001m"),
        ("1500m", "1500m"),
        ("1500500u", "1501m"),
        ("0.5e-3", "1m"),
        ("no quantity", "no quantity"),
    ],
)
@pytest.mark.parametrize("block", ["requests", "limits"])
def test_same_amount_is_the_same(wanted: Any, live: Any, block: str) -> None:
    assert is_applied(live, wanted, block=block)


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ("1Gi", "1G"),
        ("0.5", "501m"),
        ("100n", "2m"),
        ("0", "1m"),
        ("1500m", "2"),
        ("1500m", "1501m"),
        ("0", "1"),
        ("1", "1m"),
        ("1M", "1m"),
        ("no quantity", "other"),
        ("1.2.3", "1"),
        ("1e99999999999", "1"),
    ],
)
def test_another_amount_is_drift(wanted: Any, live: Any) -> None:
    assert not is_applied(live, wanted)


def test_quantity_that_is_gone_is_drift() -> None:
    definition = drift.stamped({"metadata": {}, "spec": {"limits": {"cpu": "1"}}})
    assert not drift.is_applied({**definition, "spec": {"limits": {}}}, definition)
    assert not drift.is_applied({**definition, "spec": {}}, definition)


def test_text_elsewhere_is_compared_as_it_is_written() -> None:
    definition = drift.stamped({"metadata": {}, "spec": {"value": "1024Mi"}})
    assert not drift.is_applied({**definition, "spec": {"value": "1Gi"}}, definition)
