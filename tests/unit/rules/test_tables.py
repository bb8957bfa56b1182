# SPDX-License-Identifier: Apache-2.0
"""Columns of text for a terminal."""

from __future__ import annotations

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils import tables
from ansible_collections.c5c3.nova.plugins.module_utils.tables import Cell, Style
from hypothesis import given
from hypothesis import strategies as st


def test_columns_are_as_wide_as_their_widest_text() -> None:
    assert tables.columns(("NODE", "PHASE"), [["compute-1", "Active"], ["c2", "Draining"]]) == [
        "NODE        PHASE",
        "compute-1   Active",
        "c2          Draining",
    ]


def test_last_column_is_cut_at_the_width() -> None:
    assert tables.columns((), [["a", "0123456789"]], width=10) == ["a   01234…"]


def test_colour_moves_no_column() -> None:
    row = [Cell("Active", Style.GOOD), "x"]
    assert tables.columns((), [row], colour=True) == ["\x1b[32mActive\x1b[0m   x"]
    assert tables.columns((), [row]) == ["Active   x"]


def test_wide_characters_take_two_columns() -> None:
    assert tables.columns((), [["節点", "x"], ["ab", "y"]]) == ["節点   x", "ab     y"]


@pytest.mark.parametrize("text", ["\x1b[2J", "a\u202eb", "\x9b1m", "\u2066x"])
def test_nothing_of_a_resource_is_an_order_to_the_terminal(text: str) -> None:
    assert not any(mark in tables.columns((), [[text]])[0] for mark in "\x1b\x9b\u202e\u2066")


@given(st.text(), st.integers(min_value=0, max_value=30))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert tables.width_of(tables.cut(tables.printable(text), width)) <= width


@pytest.mark.parametrize(
    ("done", "drawn"), [(-1.0, "░░░░"), (0.0, "░░░░"), (0.5, "██░░"), (1.0, "████"), (2.0, "████")]
)
def test_bar_is_filled_by_the_share(done: float, drawn: str) -> None:
    assert tables.progress_bar(done, 4) == drawn
