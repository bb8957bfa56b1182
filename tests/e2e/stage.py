# SPDX-License-Identifier: Apache-2.0
"""How the demo looks: a header for each step, the ledger whenever it changes, a mark for each fact, a summary.

On a terminal the tables are drawn and a line at the bottom says what is being waited for. Elsewhere (a CI log) the
same information comes as plain lines.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import rich.box
import rich.console
import rich.padding
import rich.rule
import rich.table
import rich.text

_COLUMNS = ("node", "zone", "phase", "instances", "service", "pod")
_PHASE_STYLES = {
    "Pending": "yellow",
    "Active": "green",
    "Draining": "magenta",
    "Releasing": "cyan",
    "Conflict": "red",
}
_PLAIN_WIDTH = 120
#: How often the ledger is drawn when nothing but the state of a pod has changed.
_PODS_SECONDS = 3.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One node of the ledger beside what Nova and Kubernetes say about it."""

    node: str
    zone: str
    phase: str
    instances: str
    service: str
    pod: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.node, self.zone, self.phase, self.instances, self.service, self.pod)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """How a step ended."""

    name: str
    seconds: float
    passed: bool


_Drawn = tuple[tuple[Row, ...], tuple[tuple[str, str], ...]]


class Stage:
    """Draws one performance."""

    def __init__(self, steps: int) -> None:
        self._console = rich.console.Console(highlight=False, file=sys.stdout)
        if not self._console.is_terminal:
            # A table that is cut to the width of a terminal that is not there helps nobody.
            self._console.width = _PLAIN_WIDTH
        self._steps = steps
        self._began = time.monotonic()
        self._drawn: _Drawn | None = None
        self._drawn_at = 0.0
        self.results: list[Result] = []

    @property
    def _terminal(self) -> bool:
        return self._console.is_terminal

    @contextlib.contextmanager
    def step(self, name: str, why: str) -> Iterator[None]:
        """One step: its header before, its time after. An error passes through, and is noted."""
        began = time.monotonic()
        title = f"{len(self.results) + 1}/{self._steps}  {name}"
        self._print()
        if self._terminal:
            self._console.print(rich.rule.Rule(rich.text.Text(title, style="bold"), align="left", style="blue"))
        else:
            self._print(f"== {title}")
        for paragraph in why.strip().splitlines():
            self._print(f"   {paragraph.strip()}", style="dim")
        passed = False
        try:
            yield
            passed = True
        finally:
            self.results.append(Result(name=name, seconds=time.monotonic() - began, passed=passed))

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Say what is being waited for; on a terminal at the bottom, for as long as it lasts."""
        if not self._terminal:
            self._print(f"   {self._clock()}  waiting: {what}")
            yield
            return
        with self._console.status(rich.text.Text(f"waiting: {what}", style="dim")):
            yield

    def say(self, text: str) -> None:
        """A line about what is being done."""
        self._print(f"   {self._clock()}  {text}")

    def command(self, words: str) -> None:
        """A command that is being run, as a person would type it."""
        self._print(f"   {self._clock()}  $ {words}", style="bold")

    def fact(self, text: str) -> None:
        """A fact that was asserted."""
        self._print("   ✓ ", text, style="green")

    def ledger(self, rows: Sequence[Row], verdicts: Mapping[str, str]) -> None:
        """The ledger with the conditions that matter now, if something in it has changed since it was drawn."""
        drawn = (tuple(rows), tuple(verdicts.items()))
        now = time.monotonic()
        if drawn == self._drawn:
            return
        before, drawn_at = self._drawn, self._drawn_at
        if before is not None and _without_pods(before) == _without_pods(drawn) and now - drawn_at < _PODS_SECONDS:
            # A rollout moves pods several times a second; the last of these states is drawn a moment later.
            return
        self._drawn, self._drawn_at = drawn, now
        said = "   ".join(f"{name}: {verdict or '-'}" for name, verdict in verdicts.items())
        if self._terminal:
            self._draw(rows, said)
        else:
            known = before[0] if before is not None else ()
            dropped = [row.node for row in known if row.node not in {now.node for now in rows}]
            self._list([row for row in rows if row not in known], dropped, said)

    def _draw(self, rows: Sequence[Row], said: str) -> None:
        table = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
        for column in _COLUMNS:
            table.add_column(column)
        for row in rows:
            cells = [rich.text.Text(cell) for cell in row.cells]
            cells[2].stylize(_PHASE_STYLES.get(row.phase, ""))
            table.add_row(*cells)
        if not rows:
            table.add_row(rich.text.Text("no node is held", style="dim"))
        self._print()
        self._print(f"   {self._clock()}  {said}")
        self._console.print(rich.padding.Padding(table, (0, 0, 0, 13)))

    def _list(self, changed: Sequence[Row], dropped: Sequence[str], said: str) -> None:
        for row in changed:
            node, zone, phase, instances, service, pod = row.cells
            self._print(
                f"   {self._clock()}  {node:<10} {zone:<4} {phase:<10}"
                f" instances {instances:<2} service {service:<14} pod {pod}"
            )
        for node in dropped:
            self._print(f"   {self._clock()}  {node:<10} is dropped from the ledger")
        self._print(f"   {self._clock()}  {said}")

    def event(self, line: str, *, warning: bool) -> None:
        """An event about the pool, as it happens."""
        self._print(f"   {self._clock()}  event {line}", style="red" if warning else "blue")

    def evidence(self, complaint: str, text: str) -> None:
        """Why the demo ends here, with everything that may explain it."""
        self._print()
        self._print("   ✗ ", complaint, style="bold red")
        self._print()
        self._print(text)

    def summary(self) -> bool:
        """The table of all steps; whether all of them passed."""
        self._print()
        table = rich.table.Table(box=rich.box.SIMPLE_HEAD if self._terminal else rich.box.ASCII2, title_justify="left")
        for title in ("step", "seconds", "result"):
            table.add_column(title, justify="right" if title == "seconds" else "left")
        for result in self.results:
            mark = rich.text.Text("✓", style="green") if result.passed else rich.text.Text("✗ missed", style="bold red")
            table.add_row(result.name, f"{result.seconds:.1f}", mark)
        table.add_section()
        passed = all(result.passed for result in self.results) and len(self.results) == self._steps
        outcome = f"{sum(result.passed for result in self.results)} of {self._steps} steps"
        table.add_row("all", f"{time.monotonic() - self._began:.1f}", outcome)
        self._console.print(table)
        return passed

    def _clock(self) -> str:
        return f"{time.monotonic() - self._began:6.1f} s"

    def _print(self, mark: str = "", text: str = "", *, style: str = "") -> None:
        line = rich.text.Text(mark, style=style)
        # Text from a cluster is shown as it is: nothing in it is markup.
        line.append(text, style="default" if text else "")
        self._console.print(line, soft_wrap=True)


def _without_pods(drawn: _Drawn) -> tuple[object, ...]:
    rows, verdicts = drawn
    return tuple(row.cells[:-1] for row in rows), verdicts
