# SPDX-License-Identifier: Apache-2.0
"""The operator's log as data, wherever it runs."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any


def lines(paths: Iterable[pathlib.Path]) -> list[dict[str, Any]]:
    """The lines of these files, in their order; a line that is none of the operator's own is left out."""
    found = []
    for path in paths:
        for line in path.read_text(errors="replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return [line for line in found if isinstance(line, dict)]


def passes(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the lines those of the passes that ended, oldest first."""
    return [line for line in found if line.get("msg") == "Pass ended"]
