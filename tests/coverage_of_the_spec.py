#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of the specification's tables beside the tests that make them happen; fails where one has none.

    python tests/coverage_of_the_spec.py [--short]

The rows are read from the product's own tables and from `public_cases.py`, the tests from the marks in their source
(`condition`, `event`, `phase`, `table`, `case`, `page`): nothing is run or collected. That a marked test really saw its
condition or phase, or typed what stands on its page, is asserted when it runs, see the conftest.py files of tests/e2e.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
COLLECTION = ROOT / "collections" / "ansible_collections" / "c5c3" / "nova"

for _folder in (ROOT / "collections", ROOT / "operator", TESTS):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

import pages  # noqa: E402 - the folders are known only now
import public_cases  # noqa: E402 - the folders are known only now
from ansible_collections.c5c3.nova.plugins.module_utils.rules import (  # noqa: E402 - the folders are known only now
    compute_config,
    conditions,
    vocabulary,
)

Row = tuple[str, ...]
MARKS = ("condition", "event", "phase", "table", "case", "page")


@dataclasses.dataclass(frozen=True)
class Table:
    """A table: the mark that claims a row of it, the rows, and what a row is about where its name does not say."""

    title: str
    mark: str
    rows: Sequence[Row]
    about: Mapping[Row, str] = dataclasses.field(default_factory=dict)


def tables() -> list[Table]:
    """The tables, from the code that holds them."""
    return [
        Table("Conditions", "condition", [(row.type, row.reason) for row in conditions.REASONS]),
        Table("Events", "event", [(reason,) for reason in recorded_events()]),
        Table("Node phases", "phase", [(one,) for one in sorted(vocabulary.HELD_PHASES | {vocabulary.CONFLICT})]),
        Table(f"Owned keys ({len(compute_config.OWNED_KEYS)})", "table", [("owned keys",)]),
        Table("Volumes of the pod", "table", [("volumes",)]),
        _cases(),
        Table("Commands in the documentation", "page", pages.shell_sections()),
    ]


def _cases() -> Table:
    about = {(number,): f"{case.seen}: {case.right}" for number, case in public_cases.CASES.items()}
    return Table("Public cases", "case", list(about), about)


def recorded_events(folder: pathlib.Path = COLLECTION / "plugins" / "modules") -> list[str]:
    """The reasons of the events that modules record, sorted."""
    found = {
        argument.value
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "record_event"
        for argument in node.args[2:3]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    return sorted(found)


def marked_tests(folder: pathlib.Path = TESTS) -> dict[tuple[str, Row], list[str]]:
    """(mark, its arguments) to the names of the tests that carry it, in the order of their files."""
    found: dict[tuple[str, Row], list[str]] = collections.defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
                continue
            for mark, row in _marks(test.decorator_list):
                found[mark, row].append(f"{path.relative_to(folder).as_posix()}::{test.name}")
    return dict(found)


def _marks(decorators: Iterable[ast.expr]) -> Iterator[tuple[str, Row]]:
    for decorator in decorators:
        if not isinstance(decorator, ast.Call):
            continue
        name = ast.unparse(decorator.func).removeprefix("pytest.mark.")
        texts = [one.value for one in decorator.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in MARKS and len(texts) == len(decorator.args):
            yield name, tuple(texts)


def holes(found: Mapping[tuple[str, Row], Sequence[str]]) -> list[str]:
    """What is wrong, a line each: a row without a test, a mark that names no row."""
    known = {(table.mark, row) for table in tables() for row in table.rows}
    missing = [f"no test: {_name(*one)}" for one in sorted(known) if one not in found]
    unknown = [f"no such row: {_name(*one)} in {tests[0]}" for one, tests in found.items() if one not in known]
    return missing + unknown


def _name(mark: str, row: Row) -> str:
    return f"{mark} {' '.join(row)}"


def lines(found: Mapping[tuple[str, Row], Sequence[str]], *, short: bool) -> Iterator[str]:
    """The report."""
    for table in tables():
        covered = [row for row in table.rows if (table.mark, row) in found]
        yield f"{table.title}: {len(covered)} of {len(table.rows)} rows tested"
        for row in table.rows if not short else ():
            shown = found.get((table.mark, row)) or ["NO TEST"]
            if row in table.about:
                yield f"  {table.about[row]}"
            yield f"  {' '.join(row):<58} {shown[0]}"
            yield from (f"  {'':<58} {test}" for test in shown[1:])


def main() -> int:
    """Print the report; returns the exit code."""
    parser = argparse.ArgumentParser(description="The specification's rows beside their tests.")
    parser.add_argument("--short", action="store_true", help="the counts and the holes alone")
    found = marked_tests()
    print("\n".join(lines(found, short=parser.parse_args().short)))
    wrong = holes(found)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
