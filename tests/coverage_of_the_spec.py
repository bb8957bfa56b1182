#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of the specification's tables beside the tests that make them happen; fails where one has none.

    python tests/coverage_of_the_spec.py [--short]

The rows are read from the product's own tables, from the CRD, and from `public_cases.py` and `toleration_rows.py`; the
tests from the marks in their source: nothing is run or collected. That a marked test really saw its condition or phase,
heard the message of its rule, or typed what stands on its page, is asserted when it runs, see the conftest.py files of
tests/e2e and tests/unit/admission. A mark of a case of `parametrize` counts too, and `{name}` in a mark stands for each
value that the test gets under that name, so that a row goes with the case that checks it.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import dataclasses
import functools
import itertools
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent

for _folder in (ROOT / "collections", ROOT / "operator", TESTS):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

import pages  # noqa: E402 - the folders are known only now
import public_cases  # noqa: E402 - the folders are known only now
import spec_rows  # noqa: E402 - the folders are known only now
import toleration_rows  # noqa: E402 - the folders are known only now
from ansible_collections.c5c3.nova.plugins.module_utils.rules import (  # noqa: E402 - the folders are known only now
    compute_config,
    conditions,
    vocabulary,
)

Row = tuple[str, ...]
MARKS = ("schema", "rule", "toleration", "owned_key", "condition", "event", "phase", "table", "case", "page")
#: What is known of a file's or a test's names without running it.
Known = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table: the mark that claims a row of it, the rows, and what a row is about where its name does not say."""

    title: str
    mark: str
    rows: Sequence[Row]
    about: Mapping[Row, str] = dataclasses.field(default_factory=dict)


@functools.cache
def tables() -> list[Table]:
    """The tables, from the code that holds them."""
    return [
        _schema_rules(),
        Table("Webhook rules", "rule", spec_rows.webhook_rules()),
        _tolerations(),
        _owned_keys(),
        Table("Conditions", "condition", [(row.type, row.reason) for row in conditions.REASONS]),
        Table("Events", "event", [(reason,) for reason in spec_rows.recorded_events()]),
        Table("Node phases", "phase", [(one,) for one in sorted(vocabulary.HELD_PHASES | {vocabulary.CONFLICT})]),
        Table("What reaches the pod: every volume, every owned key", "table", [("volumes",), ("owned keys",)]),
        _cases(),
        Table("Commands in the documentation", "page", [*pages.shell_sections(), *pages.commands_of_the_readme()]),
    ]


def _schema_rules() -> Table:
    found = spec_rows.schema_rules()
    about: dict[Row, str] = {row: message for row, message in found.items() if message}
    return Table("Schema rules", "schema", list(found), about)


def _tolerations() -> Table:
    about: dict[Row, str] = {
        (row,): "the pod stays" if stays else "the pod leaves" for row, stays in toleration_rows.ROWS.items()
    }
    return Table("Tolerations of the offboarding taint", "toleration", list(about), about)


def _owned_keys() -> Table:
    about: dict[Row, str] = {
        (owned.section, owned.key, "rejected" if owned.rejected else "reported"): owned.source
        for owned in compute_config.OWNED_KEYS
    }
    return Table("Owned keys", "owned_key", list(about), about)


def _cases() -> Table:
    about: dict[Row, str] = {(number,): f"{case.seen}: {case.right}" for number, case in public_cases.CASES.items()}
    return Table("Public cases", "case", list(about), about)


def marked_tests(folder: pathlib.Path = TESTS) -> dict[tuple[str, Row], list[str]]:
    """(mark, its arguments) to the names of the tests that carry it, in the order of their files."""
    found: dict[tuple[str, Row], list[str]] = collections.defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known = _constants(tree)
        for test in ast.walk(tree):
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                # Several cases of a test may check one row.
                for mark, row in dict.fromkeys(_marks(test.decorator_list, known)):
                    found[mark, row].append(f"{path.relative_to(folder).as_posix()}::{test.name}")
    return dict(found)


_NAME = re.compile(r"\{(\w+)\}")
#: The place of an item in a list; a row is about every item.
_INDEX = re.compile(r"\[\d+\]")


def _marks(decorators: Sequence[ast.expr], known: Known) -> Iterator[tuple[str, Row]]:
    given = [cases for decorator in decorators if (cases := _cases_of(decorator, known))]
    for call in itertools.chain.from_iterable(map(ast.walk, decorators)):
        if isinstance(call, ast.Call) and (mark := ast.unparse(call.func).removeprefix("pytest.mark.")) in MARKS:
            texts = [_evaluated(one, known) for one in call.args]
            if all(isinstance(text, str) for text in texts):
                yield from ((mark, row) for row in _filled(texts, given))


def _filled(texts: Sequence[str], given: Sequence[Sequence[Known]]) -> Iterator[Row]:
    """The row, once for each combination of what its ``{name}`` stand for; an unknown one is left as it is."""
    wanted = set(_NAME.findall(" ".join(texts)))
    for chosen in itertools.product(*(cases for cases in given if wanted & cases[0].keys())):
        values = {name: _INDEX.sub("[]", str(value)) for case in chosen for name, value in case.items()}
        yield tuple(_with(values, text) for text in texts)


def _with(values: Mapping[str, str], text: str) -> str:
    return _NAME.sub(lambda match: values.get(match[1], match[0]), text)


def _cases_of(decorator: ast.expr, known: Known) -> list[Known]:
    """What ``parametrize`` gives a test, case by case; None for what is known only when the test is collected."""
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "pytest.mark.parametrize":
        return []
    names, cases = _evaluated(decorator.args[0], known), decorator.args[1]
    several = not isinstance(names, str)
    if isinstance(cases, ast.List) and not any(isinstance(case, ast.Starred) for case in cases.elts):
        values = [[_evaluated(value, known) for value in _values(case, several=several)] for case in cases.elts]
    else:
        values = [list(case) if several else [case] for case in _evaluated(cases, known) or ()]
    return [dict(zip(names if several else [names], case, strict=False)) for case in values]


def _values(case: ast.expr, *, several: bool) -> Sequence[ast.expr]:
    if isinstance(case, ast.Call) and ast.unparse(case.func) == "pytest.param":
        return case.args
    return case.elts if several and isinstance(case, ast.Tuple) else [case]


def _constants(tree: ast.Module) -> Known:
    """What a file assigns to names, as far as it is plain data."""
    known: Known = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and (value := _evaluated(node.value, known)) is not None:
            known[target.id] = value
    return known


def _evaluated(node: ast.expr | None, known: Known) -> Any:
    """The value of an expression over what is known, None for another."""
    with contextlib.suppress(NameError):
        return node and eval(ast.unparse(node), {**known, "__builtins__": {}})
    return None


def holes(found: Mapping[tuple[str, Row], Sequence[str]]) -> list[str]:
    """What is wrong, a line each: a row without a test, a mark that names no row."""
    known = {(table.mark, row) for table in tables() for row in table.rows}
    missing = [f"no test: {_name(*one)}" for one in sorted(known) if one not in found]
    unknown = [f"no such row: {_name(*one)} in {tests[0]}" for one, tests in found.items() if one not in known]
    return missing + unknown


def _name(mark: str, row: Row) -> str:
    return f"{mark} {' '.join(row)}"


#: What a row takes in the report; a longer one has a line of its own.
_WIDTH = 58


def lines(found: Mapping[tuple[str, Row], Sequence[str]], *, short: bool) -> Iterator[str]:
    """The report."""
    for table in tables():
        covered = [row for row in table.rows if (table.mark, row) in found]
        yield f"{table.title}: {len(covered)} of {len(table.rows)} rows tested"
        for row in table.rows if not short else ():
            shown = found.get((table.mark, row)) or ["NO TEST"]
            if row in table.about:
                yield f"  {table.about[row]}"
            name = " ".join(row)
            if len(name) > _WIDTH:
                yield f"  {name}"
                name = ""
            yield f"  {name:<{_WIDTH}} {shown[0]}"
            yield from (f"  {'':<{_WIDTH}} {test}" for test in shown[1:])


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
