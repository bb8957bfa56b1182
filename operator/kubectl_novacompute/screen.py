# SPDX-License-Identifier: Apache-2.0
"""A terminal, or what stands in for one: a pipe gets no colour, no cut lines and nothing that moves a cursor."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from typing import Any, TextIO

from ansible_collections.c5c3.nova.plugins.module_utils import tables


class Screen:
    """Where the command writes."""

    def __init__(self, out: TextIO, *, colour: str, as_json: bool) -> None:
        """`colour` is auto, always or never. NO_COLOR, when it is not empty, turns off what auto would turn on."""
        self._out = out
        self.is_terminal = out.isatty()
        automatic = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = colour == "always" or (colour == "auto" and automatic)
        self.as_json = as_json
        self._drawn = 0

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None where nothing needs to be cut."""
        return shutil.get_terminal_size().columns if self.is_terminal else None

    def table(self, header: Sequence[str], rows: Sequence[tables.Row]) -> None:
        self.lines(tables.columns(header, rows, width=self.width, colour=self.colour))

    def lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            print(line, file=self._out)

    def data(self, document: Any, *, compact: bool = False) -> None:
        """Write a JSON document; a compact one is a line of its own."""
        print(json.dumps(document, indent=None if compact else 2, ensure_ascii=False), file=self._out, flush=True)

    def redraw(self, lines: Sequence[str]) -> None:
        """Draw the lines in place of those that were drawn before. Only for a terminal."""
        back = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._out.write(back + "".join(f"{line}\n" for line in lines))
        self._out.flush()
        self._drawn = len(lines)
