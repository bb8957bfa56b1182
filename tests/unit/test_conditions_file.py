# SPDX-License-Identifier: Apache-2.0
"""docs/conditions.md says what the code says."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions

DOCS = pathlib.Path(__file__).parents[2] / "docs"
WRITTEN = (DOCS / "conditions.md").read_text(encoding="utf-8")


def test_file_is_current() -> None:
    specification = importlib.util.spec_from_file_location("conditions_page", DOCS / "conditions.py")
    assert specification is not None
    assert specification.loader is not None
    page = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(page)
    assert page.text() == WRITTEN, "docs/conditions.md is old: run python docs/conditions.py --write"


@pytest.mark.parametrize("row", conditions.REASONS, ids=lambda row: f"{row.type}-{row.reason}")
def test_every_reason_is_in_the_file_with_its_cause(row: conditions.Reason) -> None:
    section = WRITTEN.split(f"## {row.type}\n", 1)[1].split("\n## ", 1)[0]
    assert f"| {row.status} | `{row.reason}` | {row.cause} |" in section
