# SPDX-License-Identifier: Apache-2.0
"""The OpenStack programs that run on the machine itself, found again by name.

Two things differ from the lab's other programs. They get no variable of the caller's shell, because oslo.config reads
``OS_...`` variables and so a shell in which somebody uses ``openstack`` would change what the lab runs. And they are
ended with all their children: brokers, databases and Nova's services are several processes each.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from novalab import errors, processes
from novalab import lab as labs

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Positions in /proc/PID/stat, counted from the state.
_PARENT, _SESSION = 1, 3


def daemon(lab: labs.Lab, name: str) -> processes.Daemon:
    """The program ``name`` of the lab, whether it runs or not."""
    return processes.Daemon(
        name=name, record=lab.pids / f"openstack-{name}.json", log=lab.logs / f"openstack-{name}.log"
    )


def environment(lab: labs.Lab, **values: str) -> dict[str, str]:
    """The whole environment of a program of the lab."""
    return {"PATH": _PATH, "LANG": "C.UTF-8", processes.MARKER: str(lab.root), **values}


def start(lab: labs.Lab, name: str, argv: Sequence[str], *, env: Mapping[str, str], user: str | None = None) -> None:
    """Start the program ``name`` with exactly the environment ``env``, unless it runs."""
    known = daemon(lab, name)
    if known.pid is not None:
        return
    known.log.parent.mkdir(parents=True, exist_ok=True)
    with known.log.open("ab") as log:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(env),
            cwd="/",
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
    adopt(lab, name, child.pid)


def adopt(lab: labs.Lab, name: str, pid: int) -> None:
    """Take the running process ``pid`` for the program ``name``."""
    record = daemon(lab, name).record
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"pid": pid, "started": processes.started_at(pid)}))


def stop(lab: labs.Lab, name: str, *, first: signal.Signals = signal.SIGTERM, grace: float = 5.0) -> None:
    """End the program ``name`` and everything it started: ``first``, up to ``grace`` seconds, SIGKILL."""
    known = daemon(lab, name)
    if (leader := known.pid) is not None:
        family = {pid: processes.started_at(pid) for pid in _family(leader)}
        with contextlib.suppress(ProcessLookupError):
            os.kill(leader, first)
        processes.end(leader, grace=grace)
        for pid, started in family.items():
            if started is not None and processes.started_at(pid) == started:
                processes.end(pid, grace=0.0)
    known.record.unlink(missing_ok=True)


def wait_until(what: str, ready: Callable[[], bool], *, program: processes.Daemon, seconds: float) -> None:
    """Poll ``ready`` until it holds. Raises LabError when the program has ended or ``seconds`` are over."""
    deadline = time.monotonic() + seconds
    while not ready():
        if program.pid is None:
            raise errors.LabError(f"{what}: {program.name} ended", log=program.log)
        if time.monotonic() > deadline:
            raise errors.LabError(f"{what}: not within {seconds:.0f} s", log=program.log)
        time.sleep(0.03)


def _family(leader: int) -> set[int]:
    """The processes of the leader's session, and all descendants: PostgreSQL's servers each leave the session."""
    stats: dict[int, tuple[int, int]] = {}
    for path in pathlib.Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                stats[int(path.name)] = int(fields[_PARENT]), int(fields[_SESSION])
    family: set[int] = set()
    found = {leader}
    while found:
        family |= found
        found = {pid for pid, (parent, session) in stats.items() if parent in family or session == leader} - family
    return family
