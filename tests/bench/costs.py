# SPDX-License-Identifier: Apache-2.0
"""What processes cost, read from the kernel: CPU seconds, proportional set sizes, how many there are."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import resource
import time

_TICK = os.sysconf("SC_CLK_TCK")
_PROC = pathlib.Path("/proc")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one pass, in seconds."""

    wall: float
    cpu: float


class Meter:
    """Counts from its making: this process, its children that have ended, and the process ``other`` with its own."""

    def __init__(self, other: int | None = None) -> None:
        self._other = other
        self._wall, self._cpu = time.monotonic(), self._now()

    def read(self, passes: int = 1) -> Cost:
        """The cost of each of the passes since."""
        return Cost(wall=(time.monotonic() - self._wall) / passes, cpu=(self._now() - self._cpu) / passes)

    def _now(self) -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used) + (cpu_of(self._other) if self._other else 0.0)


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and of its children that it has waited for, by the kernel's clock of 10 ms."""
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / _TICK


def family(pid: int) -> list[int]:
    """The process and all that come from it."""
    found, ahead = [], [pid]
    while ahead:
        one = ahead.pop()
        found.append(one)
        ahead += children(one)
    return found


def children(pid: int) -> list[int]:
    """The processes that this one started."""
    found = []
    for task in _listed(_PROC / str(pid) / "task"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def pss(pids: list[int]) -> float:
    """MiB of memory: a page that several processes share counts once, split between them."""
    return _memory(pids, "Pss")


def resident(pids: list[int]) -> float:
    """MiB of memory: every page that a process has counts in full, whoever else has it."""
    return _memory(pids, "Rss")


def _memory(pids: list[int], kind: str) -> float:
    total = 0
    for pid in pids:
        try:
            text = (_PROC / str(pid) / "smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{kind}:")), 0)
    return total / 1024


def on_disk(folder: pathlib.Path) -> tuple[float, int]:
    """MiB and the number of files below a folder, in blocks as the disk counts them."""
    size = files = 0
    for path, _, names in os.walk(folder):
        for name in (".", *names):
            try:
                size += os.lstat(pathlib.Path(path, name)).st_blocks * 512
            except FileNotFoundError:
                continue
            files += 1
    return size / 2**20, files


def _listed(folder: pathlib.Path) -> list[pathlib.Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
