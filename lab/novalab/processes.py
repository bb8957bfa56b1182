# SPDX-License-Identifier: Apache-2.0
"""Programs that outlive the command which started them: start, find again, stop, and prove that none is left.

A pid alone names nobody once its process has ended, so each record also holds when the process started.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

from novalab import errors

#: In the environment of every program of a lab; it tells whose they are when nothing else does.
MARKER = "NOVALAB_ROOT"
_STARTTIME_FIELD = 19
_TTY_FIELD = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Daemon:
    """A program in the background. ``record`` is the file that remembers its process."""

    name: str
    record: pathlib.Path
    log: pathlib.Path

    @property
    def pid(self) -> int | None:
        """The pid of the process that was started here, or None when it has ended."""
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(self.record.read_text())
            if started_at(known["pid"]) == known["started"]:
                return int(known["pid"])
        return None

    def start(self, argv: Sequence[str], *, root: pathlib.Path, environment: Mapping[str, str] | None = None) -> int:
        """Start the program in a session of its own, its output in the log; returns the pid."""
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=clean_environment(root, environment or {}),
            )
        self.record.write_text(json.dumps({"pid": process.pid, "started": started_at(process.pid)}))
        return process.pid

    def stop(self, *, grace: float = 10.0) -> None:
        """End the program: SIGTERM, up to ``grace`` seconds, SIGKILL. Its record goes."""
        if (pid := self.pid) is not None:
            end(pid, grace=grace)
        self.record.unlink(missing_ok=True)

    def expect_alive(self) -> None:
        """Raises LabError with the end of the log when the program has ended."""
        if self.pid is None:
            raise errors.LabError(f"{self.name} ended right after its start", log=self.log)


def clean_environment(root: pathlib.Path, more: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, marked, without what would keep byte code from being written."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, MARKER: str(root), **more}


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command's name, state first; None without the process or for a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def started_at(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when it has ended."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_STARTTIME_FIELD])


def end(pid: int, *, grace: float) -> None:
    """End one process: SIGTERM, up to ``grace`` seconds, SIGKILL, and wait until it is gone."""
    started = started_at(pid)
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            if started is not None and started_at(pid) == started:
                os.kill(pid, number)
        deadline = time.monotonic() + patience
        while started is not None and started_at(pid) == started:
            if time.monotonic() > deadline:
                break
            _reap(pid)
            time.sleep(0.02)
        else:
            return


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leftover:
    """A process that a lab has left behind, and how it was told."""

    pid: int
    command: str
    why: str


def leftovers(root: pathlib.Path) -> list[Leftover]:
    """Every process that belongs to the lab in ``root``, whoever started it and whatever it is called now."""
    return [found for pid in _pids() if pid != os.getpid() and (found := _leftover(pid, root)) is not None]


def _pids() -> Iterator[int]:
    for path in pathlib.Path("/proc").iterdir():
        if path.name.isdigit():
            yield int(path.name)


def _leftover(pid: int, root: pathlib.Path) -> Leftover | None:
    fields = _stat(pid)
    if fields is None or int(fields[_TTY_FIELD]) != 0:
        # Whoever looks at the lab's files from a terminal is a person, not a leftover.
        return None
    proc = pathlib.Path(f"/proc/{pid}")
    try:
        words = [os.fsdecode(word) for word in (proc / "cmdline").read_bytes().split(b"\0")]
        marked = f"{MARKER}={root}".encode() in (proc / "environ").read_bytes().split(b"\0")
        mounted = f"{root}/" in (proc / "mountinfo").read_text()
    except OSError:
        return None
    # A caller that merely names the lab in a script of its own is no leftover: a word must be a path of the lab.
    named = any(word.startswith(f"{root}/") or f"={root}/" in word for word in words)
    why = "marked" if marked else "named in its arguments" if named else "in its mounts" if mounted else None
    return None if why is None else Leftover(pid=pid, command=" ".join(words)[:120], why=why)
