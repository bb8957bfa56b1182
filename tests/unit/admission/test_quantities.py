# SPDX-License-Identifier: Apache-2.0
"""Quantities, read as Kubernetes reads them."""

from __future__ import annotations

import fractions
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import quantities

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", 1),
        ("1", "1000m"),
        ("1", "+1."),
        (".5", "500m"),
        ("1Ki", "1024"),
        ("1k", "1e3"),
        ("1E", "1e18"),
        ("1E3", "1k"),
        ("1.5Gi", "1536Mi"),
        ("1e-3", "1m"),
        ("-0", "0"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("16Ei", str(LARGEST)),
        ("-16Ei", str(-LARGEST)),
        ("00012", "12"),
    ],
)
def test_spellings_of_one_amount_are_equal(left: Any, right: Any) -> None:
    assert quantities.parse(left) == quantities.parse(right)


def test_only_binary_amounts_end_at_the_largest_number() -> None:
    assert quantities.parse("16E") == fractions.Fraction(16 * 10**18)


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "1x", "1 Gi", "1gi", "1Kib", "--1", "1e", "e1", ".", "0x1", "1_0", "\u0661", None, True, 1.5, []],
)
def test_what_is_no_quantity_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        quantities.parse(text)


@pytest.mark.parametrize("text", ["1e1.5", "1E+.5", "1e100000000000"])
def test_an_exponent_that_is_no_whole_number_in_reach_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse quantity's suffix"):
        quantities.parse(text)


@pytest.mark.parametrize(("text", "thousandths"), [("1n", 1), ("-1n", -1), ("1.0001", 1001), ("2m", 2), ("0", 0)])
def test_a_pod_knows_nothing_finer_than_a_thousandth(text: str, thousandths: int) -> None:
    assert quantities.parse_for_pod(text) == fractions.Fraction(thousandths, 1000)
