# SPDX-License-Identifier: Apache-2.0
"""The warm process: loads everything that passes need once, then forks one child for each pass.

It has one thread, because a lock that another thread holds at the moment of a fork stays locked in the child for ever;
it opens no connection and knows no secret, because every child would inherit them. Its requests come from the one
process that started it, see `messages`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pathlib
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from nova_compute_operator.engine import internals, messages

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

# The exit codes of a run that failed outside of Ansible, and of one whose parent had died before it began.
FAILED = 250
_ABANDONED = 137


class Run:
    """One pass, as the warm process knows it."""

    def __init__(self, pid: int, socket_: socket.socket, learned: int) -> None:
        self.pid = pid
        self.socket = socket_
        #: Where the child leaves what it had to compile, for those after it.
        self.learned = learned


class Warm:
    """Takes requests until nobody is left to make one, and until the last run has ended."""

    def __init__(self, control: socket.socket, caches: internals.Caches) -> None:
        self._control = control
        self._caches = caches
        self._runs: dict[int, Run] = {}
        self._open = True
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._request)
        self._ended, wake = os.pipe()
        for end in (self._ended, wake):
            os.set_blocking(end, False)
        # The byte that Python writes for a signal ends the wait; what it was for is seen by waiting for children.
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._close())
        # The terminal's: the operator says when a run is to end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._selector.register(self._ended, selectors.EVENT_READ, self._bury)

    def serve(self) -> None:
        """Work until the end."""
        while self._open or self._runs:
            for key, _ in self._selector.select():
                key.data()

    def _close(self) -> None:
        """Take no more requests."""
        if self._open:
            self._open = False
            self._selector.unregister(self._control)
            self._control.close()

    def _request(self) -> None:
        request, files = messages.receive(self._control)
        if request is None:
            self._close()
            return
        run_socket = socket.socket(fileno=files[0])
        try:
            self._start(request, run_socket, files[1:])
        finally:
            for file in files[1:]:
                os.close(file)

    def _start(self, request: Mapping[str, Any], run_socket: socket.socket, stdio: list[int]) -> None:
        threads = sum(1 for _ in pathlib.Path("/proc/self/task").iterdir())
        if threads != 1:
            _tell(run_socket, {"refused": f"the warm process has {threads} threads, and forking it is unsafe"})
            run_socket.close()
            return
        learned = os.memfd_create("learned")
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _be_the_run(request, stdio, parent=parent, caches=self._caches, learned=learned)
        run = Run(pid, run_socket, learned)
        self._runs[pid] = run
        self._selector.register(run_socket, selectors.EVENT_READ, lambda: self._hang_up(run))
        _tell(run_socket, {"started": pid})

    def _hang_up(self, run: Run) -> None:
        """End the run: nobody waits for it any more. The only thing its socket ever says is that."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(run.socket)
        _kill(run)

    def _bury(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._ended, 4096)
        while True:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if dead is None:
                return
            run = self._runs.pop(dead.si_pid, None)
            if run is not None:
                # Whatever it left behind in its group, whose number is its own only as long as it is not buried.
                _kill(run)
            _, status = os.waitpid(dead.si_pid, 0)
            if run is not None:
                self._end(run, os.waitstatus_to_exitcode(status))

    def _end(self, run: Run, code: int) -> None:
        if code == 0:
            self._caches.learn(_content(run.learned))
        os.close(run.learned)
        _tell(run.socket, {"ended": code if code >= 0 else 128 - code})
        with contextlib.suppress(KeyError):
            self._selector.unregister(run.socket)
        run.socket.close()


def _tell(run_socket: socket.socket, message: Mapping[str, Any]) -> None:
    # Who does not wait any more need not be told.
    with contextlib.suppress(OSError):
        messages.send(run_socket, message)


def _kill(run: Run) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(run.pid, signal.SIGKILL)


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


# --- the child


def _be_the_run(
    request: Mapping[str, Any], stdio: list[int], *, parent: int, caches: internals.Caches, learned: int
) -> NoReturn:
    """Be what ``ansible-playbook`` with these arguments would be, and end."""
    code: object = FAILED
    try:
        _die_with_the_warm_process(parent)
        kept = _take_files(stdio, learned)
        _take_place(request)
        caches.begin()
        try:
            internals.run_playbook(request["arguments"])
            code = 0
        except SystemExit as end:
            code = 0 if end.code is None else end.code
        os.pwrite(kept, caches.news(), 0)
    except BaseException:  # noqa: BLE001 - nothing may return into the loop of the warm process
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code if isinstance(code, int) else 1)


def _die_with_the_warm_process(parent: int) -> None:
    os.setsid()

    def bind() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    bind()
    if os.getppid() != parent:
        os._exit(_ABANDONED)
    # A worker process of Ansible leaves the session, but not its parent.
    os.register_at_fork(after_in_child=bind)


def _take_files(stdio: list[int], learned: int) -> int:
    """Have these as standard input, output and error, and nothing else but the last; returns where that is now."""
    for number, file in enumerate(stdio):
        os.dup2(file, number)
    kept = os.dup2(learned, 3, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    return kept


def _take_place(request: Mapping[str, Any]) -> None:
    """Have the environment, the folder and the signals of a program that was just started."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])


def main() -> int:
    """Be the warm process of who started this; returns its exit code."""
    control = socket.socket(fileno=int(sys.argv[1]))
    caches = internals.preload(pathlib.Path(sys.argv[2]))
    # What is there now is never collected, so that a child's collections do not copy the pages it shares.
    gc.collect()
    gc.freeze()
    Warm(control, caches).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
