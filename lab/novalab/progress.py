# SPDX-License-Identifier: Apache-2.0
"""What a person sees while the lab comes up: one line for each part, with what it does now and for how long.

The parts run in threads of their own. On a terminal the lines are redrawn in place; in a file or a CI log each new
activity is a line, so that nothing is lost.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import rich.console
import rich.live
import rich.table
import rich.text


class Part:
    """The line of one part. Call it with what the part does now: ``part("Keystone: schema")``."""

    def __init__(self, board: Board, name: str) -> None:
        self._board = board
        self.name = name
        self.activity = "waiting"
        self.started = time.monotonic()
        self.ended: float | None = None
        self.failed = False

    def __call__(self, activity: str) -> None:
        if activity != self.activity:
            self.activity = activity
            self._board.changed(self)

    def done(self, outcome: str) -> None:
        self.ended = time.monotonic()
        self(outcome)

    def fail(self, outcome: str) -> None:
        self.failed = True
        self.done(outcome)

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started


class Board:
    """All parts of one command. Use :meth:`shown` around the work."""

    def __init__(self, console: rich.console.Console) -> None:
        self._console = console
        self._parts: list[Part] = []
        self._lock = threading.Lock()
        self._live: rich.live.Live | None = None

    def part(self, name: str) -> Part:
        part = Part(self, name)
        with self._lock:
            self._parts.append(part)
        return part

    def changed(self, part: Part) -> None:
        if not self._console.is_terminal:
            self._console.print(
                rich.text.Text(f"{part.seconds:6.1f} s  {part.name}: {part.activity}"), soft_wrap=True, highlight=False
            )

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        if not self._console.is_terminal:
            yield
            return
        with rich.live.Live(get_renderable=self._table, console=self._console, refresh_per_second=8):
            yield

    def _table(self) -> rich.table.Table:
        table = rich.table.Table.grid(padding=(0, 2))
        with self._lock:
            parts = list(self._parts)
        for part in parts:
            mark = ("[red]✗" if part.failed else "[green]✓") if part.ended else "[yellow]…"
            table.add_row(mark, part.name, f"{part.seconds:5.1f} s", rich.text.Text(part.activity))
        return table
