# SPDX-License-Identifier: Apache-2.0
"""Debian's packages that building and running the image needs: installed when they are missing, as the lab does."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from e2e.world import stand as _  # noqa: F401 - makes the lab's folder known
from novalab import lab as labs

#: Where programs for root are, which a path of a person may leave out.
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class MissingError(AssertionError):
    """What this machine lacks, and the way out."""


def program(name: str, *packages: str) -> str:
    """The path of a program; the packages are tried in their order while it is missing.

    Raises MissingError when it is missing then, or nobody here may install packages.
    """
    for package in packages:
        if shutil.which(name, path=_PATH) is None:
            _install(package, f"{name} is missing")
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise MissingError(f"{name} is missing, though {' and '.join(packages)} was installed")
    return found


def expect_root(what: str) -> None:
    """Raises MissingError for anybody but root."""
    if os.geteuid() != 0:
        raise MissingError(f"{what} takes root; as another user, name an engine that runs: DOCKER_HOST=unix:///...")


def _install(package: str, complaint: str) -> None:
    command = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    way_out = f"{complaint}. As root: {' '.join(command)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise MissingError(f"{way_out} (other distributions have a package of that program; its service need not run)")
    log = labs.cache_home() / "apt-image.log"
    # The lab installs packages too, and dpkg lets only one do so.
    with labs.locked(labs.cache_home() / "apt.lock"):
        if not (_apt(command, log) or (_apt(["apt-get", "update"], log) and _apt(command, log))):
            raise MissingError(f"{way_out} - which failed here, see {log}")
        if pathlib.Path("/run/systemd/system").exists() and package == "docker.io":
            units = ("docker.socket", "docker.service", "containerd.service")
            subprocess.run(["systemctl", "disable", "--now", *units], capture_output=True, check=False)


def _apt(command: list[str], log: pathlib.Path) -> bool:
    # RUNLEVEL=1 keeps Debian's scripts from starting a service.
    environment = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
    with log.open("ab") as file:
        words = [command[0], "-o", "DPkg::Lock::Timeout=300", *command[1:]]
        return subprocess.run(words, env=environment, stdout=file, stderr=file, check=False).returncode == 0
