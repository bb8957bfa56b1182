# SPDX-License-Identifier: Apache-2.0
"""What stands in the place of a library that this Python does not have, until a task asks for it.

Ansible also imports a plugin or a module to read its documentation or to check its arguments, with whatever Python is
there. So an import that fails is noted, and whoever runs the task is told what to install, in place of a traceback.
"""

from __future__ import annotations

import sys
from typing import Any

_NAMES: list[str] = []


class _Open(type):
    """The type of :class:`Absent`: whatever is asked of it is the class again."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            # Python asks for these on its own account.
            raise AttributeError(name)
        return cls


class Absent(metaclass=_Open):
    """May be named and inherited from, wherever a module is imported; nothing of it works."""


def library(name: str) -> Any:
    """Note that the library is missing, and return what stands in its place."""
    if name not in _NAMES:
        _NAMES.append(name)
    return Absent


def complaint() -> str:
    """What to install and where; empty when nothing is missing."""
    if not _NAMES:
        return ""
    return f"{sys.executable} lacks {', '.join(sorted(_NAMES))}: install it there, or choose another Python"
