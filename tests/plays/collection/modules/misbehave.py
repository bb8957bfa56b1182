# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does what no module should, in whatever process it runs in, and tells about that process."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from typing import Any

DOCUMENTATION = r"""
module: misbehave
short_description: Do what no module should
description: For tests of what runs modules.
options:
  how: {type: str, description: What to do.}
  path: {type: path, description: A file to write to.}
author: The nova-compute-operator contributors
"""

ARGUMENTS = {"how": {"type": "str"}, "path": {"type": "path"}}

_calls = 0


def run(task: Any) -> dict[str, Any]:
    """Return what is seen before it happens."""
    global _calls  # noqa: PLW0603 - whether it stays is what a test asks
    _calls += 1
    seen = {
        "calls": _calls,
        "process": os.getpid(),
        "folder": str(pathlib.Path.cwd()),
        "leaked": os.environ.get("MISBEHAVED"),
    }
    how, path = task.params["how"], task.params["path"]
    if how == "exit":
        sys.exit(7)
    elif how == "abort":
        os.abort()
    elif how == "print":
        print("printed by a module")
    elif how == "change":
        os.environ["MISBEHAVED"] = "yes"
        os.chdir("/")
        os.umask(0)
    elif how == "raise":
        raise RuntimeError("as told")
    elif how == "hang":
        sleeper = subprocess.Popen(["sleep", "600"], start_new_session=True)
        pathlib.Path(path).write_text(f"{os.getpid()} {sleeper.pid}")
        time.sleep(600)
    return seen
