# SPDX-License-Identifier: Apache-2.0
"""How many passes may run at one time without the operator running out of memory.

What was asked for is what is given, unless the control group of the process says that there is no memory for it: a pass
that the kernel kills half way costs more than one that waits.
"""

from __future__ import annotations

import pathlib

# Proportional set sizes with room to spare; `make bench` measures them. First the operator, its warm process and its
# webhooks, with the files of passes, which are best kept in memory; then a pass that has to run the plain way.
IDLE_BYTES = 256 * 2**20
PASS_BYTES = 128 * 2**20

# Where there is no limit, version 1 of control groups says a number of about this size.
_NO_LIMIT = 2**60


def affordable(wanted: int, limit: int | None) -> int:
    """The number of slots, at least one; `limit` is in bytes, None for no limit."""
    if limit is None:
        return wanted
    return max(1, min(wanted, (limit - IDLE_BYTES) // PASS_BYTES))


def memory_limit(
    groups: pathlib.Path = pathlib.Path("/sys/fs/cgroup"), own: pathlib.Path = pathlib.Path("/proc/self/cgroup")
) -> int | None:
    """The bytes that this process and its children may use together: the least that its control groups say, or None."""
    limits = [limit for file in _files(groups, own) if (limit := _read(file)) is not None]
    return min(limits, default=None)


def _files(groups: pathlib.Path, own: pathlib.Path) -> list[pathlib.Path]:
    """The files with a limit, of this process's group and of those around it, in both versions of control groups."""
    found = []
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, name = (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
        group = root / path.strip("/")
        # In a container the path may be the host's, which is not there; the container's own group is the root then.
        found += [folder / name for folder in (group, *group.parents) if folder.is_relative_to(root)]
    return found


def _read(file: pathlib.Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) < _NO_LIMIT else None
