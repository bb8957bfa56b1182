#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that need a real Kubernetes and a real Nova: a lab up, the tests, the lab down. ``make test-lab``.

Without arguments everything runs, in parts and at the same time, each against a lab of its own: much of what these
tests do is waiting. With arguments, which go to pytest, one run has those. After ``--`` stands another command to run
against the same lab, such as ``molecule test --all``. The exit code is the first that is not 0. KEEP=1 leaves the labs
up, and a later run takes them over.
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
import threading
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIRST = (
    *("tests/integration", "tests/e2e/conditions"),
    *("tests/e2e/test_settled_pool.py", "tests/e2e/test_scale.py", "tests/e2e/test_placed_beside_many.py"),
)
SECOND = (
    *("tests/e2e/test_hypervisor_operator.py", "tests/e2e/test_killed_operator.py"),
    *("tests/e2e/test_by_hand.py", "tests/e2e/installed", "tests/e2e/test_pages.py"),
)
PYTEST = (sys.executable, "-m", "pytest", "--durations=10")
MOLECULE = ("--", "molecule", "test", "--all")
PARTS = (FIRST, SECOND, ("tests/e2e", *(f"--ignore={path}" for path in (*FIRST[1:], *SECOND))), MOLECULE)
NAME = "tests"
_MOST_RUNS = 9


def main(arguments: list[str]) -> int:
    """Run the tests; returns the exit code."""
    if not arguments:
        return run_parts()
    split = arguments.index("--") if "--" in arguments else len(arguments)
    commands = [[*PYTEST, *arguments[:split]] if split else [], arguments[split + 1 :]]
    return run([command for command in commands if command])


def run_parts() -> int:
    """Run everything; the lines of each part begin with its number. Returns the first exit code that is not 0."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parts = [
        subprocess.Popen(
            [sys.executable, __file__, *part],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
            # A terminal's interrupt is passed on, once.
            start_new_session=True,
        )
        for part in PARTS
    ]
    readers = [threading.Thread(target=pass_on, args=(number, part)) for number, part in enumerate(parts, start=1)]
    for reader in readers:
        reader.start()
    try:
        codes = [part.wait() for part in parts]
    except KeyboardInterrupt:
        for part in parts:
            part.send_signal(signal.SIGINT)
        codes = [130, *(part.wait() for part in parts)]
    for reader in readers:
        reader.join()
    return next((code for code in codes if code), 0)


def pass_on(number: int, part: subprocess.Popen[str]) -> None:
    """Print what a part prints, line by line."""
    assert part.stdout is not None
    for line in part.stdout:
        print(f"{number}| {line}", end="", flush=True)


def run(commands: list[list[str]]) -> int:
    """Bring a lab up, run the commands against it, and take it down; returns the first exit code that is not 0."""
    # Told to end, it takes the lab down as it does when it is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    keep = os.environ.get("KEEP", "") not in ("", "0")
    began = time.monotonic()
    with own_name() as name:
        code = 1
        try:
            tell(began, f"bringing lab {name} up")
            if lab("up", name) == 0:
                code = 0
                for command in commands:
                    tell(began, f"running {shlex.join(command)} against lab {name}")
                    ended = run_command(name, command)
                    tell(began, f"it ended with {ended}")
                    code = code or ended
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


def run_command(name: str, command: list[str]) -> int:
    """Run a command in the environment that ``lab/lab.py env`` prints; returns its exit code.

    It finds the programs of this Python's environment, those of Ansible among them.
    """
    env = environment()
    env["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    ask = [sys.executable, str(ROOT / "lab" / "lab.py"), "env", "--name", name]
    exports = subprocess.run(ask, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    process = subprocess.Popen(["bash", "-c", f'{exports}\nexec "$@"', "bash", *command], cwd=ROOT, env=env)
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
