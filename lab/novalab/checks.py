# SPDX-License-Identifier: Apache-2.0
"""What the machine must have before anything is started. Each message ends with the way out."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from novalab import errors, lab

#: What a running lab writes: databases, logs, etcd's files.
_SPACE = 1024**3
_TOOLS = {"ip": "iproute2", "mount": "mount", "unshare": "util-linux", "nice": "coreutils"}


def before_up() -> None:
    """Raises LabError for the first thing that is missing."""
    if sys.platform != "linux":
        raise errors.LabError("the lab needs Linux namespaces: run it in a Linux virtual machine")
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            raise errors.LabError(f"'{tool}' is missing: install the package {package}")
    if os.geteuid() != 0:
        raise errors.LabError(
            "the lab needs root: it mounts file systems, changes roots and adds addresses to lo. "
            "Run it as root ('sudo -E make lab'), in a virtual machine if you prefer"
        )
    _check_space(lab.state_home())
    _check_namespaces()


def _check_space(folder: pathlib.Path) -> None:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < _SPACE:
        raise errors.LabError(
            f"{existing} has {free / 1024**2:.0f} MiB free and a lab needs 1 GiB: make room, or set LAB_STATE to "
            "a folder on another disk (its path short: sockets lie below it)"
        )


def _check_namespaces() -> None:
    # The very mounts of a container's root, so that a machine which forbids them says so now.
    script = (
        "mount -t tmpfs lab /mnt && mkdir /mnt/upper /mnt/work /mnt/root && "
        "mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work lab /mnt/root"
    )
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--propagation", "private", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        raise errors.LabError(
            f"this machine does not let root make namespaces and overlay mounts ({tried.stderr.strip()}). In a "
            "container, start it with --privileged; else load the kernel module overlay, or use a virtual machine"
        )
