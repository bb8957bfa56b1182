# SPDX-License-Identifier: Apache-2.0
"""Writes docs/conditions.md from the table in the code, so that what an owner reads and what a pass says cannot part.

`python docs/conditions.py --write` writes the file; without `--write` the text goes to the standard output.
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, vocabulary

TESTS = pathlib.Path(__file__).resolve().parents[1] / "tests"
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

import coverage_of_the_spec  # noqa: E402 - the folder is known only now

FILE = pathlib.Path(__file__).with_suffix(".md")

#: (mark, its arguments) to the tests that carry it.
Tests = Mapping[tuple[str, tuple[str, ...]], Sequence[str]]

LATER_STEPS = {
    conditions.Flow.READY: "run",
    conditions.Flow.CONTINUES: "run",
    conditions.Flow.STOPS: "do not run; their conditions keep what they said",
}
ABOUT = {
    conditions.NOVA: "The Nova that the pool joins.",
    conditions.NODES: "The nodes that the pool selects and holds.",
    conditions.CONFIG: "compute-pool.conf and the compute contract.",
    conditions.DAEMON_SET: "The pods of nova-compute.",
    conditions.VPA: "The VerticalPodAutoscaler of a pool that opts in.",
    conditions.AGGREGATES: "The host aggregates of the pool's zones, and `tenant_filter_tests`.",
    conditions.TRAITS: "The custom traits that the pool declares.",
    conditions.SERVICES: "The compute services of the nodes, and the drain.",
    conditions.EXTRA_CONFIG: "What the owner writes over in `spec.extraConfig`. It does not count for `Ready`.",
    conditions.READY: "All of the eight above at once.",
}
INTRODUCTION = f"""\
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written from the code. To change it, change rules/conditions.py and run: python docs/conditions.py --write -->
# Conditions of a NovaCompute

A pass takes eight steps, and each records one condition, in the order of this page. A step that waits, or that failed,
can end the pass: the conditions of the steps after it then keep what they said, with the `observedGeneration` they had.
`Ready` is True when all eight are.

A reason without a time of its own leaves it to the others: the pool is looked at again after the shortest time that any
step asked for. A node that is Releasing, or was dropped in this pass, asks for {vocabulary.LOOK_AT_RELEASING:.0f} s,
a Draining or Pending one for {vocabulary.LOOK_AT_DRAINING:.0f} s, and a pool whose nodes are settled for
{vocabulary.LOOK_AT_SETTLED:.0f} s. Many changes wake the pool before that.

```sh
kubectl wait novacompute/<name> -n <namespace> --for=condition=Ready --timeout=10m
kubectl describe novacompute/<name> -n <namespace>
```
"""


def look(row: conditions.Reason) -> str:
    """When the pool is looked at again because of this reason alone."""
    return "" if row.look is None else f"{row.look:.0f} s"


def tested_by(row: conditions.Reason, tests: Tests) -> str:
    """The tests that make the row happen, below tests/."""
    names = [f"`{test.rpartition('::')[2]}`" for test in tests.get(("condition", (row.type, row.reason)), [])]
    return ", ".join(names)


def section(condition: str, rows: Iterator[conditions.Reason], tests: Tests) -> Iterator[str]:
    yield from (f"## {condition}", "", ABOUT[condition], "")
    yield "| Status | Reason | Cause | Way out | Later steps | Looks again after | Test |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        later = LATER_STEPS[row.flow] if condition in conditions.STEPS[:-1] else ""
        cells = [row.status, f"`{row.reason}`", row.cause, row.way_out, later, look(row), tested_by(row, tests)]
        yield f"| {' | '.join(cells)} |"
    yield ""


def text() -> str:
    """The text of docs/conditions.md."""
    parts = [INTRODUCTION]
    tests = coverage_of_the_spec.marked_tests()
    for condition, rows in itertools.groupby(conditions.REASONS, key=lambda row: row.type):
        parts.extend(section(condition, rows, tests))
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="The reference of a NovaCompute's conditions, as Markdown.")
    parser.add_argument("--write", action="store_true", help=f"write it to docs/{FILE.name}")
    if parser.parse_args().write:
        FILE.write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())


if __name__ == "__main__":
    main()
