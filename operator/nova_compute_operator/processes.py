# SPDX-License-Identifier: Apache-2.0
"""Ends every process of a pass, and buries the dead that nobody else waits for.

A playbook's workers leave its process group and its session, so a signal to the group misses exactly the one that
hangs. Each process of a pass carries a mark in its environment instead, which children inherit and cannot lose by
accident.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import signal
import time
from collections.abc import Iterator

MARK = "NOVA_COMPUTE_PASS"

_PROC = pathlib.Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36

# Someone who waits for its child does so well within this time; what is dead for longer has lost its parent.
ORPHAN_SECONDS = 10.0


def mark_of(pass_id: str) -> str:
    """The mark of a pass of this process. It tells which process that is, so that a later one can tell leftovers."""
    return f"{_process_namespace()}.{os.getpid()}.{_start_time(os.getpid())}.{pass_id}"


def marked(mark: str) -> list[int]:
    """The ids of the processes that carry the mark, dead ones not counted."""
    return [pid for pid, carried in _carriers() if carried == mark]


def end(mark: str, *, attempts: int = 50) -> int:
    """Kill the processes that carry the mark until none is left, also those they start meanwhile.

    Returns how many were met.
    """
    ended: set[int] = set()
    for _ in range(attempts):
        alive = marked(mark)
        if not alive:
            break
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended.update(alive)
        time.sleep(0.02)
    return len(ended)


def end_leftovers() -> int:
    """Kill what passes left of an operator that was itself killed: it would work against the passes to come.

    Returns how many processes were met.
    """
    leftovers = {mark for _, mark in _carriers() if not _operator_lives(mark)}
    return sum(end(mark) for mark in leftovers)


def _carriers() -> Iterator[tuple[int, str]]:
    """Each process that carries a mark, and the mark."""
    prefix = f"{MARK}=".encode()
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            # Gone meanwhile, or not ours to read and then not ours at all.
            continue
        for pair in environment.split(b"\0") if prefix in environment else ():
            if pair.startswith(prefix):
                yield int(entry.name), pair[len(prefix) :].decode(errors="replace")


def _operator_lives(mark: str) -> bool:
    namespace, pid, start_time, *_ = [*mark.split("."), "", "", ""]
    if namespace != _process_namespace():
        # A container's processes may be seen from outside, but the ids in their marks mean nothing here.
        return True
    # Process ids are used again; together with the time of its start one is unique.
    return pid.isdecimal() and start_time == _start_time(int(pid))


def _process_namespace() -> str:
    return str((_PROC / "self" / "ns" / "pid").stat().st_ino)


def _start_time(pid: int) -> str:
    """When a process was started, in ticks since the machine was; nothing for a process that is not there."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def adopt_orphans() -> bool:
    """Become the parent of whatever a pass leaves behind, as process 1 of a container is. Returns whether it worked."""
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class Undertaker:
    """Reaps adopted children once they have been dead for a while, never one that somebody still waits for."""

    def __init__(self) -> None:
        self._dead_since: dict[int, float] = {}

    def sweep(self, now: float) -> list[int]:
        """Reap what has been dead for `ORPHAN_SECONDS`; returns the ids of those that were reaped."""
        dead = set(_dead_children())
        self._dead_since = {pid: self._dead_since.get(pid, now) for pid in dead}
        reaped = []
        for pid, since in list(self._dead_since.items()):
            if now - since >= ORPHAN_SECONDS:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
                else:
                    reaped.append(pid)
                del self._dead_since[pid]
        return reaped


def _dead_children() -> list[int]:
    dead = []
    for thread in (_PROC / "self" / "task").iterdir():
        try:
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        for pid in children:
            try:
                state = (_PROC / pid / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state == "Z":
                dead.append(int(pid))
    return dead
