# SPDX-License-Identifier: Apache-2.0
"""Every row of the specification's tables has a test, and the script that says so would notice if one had none."""

from __future__ import annotations

import pathlib

import coverage_of_the_spec as coverage
import pytest
import spec_rows
from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission

Found = dict[tuple[str, coverage.Row], list[str]]


@pytest.fixture(scope="module")
def found() -> Found:
    return coverage.marked_tests()


def test_no_row_is_without_a_test_and_no_mark_without_a_row(found: Found) -> None:
    assert coverage.holes(found) == []


@pytest.mark.parametrize(
    ("mark", "row"),
    [
        ("schema", ("spec.traits[]", "maxLength")),
        ("schema", ("spec", "self.novaRef.name == oldSelf.novaRef.name")),
        ("rule", ("admission", "nodeSelector must carry at least one label")),
        ("toleration", ("another key, any operator",)),
        ("owned_key", ("DEFAULT", "host", "rejected")),
        ("owned_key", ("libvirt", "virt_type", "reported")),
        ("condition", ("NovaReady", "NovaNotFound")),
    ],
)
def test_row_without_a_test_is_a_hole(found: Found, mark: str, row: coverage.Row) -> None:
    left = {one: tests for one, tests in found.items() if one != (mark, row)}
    assert set(coverage.holes(left)) - set(coverage.holes(found)) == {f"no test: {mark} {' '.join(row)}"}


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


def marked(folder: pathlib.Path, source: str) -> list[coverage.Row]:
    """The rows that a test claims."""
    (folder / "test_a.py").write_text(source)
    return [row for _, row in coverage.marked_tests(folder)]


def test_mark_of_one_case_counts(tmp_path: pathlib.Path) -> None:
    source = (
        "@pytest.mark.parametrize('x', [pytest.param(f(1), marks=pytest.mark.schema('spec.a', 'enum')), f(2)])\n"
        "def test_one(x): ...\n"
    )
    assert marked(tmp_path, source) == [("spec.a", "enum")]


@pytest.mark.parametrize(
    "cases",
    [
        "[('spec.a[0]', 'enum', f(1)), ('spec.b', 'default', f(2))]",
        "[pytest.param('spec.a[0]', 'enum', f(1), id='a'), ('spec.b', 'default', f(2))]",
        "CASES",
        "[(*case, 1) for case in CASES]",
        "LESS + [('spec.b', 'default', 2)]",
    ],
)
def test_name_in_a_mark_stands_for_what_each_case_gives_the_test(tmp_path: pathlib.Path, cases: str) -> None:
    source = (
        "CASES = [('spec.a[0]', 'enum'), ('spec.b', 'default')]\n"
        "LESS: list = CASES[:1]\n"
        "@pytest.mark.schema('{path}', '{keyword}')\n"
        f"@pytest.mark.parametrize(('path', 'keyword', 'value'), {cases})\n"
        "def test_one(path, keyword, value): ...\n"
    )
    assert marked(tmp_path, source) == [("spec.a[]", "enum"), ("spec.b", "default")]


def test_names_of_two_parametrizations_are_combined(tmp_path: pathlib.Path) -> None:
    source = (
        "@pytest.mark.schema('spec.{one}.{other}', 'enum')\n"
        "@pytest.mark.parametrize('one', ['a', 'b'])\n"
        "@pytest.mark.parametrize('other', {'c': 1, 'd': 2})\n"
        "@pytest.mark.parametrize('neither', [1, 2, 3])\n"
        "def test_one(one, other, neither): ...\n"
    )
    paths = ["spec.a.c", "spec.a.d", "spec.b.c", "spec.b.d"]
    assert marked(tmp_path, source) == [(path, "enum") for path in paths]


def test_name_that_is_not_known_without_running_claims_no_row(tmp_path: pathlib.Path) -> None:
    source = "@pytest.mark.schema('{path}', 'enum')\n@pytest.mark.parametrize('path', f())\ndef test_one(path): ...\n"
    assert coverage.holes({("schema", row): ["t"] for row in marked(tmp_path, source)})[-1] == (
        "no such row: schema {path} enum in t"
    )


def test_events_are_those_that_modules_record() -> None:
    assert {"AggregateKept", "ComputeServiceDeleted", "NodeConflict"} <= set(spec_rows.recorded_events())


def test_schema_rules_are_the_keywords_and_the_rules_of_the_crd() -> None:
    found = spec_rows.schema_rules()
    assert {("spec.novaRef", "required"), ("spec.traits[]", "pattern"), ("status.nodes[].phase", "enum")} <= set(found)
    assert found["spec.image", "has(self.tag) != has(self.digest)"] == (
        "exactly one of image.tag or image.digest must be set"
    )
    assert ("spec.tolerations", "x-kubernetes-list-type") not in found


def test_webhook_rules_are_the_messages_of_the_violations_with_names_for_what_is_filled_in() -> None:
    assert {
        ("admission", "novaRef is immutable"),
        # Of a constant, of a function's result, of a comprehension's, of a function elsewhere, and of supported values.
        ("admission", admission.NAME_TOO_LONG),
        ("compute_config", "extraConfig <part> must not contain a newline or carriage return<others>"),
        ("extra_config", "<key> is managed via <source> and must not be set in extraConfig (<impact>)"),
        ("tolerations", "what labels.value_problems says"),
        ("resources", "what resources._amount says"),
        ("tolerations", 'supported values: "Equal", "Exists"'),
    } <= set(spec_rows.webhook_rules())


@pytest.mark.parametrize(
    ("message", "text", "fits"),
    [
        ("<key> is managed", "host is managed", True),
        ("<key> is managed", "host is managed by", False),
        ("supported values: (a)", "supported values: (a)", True),
        ("what labels.key_problems says", "anything", True),
    ],
)
def test_message_of_a_rule_fits_what_it_says(message: str, text: str, *, fits: bool) -> None:
    assert bool(spec_rows.pattern(message).fullmatch(text)) is fits
