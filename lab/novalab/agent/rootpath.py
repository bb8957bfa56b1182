# SPDX-License-Identifier: Apache-2.0
"""Paths as a process with another root would see them. Standard library only.

An absolute link in a container or on a node (/var/run -> /run) means a path of its own root. Followed from outside it
would lead to the machine's files, and a pod could plant such a link on purpose.
"""

# The starter imports this, and pathlib would cost it more than everything else together.
# ruff: noqa: PTH115
from __future__ import annotations

import os
import stat

_MOST_LINKS = 40


def resolve(root: str, path: str) -> str:
    """The path outside of what ``path`` is inside ``root``; never above ``root``.

    What does not exist yet counts as no link. Raises OSError when links run in circles.
    """
    root = root.rstrip("/")
    todo = [part for part in path.split("/") if part not in ("", ".")]
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            done = done[:-1]
            continue
        here = "/".join([root, *done, part])
        try:
            is_link = stat.S_ISLNK(os.lstat(here).st_mode)
        except OSError:
            is_link = False
        if not is_link:
            done.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(f"too many links in {path}")
        target = os.readlink(here)
        if target.startswith("/"):
            done = []
        todo = [step for step in target.split("/") if step not in ("", ".")] + todo
    return "/".join([root, *done]) or "/"
