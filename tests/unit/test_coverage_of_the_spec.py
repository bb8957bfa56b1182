# SPDX-License-Identifier: Apache-2.0
"""Every row of the specification's tables has a test, and the script that says so would notice if one had none."""

from __future__ import annotations

import pathlib

import coverage_of_the_spec as coverage
import pytest

Found = dict[tuple[str, coverage.Row], list[str]]


@pytest.fixture(scope="module")
def found() -> Found:
    return coverage.marked_tests()


def test_no_row_is_without_a_test_and_no_mark_without_a_row(found: Found) -> None:
    assert coverage.holes(found) == []


def test_row_without_a_test_is_a_hole(found: Found) -> None:
    gone = ("condition", ("NovaReady", "NovaNotFound"))
    left = {one: tests for one, tests in found.items() if one != gone}
    assert coverage.holes(left) == ["no test: condition NovaReady NovaNotFound"]


def test_mark_that_names_no_row_is_a_hole(found: Found) -> None:
    more = {**found, ("event", ("NoSuchEvent",)): ["test_x.py::test_x"]}
    assert coverage.holes(more) == ["no such row: event NoSuchEvent in test_x.py::test_x"]


def test_marks_are_read_from_the_source(tmp_path: pathlib.Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n"
        "condition = pytest.mark.condition\n"
        "@condition('NovaReady', 'NovaError')\n"
        "@pytest.mark.event('NodeConflict')\n"
        "@pytest.mark.parametrize('x', [1])\n"
        "def test_one(x): ...\n"
    )
    assert coverage.marked_tests(tmp_path) == {
        ("condition", ("NovaReady", "NovaError")): ["test_a.py::test_one"],
        ("event", ("NodeConflict",)): ["test_a.py::test_one"],
    }


def test_events_are_those_that_modules_record() -> None:
    assert {"AggregateKept", "ComputeServiceDeleted", "NodeConflict"} <= set(coverage.recorded_events())
