#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that need a real Kubernetes and a real Nova: one lab up, all of them, the lab down. ``make test-lab``.

Arguments go to pytest, which without any runs everything against the lab. The exit code is pytest's. KEEP=1 leaves the
lab up, and a later run takes it over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("tests/integration", "tests/e2e")
NAME = "tests"
_MOST_RUNS = 9


def main(arguments: list[str]) -> int:
    """Run the tests; returns the exit code."""
    # Told to end, it takes the lab down as it does when it is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    keep = os.environ.get("KEEP", "") not in ("", "0")
    began = time.monotonic()
    with own_name() as name:
        code = 1
        try:
            tell(began, f"bringing lab {name} up")
            if lab("up", name) == 0:
                tell(began, f"lab {name} is up; running pytest {shlex.join(arguments or FOLDERS)}")
                code = run_pytest(name, arguments or list(FOLDERS))
                tell(began, f"pytest ended with {code}")
        except KeyboardInterrupt:
            code = 130
            tell(began, "interrupted")
        finally:
            if keep:
                tell(began, f'lab {name} is left up: eval "$(.venv/bin/python lab/lab.py env --name {name})"')
            else:
                tell(began, f"taking lab {name} down")
                code = lab("down", name) or code
        tell(began, "done" if code == 0 else f"failed: exit code {code}")
    return code


@contextlib.contextmanager
def own_name() -> Iterator[str]:
    """The name of a lab that no other run of this program uses."""
    for number in range(1, _MOST_RUNS + 1):
        name = NAME if number == 1 else f"{NAME}-{number}"
        path = pathlib.Path(tempfile.gettempdir()) / f"novalab-{os.getuid()}-{name}.lock"
        with path.open("w") as file, contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield name
            return
    sys.exit(f"{_MOST_RUNS} runs of these tests are at work already: wait for one of them to end")


def lab(action: str, name: str) -> int:
    """Run ``lab/lab.py``, which shows its own progress; returns its exit code."""
    command = [sys.executable, str(ROOT / "lab" / "lab.py"), action, "--name", name]
    return subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, check=False).returncode


def run_pytest(name: str, arguments: list[str]) -> int:
    """Run pytest in the environment that ``lab/lab.py env`` prints; returns its exit code."""
    command = [sys.executable, str(ROOT / "lab" / "lab.py"), "env", "--name", name]
    exports = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True).stdout
    script = f'{exports}\nexec "$@"'
    pytest = [sys.executable, "-m", "pytest", "--durations=10", *arguments]
    process = subprocess.Popen(["bash", "-c", script, "pytest", *pytest], cwd=ROOT, env=environment())
    try:
        return process.wait()
    except KeyboardInterrupt:
        # The terminal tells a whole group, a caller of kill only this process: fixtures take down what they made.
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


def environment() -> dict[str, str]:
    """This process's environment, in which Python may keep the byte code of programs that are started often."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def tell(began: float, text: str) -> None:
    """Say what happens now, and after how long."""
    print(f"{time.monotonic() - began:7.1f} s  {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
