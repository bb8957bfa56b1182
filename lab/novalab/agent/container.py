# SPDX-License-Identifier: Apache-2.0
"""One container of a pod: its process, its state, its restarts."""

from __future__ import annotations

import contextlib
import datetime as dt
import marshal
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from novalab.agent import status

_STARTER = pathlib.Path(__file__).with_name("starter.py")
#: As much of a failed container's output as its state carries.
_MESSAGE_BYTES = 1024
_UNKNOWN_EXIT = 137


def timestamp() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Container:
    """The container ``spec`` of a pod. Only its pod's thread starts and looks after it."""

    def __init__(self, spec: Mapping[str, Any], *, init: bool, log_folder: pathlib.Path) -> None:
        self.spec = spec
        self.name: str = spec["name"]
        self.init = init
        self.state: dict[str, Any] = {"waiting": {"reason": "PodInitializing"}}
        self.last_state: dict[str, Any] = {}
        self.restarts = 0
        self.ready = False
        self.begun = False
        self.not_before = 0.0
        self.pid: int | None = None
        self._log_folder = log_folder
        self._starter: subprocess.Popen[bytes] | None = None
        self._pidfd: int | None = None
        self._failures = 0

    def adopt(self, reported: Mapping[str, Any] | None, *, restart_policy: str) -> None:
        """Take over what an earlier agent reported. Its processes ended with it, so a running one counts as lost."""
        if reported is None:
            return
        self.restarts = reported.get("restartCount") or 0
        self.last_state = reported.get("lastState") or {}
        state = reported.get("state") or {}
        if self.init or "waiting" in state or not state:
            return
        finished = "terminated" in state and restart_policy != "Always"
        if finished and (restart_policy == "Never" or state["terminated"]["exitCode"] == 0):
            self.state, self.begun = dict(state), True
            return
        lost = {
            "exitCode": _UNKNOWN_EXIT,
            "reason": "ContainerStatusUnknown",
            "message": "the node's agent was restarted",
            "startedAt": (state.get("running") or state.get("terminated") or {}).get("startedAt"),
            "finishedAt": timestamp(),
        }
        if restart_policy == "Never":
            self.state, self.begun = {"terminated": lost}, True
            return
        self.begun = True
        self.last_state = {"terminated": lost} if "running" in state else dict(state)
        self.restarts += 1

    @property
    def running(self) -> bool:
        return self._starter is not None

    @property
    def descriptor(self) -> int | None:
        """Readable once the process has ended."""
        return self._pidfd

    @property
    def log(self) -> pathlib.Path:
        return self._log_folder / f"{self.name}.{self.restarts}.log"

    def start(self, description: Mapping[str, Any]) -> None:
        """Start the process; returns when its command is about to run, or could not be."""
        self._log_folder.mkdir(parents=True, exist_ok=True)
        report, write_report = os.pipe()
        with self.log.open("ab") as log:
            self._starter = subprocess.Popen(
                # Without site packages the interpreter is up in a third of the time.
                [sys.executable, "-I", "-S", str(_STARTER), str(write_report)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={},
                pass_fds=(write_report,),
                start_new_session=True,
            )
        os.close(write_report)
        assert self._starter.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._starter.stdin as pipe:
            pipe.write(marshal.dumps(dict(description)))
        with open(report, "rb") as file:
            said = file.read()
        self.pid = int(said) if said else None
        self._pidfd = os.pidfd_open(self._starter.pid)
        self.begun = True
        self.state = {"running": {"startedAt": timestamp()}}
        self.ready = False

    def cannot_start(self, reason: str, message: str, *, again_in: float) -> None:
        self.state = {"waiting": {"reason": reason, "message": message}}
        self.not_before = time.monotonic() + again_in

    def collect(self) -> int | None:
        """The exit code once the process has ended, and then its terminated state; None as long as it runs."""
        if self._starter is None or (code := self._starter.poll()) is None:
            return None
        started = self.state["running"]["startedAt"]
        self.state = {
            "terminated": {
                "exitCode": code,
                "reason": "Completed" if code == 0 else "Error",
                "startedAt": started,
                "finishedAt": timestamp(),
                "containerID": self._container_id,
                **({"message": self._last_words()} if code else {}),
            }
        }
        if self._pidfd is not None:
            os.close(self._pidfd)
        self._starter = self._pidfd = self.pid = None
        self.ready = False
        return code

    def plan_restart(self, pod: str) -> None:
        """After an end that calls for a restart: count it, and wait longer each time."""
        pause = status.back_off(self._failures)
        self._failures += 1
        self.last_state = self.state
        self.restarts += 1
        self.cannot_start(
            "CrashLoopBackOff",
            f"back-off {pause:.0f}s restarting failed container={self.name} pod={pod}",
            again_in=pause,
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the container's first process. SIGKILL reaches all of them."""
        if self._starter is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid or self._starter.pid, number)

    def report(self) -> dict[str, Any]:
        """The container's entry in the pod's status."""
        succeeded = "terminated" in self.state and self.state["terminated"]["exitCode"] == 0
        return {
            "name": self.name,
            "image": self.spec.get("image") or "",
            "imageID": "",
            "containerID": self._container_id,
            "ready": succeeded if self.init else self.ready,
            "started": self.running,
            "restartCount": self.restarts,
            "state": self.state,
            "lastState": self.last_state,
        }

    @property
    def _container_id(self) -> str:
        return f"proc://{self.pid}" if self.pid else ""

    def _last_words(self) -> str:
        with self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MESSAGE_BYTES))
            return file.read().decode(errors="replace")
