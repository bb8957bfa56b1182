# SPDX-License-Identifier: Apache-2.0
"""Ends every process of a pass, and buries the dead that nobody else waits for.

A playbook's workers leave its process group and its session, so a signal to the group misses exactly the one that
hangs. Each process of a pass carries a mark in its environment instead, which children inherit and cannot lose by
accident.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import signal
import time

MARK = "NOVA_COMPUTE_PASS_ID"

_PROC = pathlib.Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36

# Someone who waits for its child does so well within this time; what is dead for longer has lost its parent.
ORPHAN_SECONDS = 30.0


def marked(pass_id: str) -> list[int]:
    """The ids of the processes that belong to a pass, dead ones not counted."""
    mark = f"{MARK}={pass_id}".encode()
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            # Gone meanwhile, or not ours to read and then not ours at all.
            continue
    return [pid for pid in found if pid != os.getpid()]


def end(pass_id: str, *, attempts: int = 50) -> int:
    """Kill the processes of a pass until none is left, also those they start meanwhile. Returns how many were met."""
    ended: set[int] = set()
    for _ in range(attempts):
        alive = marked(pass_id)
        if not alive:
            break
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        ended.update(alive)
        time.sleep(0.02)
    return len(ended)


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
