# SPDX-License-Identifier: Apache-2.0
"""The operator as a process over many settled pools: how many passes it runs, how late, how fast, and what it keeps."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench import costs, ground, ways

_ENDS_WITHIN = 60.0


class Operator:
    """One operator, its log, its folder, and what it costs."""

    def __init__(self, the_ground: ground.Ground, folder: pathlib.Path, *, scale: float, slots: int) -> None:
        self._log = folder / "log"
        self.data = folder / "data"
        command = [sys.executable, "-P", "-m", "nova_compute_operator", f"--namespace={ground.NAMESPACE}"]
        command += ["--metrics-bind-address=0", "--health-probe-bind-address=0", "--enable-webhooks=false"]
        command += [f"--private-data-dir={self.data}", f"--max-concurrent-reconciles={slots}"]
        environment = {**the_ground.stand.environment, "NOVA_COMPUTE_POLL_SCALE": str(scale)}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(command, cwd=ways.ROOT, env=environment, stdout=log, stderr=log)

    def passes(self) -> list[dict[str, Any]]:
        """The log lines of the passes that have ended; every one must have ended well."""
        complete = [line for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        ended = [line for line in map(json.loads, complete) if line["msg"] == "Pass ended"]
        bad = [line for line in ended if line["outcome"] != "done"]
        assert not bad, bad[:3]
        return ended

    def wait_for(self, fact: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait until the fact holds. Raises AssertionError when it does not in time, or the operator has ended."""
        deadline = time.monotonic() + seconds
        while not fact():
            assert self.process.poll() is None, f"the operator ended: {self._log.read_text()[-2000:]}"
            assert time.monotonic() < deadline, f"never: {what}"
            time.sleep(0.2)

    def memory(self) -> tuple[float, int]:
        """MiB of all of its processes together, and how many passes run."""
        members = costs.family(self.process.pid)
        # The operator itself and its warm process are always there.
        return costs.pss(members), max(0, len(members) - 2)

    def lasting(self) -> float:
        """MiB of the processes that outlive passes, whatever passes run: the operator and its warm process."""
        pid = self.process.pid
        return costs.resident([pid, *costs.children(pid)])

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(_ENDS_WITHIN) == 0, "the operator did not end in order"


@contextlib.contextmanager
def operator(
    the_ground: ground.Ground, folder: pathlib.Path, *, scale: float = 1.0, slots: int = 2
) -> Iterator[Operator]:
    """An operator for as long as the block lasts."""
    folder.mkdir()
    made = Operator(the_ground, folder, scale=scale, slots=slots)
    try:
        yield made
    finally:
        made.close()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pass:
    """One pass, in seconds of the epoch. ``due`` is when the pool's pass before had asked for it, 0 for the first."""

    pool: str
    due: float
    began: float
    ended: float


def timed(ended: list[dict[str, Any]]) -> Iterator[Pass]:
    """The times of the passes that these lines of the log tell of, in the order of their ends."""
    due: dict[str, float] = {}
    for line in ended:
        end, pool = dt.datetime.fromisoformat(line["ts"]).timestamp(), line["pool"]
        yield Pass(pool=pool, due=due.get(pool, 0.0), began=end - line["seconds"], ended=end)
        due[pool] = end + line["next_look_seconds"]


def lateness(ended: list[dict[str, Any]], since: float) -> list[float]:
    """How many seconds after its time each pass began that was due after `since` (seconds of the epoch)."""
    # One that began before its time was woken by something else.
    looks = [one for one in timed(ended) if one.due > since and one.began >= one.due - 0.5]
    return sorted(max(0.0, one.began - one.due) for one in looks)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the sorted values does not exceed."""
    assert values, "nothing was measured"
    return values[min(len(values) - 1, int(share * len(values)))]


def threads_and_files(pid: int) -> int:
    """Open files, threads and processes of an operator: what a leak would add to."""
    total = 0
    for one in costs.family(pid):
        with contextlib.suppress(OSError):
            total += 1 + len(os.listdir(f"/proc/{one}/fd")) + len(os.listdir(f"/proc/{one}/task"))  # noqa: PTH208
    return total
