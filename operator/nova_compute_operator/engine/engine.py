# SPDX-License-Identifier: Apache-2.0
"""Starts the warm process, and is what ansible-runner starts playbooks with while an engine is in use."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
import pathlib
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pexpect
from pexpect import fdpexpect

from nova_compute_operator import log
from nova_compute_operator.engine import internals, messages

logger = logging.getLogger(__name__)

_PROGRAM = "ansible-playbook"
# The exit code of a run whose end nobody told: the warm process died.
_LOST = 251

_in_use: contextvars.ContextVar[Engine | None] = contextvars.ContextVar("engine", default=None)


class ColdError(Exception):
    """A run that cannot be warm; the text says why."""


class Engine:
    """One warm process at a time, started when it is first needed and anew when it is gone. Safe from several threads.

    ``project`` is the folder that holds what is run, and ``environment`` what its processes have beside a run's own.
    """

    def __init__(self, project: pathlib.Path, *, environment: Mapping[str, str] | None = None) -> None:
        self._project = project
        self._environment = dict(environment or {})
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._settings: dict[str, str] = {}
        self._said: set[str] = set()
        self._closed = False
        self.cold_runs = 0
        self._unsupported = internals.unsupported()

    @property
    def pid(self) -> int | None:
        """The id of the warm process, while there is one."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Have what ansible-runner runs in this thread run warm."""
        _install()
        token = _in_use.set(self)
        try:
            yield
        finally:
            _in_use.reset(token)

    def start_run(self, arguments: Sequence[str], environment: Mapping[str, str], folder: str) -> WarmRun:
        """Start a run. Raises ColdError when it cannot be warm."""
        request = {"arguments": [_PROGRAM, *arguments], "environment": dict(environment), "folder": folder}
        ours, theirs = messages.pair()
        output, written = os.pipe()
        try:
            with pathlib.Path(os.devnull).open("rb") as nothing, theirs:
                files = [theirs.fileno(), nothing.fileno(), written, written]
                self._ask(request, files, _settings(environment))
            pid = _started(ours)
        except BaseException:
            os.close(output)
            ours.close()
            raise
        finally:
            os.close(written)
        return WarmRun(output, ours, pid=pid)

    def _ask(self, request: Mapping[str, Any], files: Sequence[int], settings: dict[str, str]) -> None:
        with self._lock:
            if self._unsupported:
                raise ColdError(self._unsupported)
            if self._closed:
                raise ColdError("the engine is closed")
            if self.pid is None:
                self._start(settings)
            if settings != self._settings:
                names = sorted(name for name, value in settings.items() ^ self._settings.items())
                raise ColdError(f"settings differ from those of the warm process: {', '.join(dict.fromkeys(names))}")
            assert self._control is not None
            try:
                messages.send(self._control, request, files)
            except OSError as error:
                raise ColdError(f"the warm process takes no request: {error}") from error

    def _start(self, settings: dict[str, str]) -> None:
        self._let_go()
        control, theirs = messages.pair()
        environment = {**os.environ, **settings, **self._environment}
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "nova_compute_operator.engine.warm",
                        str(theirs.fileno()),
                        self._project,
                    ],
                    pass_fds=[theirs.fileno()],
                    env=environment,
                    cwd=self._project,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
            except OSError as error:
                control.close()
                raise ColdError(f"the warm process cannot be started: {error}") from error
        self._control = control
        self._settings = settings
        logger.info("A warm process starts", extra=log.fields(pid=self._process.pid))

    def _let_go(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.poll()

    def count_cold(self, reason: str) -> None:
        """Note that a run is a plain one; each reason is logged once."""
        with self._lock:
            self.cold_runs += 1
            new = reason not in self._said
            self._said.add(reason)
        if new:
            logger.warning(
                "A pass runs the plain way, slower and with the same result", extra=log.fields(reason=reason)
            )

    def close(self, *, seconds: float = 10.0) -> None:
        """End the warm process. Its runs are expected to have ended; what has not is killed after a while."""
        with self._lock:
            self._closed = True
            process = self._process
            self._let_go()
        if process is None:
            return
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What of an environment Ansible reads once, when it is imported."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("ANSIBLE_") and name not in internals.PER_RUN
    }


def _started(conversation: socket.socket) -> int:
    """The id of the process that the run is. Raises ColdError when there is none."""
    answer, _ = messages.receive(conversation)
    if answer is None:
        raise ColdError("the warm process has died")
    if "refused" in answer:
        raise ColdError(str(answer["refused"]))
    return int(answer["started"])


class WarmRun(fdpexpect.fdspawn):  # type: ignore[misc]
    """A run, as ansible-runner expects a program that ``pexpect.spawn`` started; it has no terminal."""

    child_fd: int
    closed: bool
    #: pexpect waits after each read, for programs that end while something of theirs is on its way; this end is told.
    delayafterread: None

    def __init__(self, output: int, conversation: socket.socket, *, pid: int) -> None:
        super().__init__(output, encoding="utf-8", codec_errors="replace", maxread=1 << 16)
        self.delayafterread = None
        self._conversation = conversation
        # What ansible-runner signals when it is to end: the run leads a group of its own.
        self.pid = pid
        self.exitstatus: int | None = None
        self.signalstatus = None

    def isalive(self) -> bool:
        """Whether the run goes on. All of its output has been read when it does not."""
        if self.exitstatus is not None:
            return False
        if not self.flag_eof and not select.select([self._conversation], [], [], 0)[0]:
            return True
        answer, _ = messages.receive(self._conversation)
        self.exitstatus = _LOST if answer is None else int(answer["ended"])
        return False

    def close(self) -> None:
        """Let go of the run, and end it if it has not ended."""
        if not self.closed:
            os.close(self.child_fd)
            self.child_fd = -1
            self.closed = True
        self._conversation.close()


def _spawn(command: str, args: Sequence[str] = (), **keywords: Any) -> Any:
    engine = _in_use.get()
    if engine is not None and pathlib.Path(command).name == _PROGRAM:
        environment = {_text(name): _text(value) for name, value in (keywords.get("env") or os.environ).items()}
        try:
            return engine.start_run(args, environment, str(keywords.get("cwd") or pathlib.Path.cwd()))
        except ColdError as error:
            engine.count_cold(str(error))
    return pexpect.spawn(command, args, **keywords)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _install() -> None:
    from ansible_runner import runner

    if getattr(runner.pexpect, "spawn", None) is not _spawn:
        internals.start_playbooks_with(_spawn)
