# SPDX-License-Identifier: Apache-2.0
"""The one exception whose text is meant for the person at the terminal."""

from __future__ import annotations

import pathlib

#: Enough to hold a Python traceback's end or a Go program's last words.
_TAIL_LINES = 15


class LabError(Exception):
    """What is wrong and the way out, in one or a few lines. ``log`` names the file that tells more, if there is one."""

    def __init__(self, message: str, *, log: pathlib.Path | None = None) -> None:
        super().__init__(message)
        self.log = log

    def evidence(self) -> str:
        """The end of the log, with the log's path; empty without one."""
        if self.log is None or not self.log.exists():
            return ""
        lines = self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([f"The end of {self.log}:", *(f"  {line}" for line in lines)])
