# SPDX-License-Identifier: Apache-2.0
"""The course of drains over several looks at the pools: what left meanwhile, and how far the others are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import report, vocabulary
from ansible_collections.c5c3.nova.plugins.module_utils.tables import Cell, Style, progress_bar

BAR_WIDTH = 20


class Course:
    """What was seen of each node that leaves, in the order in which it was first seen."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], dict[str, Any]] = {}
        self._most: dict[tuple[str, str], int] = {}

    def see(self, pools: Sequence[dict[str, Any]]) -> None:
        """Take in how the pools are now."""
        now = {(report.name_of(pool), each["name"]): each for pool in pools for each in report.ledger_of(pool)}
        for key, each in now.items():
            if each["phase"] in vocabulary.LEAVING_PHASES:
                self._nodes[key] = each
                self._most[key] = max(self._most.get(key, 0), each.get("instances") or 0)
            elif key in self._nodes:
                self._nodes[key] = each
        for key in self._nodes.keys() - now.keys():
            self._nodes[key] = {"name": key[1], "phase": ""}

    @property
    def has_begun(self) -> bool:
        """Whether any node was seen to leave."""
        return bool(self._nodes)

    @property
    def is_over(self) -> bool:
        """Whether none of the nodes leaves any more."""
        return not any(each["phase"] in vocabulary.LEAVING_PHASES for each in self._nodes.values())

    def rows(self) -> list[list[Cell]]:
        """One row for each node: its pool, its name, a progress bar, and words."""
        return [
            [Cell(pool), Cell(name), self._bar((pool, name), each), Cell(self._words((pool, name), each))]
            for (pool, name), each in self._nodes.items()
        ]

    def as_data(self) -> list[dict[str, Any]]:
        """The same for a program. A node that has left has an empty phase."""
        return [
            {
                "pool": pool,
                "node": name,
                "phase": each["phase"],
                "instances": each.get("instances"),
                "progress": round(self._progress((pool, name), each), 2),
            }
            for (pool, name), each in self._nodes.items()
        ]

    def _progress(self, key: tuple[str, str], each: dict[str, Any]) -> float:
        if each["phase"] in vocabulary.LEAVING_PHASES:
            return report.progress(each, self._most[key])
        return 0.0 if each["phase"] else 1.0

    def _bar(self, key: tuple[str, str], each: dict[str, Any]) -> Cell:
        done = self._progress(key, each)
        return Cell(progress_bar(done, BAR_WIDTH), Style.GOOD if done == 1.0 else Style.BUSY)

    def _words(self, key: tuple[str, str], each: dict[str, Any]) -> str:
        phase, left = each["phase"], each.get("instances")
        if not phase:
            return "has left"
        if phase == vocabulary.RELEASING:
            return "Releasing: its pod and its compute service go"
        if phase == vocabulary.DRAINING:
            return "Draining" if left is None else f"Draining: {left} of {report.servers(self._most[key])} left"
        return f"is back in the pool: {phase}, its compute service {each.get('serviceStatus', 'unknown')}"
