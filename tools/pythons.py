# SPDX-License-Identifier: Apache-2.0
"""The Pythons of this machine, by version."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from typing import Final

#: The versions that any supported release of ansible-core may ask for.
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")


def found() -> dict[str, pathlib.Path]:
    """Version to program, of every Python on the PATH that runs. The program itself, where the PATH has a stand-in."""
    environment = dict(os.environ)
    if (pyenv := shutil.which("pyenv")) is not None:
        # Its stand-ins run only what is switched on: here everything that is installed.
        listed = subprocess.run([pyenv, "versions", "--bare"], check=True, stdout=subprocess.PIPE, text=True).stdout
        environment["PYENV_VERSION"] = ":".join(listed.split())
    pythons = {}
    for version in VERSIONS:
        program = shutil.which(f"python{version}")
        if program is None:
            continue
        done = subprocess.run(
            [program, "-c", "import os, sys; print(os.path.realpath(sys.executable))"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            pythons[version] = pathlib.Path(done.stdout.strip())
    return pythons
