#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ansible-test on a copy of the collection, at a path as ansible-test asks for it. ``make sanity``.

    tools/sanity.py                            every sanity test, then the unit tests with each Python of this machine
    tools/sanity.py sanity --test import       what a command of ansible-test is given follows it

ansible-test makes an environment of Python for each of its tests and keeps it, below $XDG_CACHE_HOME here. Its own way
to a first pip leads to a server of Ansible's; Python brings a pip, which is used instead, so that a package index is
all that is needed.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from typing import Final

import pythons

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLLECTION = pathlib.Path("ansible_collections/c5c3/nova")
#: As somebody who has the collection alone would run them.
COMMANDS: Final = (("sanity",), ("units", "--venv", "--requirements"))
#: Where ansible-test looks for the program that installs pip, below its home, before it fetches one.
BOOTSTRAP = ".ansible/test/cache/get_pip_{}.py"
ENSURE_PIP = "import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n"


def main(arguments: Sequence[str]) -> int:
    """Run ansible-test; returns the exit code of the first command that fails."""
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "nova-sanity"
    provide_pip(home)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / COLLECTION
        shutil.copytree(ROOT / "collections" / COLLECTION, copy, ignore=shutil.ignore_patterns("__pycache__", "output"))
        provide_constraints(copy)
        programs = pathlib.Path(folder) / "bin"
        programs.mkdir()
        for version, python in pythons.found().items():
            (programs / f"python{version}").symlink_to(python)
        own = pathlib.Path(sys.executable).parent
        environment = {**os.environ, "HOME": str(home), "PATH": f"{programs}:{own}:{os.environ['PATH']}"}
        for command, *given in (arguments,) if arguments else COMMANDS:
            program = [own / "ansible-test", command, "--color", "no", *given]
            done = subprocess.run(program, cwd=copy, env=environment, check=False)
            if done.returncode:
                return done.returncode
        return 0


def provide_pip(home: pathlib.Path) -> None:
    """Put a program that installs pip where this ansible-test looks for one."""
    # The place carries the version of pip that it would fetch, which nothing else tells.
    from ansible_test._internal import python_requirements

    version = "{}.{}".format(*sys.version_info)
    pip = python_requirements.get_venv_packages(types.SimpleNamespace(version=version))["pip"]
    place = home / BOOTSTRAP.format(pip.replace(".", "_"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(ENSURE_PIP, encoding="utf-8")


def provide_constraints(copy: pathlib.Path) -> None:
    """Have the unit tests use the libraries that the product is locked to."""
    locked = (ROOT / "requirements" / "product.txt").read_text(encoding="utf-8")
    lines = re.findall(r"^[^\s#].*?(?= \\$)", locked, re.MULTILINE)
    (copy / "tests/unit/constraints.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
