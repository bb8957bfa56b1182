# SPDX-License-Identifier: Apache-2.0
"""One line of ``lab/lab.py status``: what runs, as which process or pod, where, and which file tells more."""

from __future__ import annotations

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """``process`` is a pid, the name of a pod, or None when it does not run."""

    what: str
    process: int | str | None
    address: str = ""
    log: pathlib.Path | str = ""
