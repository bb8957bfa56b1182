# SPDX-License-Identifier: Apache-2.0
"""What the explorers report is read at the end of a session, whichever process ran them."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

from unit.explorer import invariants, reports

ROOT = pathlib.Path(__file__).parents[3]
REPORT = invariants.Report(
    world="1 pool", surroundings="none", states=20, transitions=3, invariants=2, bound="1 event from outside"
)


def told(*reported: invariants.Report, **caught: str) -> list[str]:
    properties: list[tuple[str, object]] = [("other", "property")]
    for broken, invariant in caught.items():
        reports.caught(lambda *one: properties.append(one), broken, invariant)
    for report in reported:
        reports.explored(lambda *one: properties.append(one), report)
    return list(reports.lines(properties))


def test_table_has_a_row_for_each_world_and_for_each_broken_rule() -> None:
    assert told(REPORT, break_it="it holds", break_another="it holds too") == [
        "",
        "WORLD    SURROUNDINGS   STATES   TRANSITIONS   INVARIANTS   BOUND",
        "1 pool   none           20       3             2            1 event from outside",
        "",
        "BROKEN RULE     CAUGHT BY",
        "break_another   it holds too",
        "break_it        it holds",
    ]


def test_session_without_an_explorer_says_nothing() -> None:
    assert told() == []


def test_session_ends_with_the_tables_whichever_process_made_them() -> None:
    # The whole folder is named, as in the Makefile: under xdist the process that prints looks no further than that.
    only = ["--ignore-glob=*/unit/[!e]*", "-k", "explorer and (2-1-3 or never_let_go)"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", "tests/unit", *only]
    # In a process of xdist, it would take itself for one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
    assert re.search(
        r"^WORLD .*\n2 pools, 1 node +labels, .*change +\d{4} +\d{4} +17 +3 events from outside$",
        ended.stdout,
        re.MULTILINE,
    )
    assert re.search(r"^BROKEN RULE .*\nnever_let_go +at rest, every selected node is held", ended.stdout, re.MULTILINE)
