# SPDX-License-Identifier: Apache-2.0
"""What the events of a pass say about it: what it asked for, what failed, how long each step took.

Pure. The events are those that ansible-runner hands out, so the outcome is the same however the pass was run.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import re
from collections.abc import Callable, Mapping
from typing import Any

MESSAGE_LIMIT = 1024
STATISTIC = "next_look_seconds"
STALLED = "target_cluster_unavailable"

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_COMPLAINTS = 4
_FAILURES = ("runner_on_failed", "runner_item_on_failed", "runner_on_unreachable")


class Verdict(enum.Enum):
    """How a pass ended."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failure:
    """A task that failed or warned: its role, its name and what it said, free of secrets by the task's own making."""

    step: str
    task: str
    message: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """One pass. Times are in seconds; `next_look` of None means that the pass asked for nothing."""

    verdict: Verdict
    seconds: float
    next_look: float | None = None
    # Whether it waited in vain for a target cluster.
    stalled: bool = False
    changed: int = 0
    failure: Failure | None = None
    # Failures that the play itself dealt with; they are part of its work, but worth a line.
    rescued: tuple[Failure, ...] = ()
    # What tasks that went well want a person to look at.
    warnings: tuple[Failure, ...] = ()
    step_seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    # (system, method, HTTP status) to how many calls the tasks made.
    calls: Mapping[tuple[str, str, str], int] = dataclasses.field(default_factory=dict)


class Reader:
    """Takes the events of one pass in their order."""

    def __init__(self, pool: str, *, on_output: Callable[[str, str], None] | None = None) -> None:
        """`on_output` is given the step and the text of whatever the play prints."""
        self._pool = pool
        self._on_output = on_output
        self._asked: float | None = None
        self._stalled = False
        self._changed = 0
        self._failures: list[Failure] = []
        self._warnings: list[Failure] = []
        self._steps: dict[str, float] = {}
        self._calls: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self._complaints: list[str] = []

    def take(self, event: Mapping[str, Any]) -> None:
        """Look at one event."""
        kind = event.get("event")
        data = event.get("event_data") or {}
        said = data.get("res")
        result: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
        if self._on_output and event.get("stdout"):
            text = _COLOUR.sub("", str(event["stdout"])).replace("\r\n", "\n").strip()
            self._on_output(_step(data), text)
        for made in result.get("api_calls") or ():
            self._calls[made["system"], made["method"], made["status"]] += made["count"]
        if kind in ("runner_on_ok", *_FAILURES) and data.get("role"):
            step = _step(data)
            self._steps[step] = self._steps.get(step, 0.0) + float(data.get("duration") or 0.0)
        if kind == "runner_on_ok":
            self._changed += bool(result.get("changed"))
            self._statistics(result.get("ansible_stats"), data.get("host"))
            self._warnings += [_said(data, str(text)) for text in result.get("warnings") or ()]
        elif kind in _FAILURES and not data.get("ignore_errors"):
            self._failures.append(_said(data, _message(result)))
        elif kind == "playbook_on_stats":
            self._statistics({"data": data.get("artifact_data"), "per_host": False}, None)
        elif kind in ("error", "verbose"):
            text = " ".join(_COLOUR.sub("", str(event.get("stdout") or "")).split())
            if text.startswith(("[WARNING]: ", "[ERROR]: ", "ERROR! ")) and len(self._complaints) < _COMPLAINTS:
                self._complaints.append(text)

    def outcome(self, verdict: Verdict, seconds: float) -> Outcome:
        """What the events so far amount to."""
        failed = verdict is not Verdict.DONE
        last = self._failures[-1] if self._failures and failed else None
        if failed and last is None and self._complaints:
            # Without a play there is no task: the inventory or the playbook itself could not be read.
            last = Failure(step="", task="", message=" ".join(self._complaints)[:MESSAGE_LIMIT])
        return Outcome(
            verdict=verdict,
            seconds=seconds,
            next_look=self._asked,
            stalled=self._stalled,
            changed=self._changed,
            failure=last,
            rescued=tuple(one for one in self._failures if one is not last),
            warnings=tuple(self._warnings[:_COMPLAINTS]),
            step_seconds=dict(self._steps),
            calls=dict(self._calls),
        )

    def _statistics(self, statistics: Any, host: Any) -> None:
        """Take what `ansible.builtin.set_stats` recorded, for the host or, as there is but one, for the run.

        ansible-runner sums up only what was recorded for the run, so the host's own is taken from the task itself.
        """
        if not isinstance(statistics, Mapping) or (statistics.get("per_host") and host != self._pool):
            return
        values = statistics.get("data")
        if isinstance(values, Mapping) and STATISTIC in values:
            self._asked = _seconds(values[STATISTIC])
            self._stalled = values.get(STALLED) is True


def _said(data: Mapping[str, Any], message: str) -> Failure:
    return Failure(step=_step(data), task=str(data.get("task") or ""), message=message[:MESSAGE_LIMIT])


def _step(data: Mapping[str, Any]) -> str:
    return str(data.get("role") or "").rpartition(".")[2]


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < float("inf") else None


def _message(result: Mapping[str, Any]) -> str:
    text = result.get("msg") or result.get("censored") or ""
    return " ".join(str(text).split())[:MESSAGE_LIMIT]
