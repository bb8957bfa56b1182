# SPDX-License-Identifier: Apache-2.0
"""The product as its users have it: the built wheel with its locked dependencies, in an environment of its own."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[3]
COMMAND = "nova-compute-operator"


def install(folder: pathlib.Path) -> pathlib.Path:
    """The command of the wheel of this tree, installed below ``folder`` for every user of the machine.

    Raises AssertionError with what the installer said when it failed.
    """
    environment, dist = folder / "environment", folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    python, uv = environment / "bin" / "python", pathlib.Path(sys.executable).with_name("uv")
    _run(sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel", "--directory", str(dist))
    (wheel,) = dist.glob("*.whl")
    if not python.exists():
        _run(str(uv), "venv", "--quiet", "--python", _interpreter(), str(environment))
    into = ("--quiet", "--python", str(python))
    lock = str(TREE / "requirements" / "product.txt")
    # A pod's root is read-only: what is not compiled now is compiled at each start.
    _run(str(uv), "pip", "install", *into, "--compile-bytecode", "--require-hashes", "--requirement", lock)
    _run(str(uv), "pip", "install", *into, "--compile-bytecode", "--no-deps", "--reinstall", str(wheel))
    return environment / "bin" / COMMAND


def _interpreter() -> str:
    """A Python of this version that every user may run: one below somebody's home is closed to the others."""
    named = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/local/bin/{named}", f"/usr/bin/{named}"):
        real = pathlib.Path(os.path.realpath(candidate))
        if real.exists() and all(path.stat().st_mode & 0o001 for path in (real, *real.parents)):
            return str(real)
    raise AssertionError(f"no {named} on this machine may be run by every user: install one to /usr/bin")


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
