# SPDX-License-Identifier: Apache-2.0
"""Columns of text for a terminal, as kubectl draws them.

What is shown comes from resources, Nova and nodes. A control character in it would be an order to the terminal, so
none reaches it.
"""

from __future__ import annotations

import dataclasses
import enum
import unicodedata
from collections.abc import Sequence
from typing import Final

GAP: Final = 3
_MORE: Final = "…"


class Style(enum.Enum):
    """What a cell means; its value is the SGR code of ECMA-48 that shows it."""

    PLAIN = ""
    GOOD = "32"
    BUSY = "33"
    BAD = "31"
    HEAD = "1"
    FAINT = "2"


@dataclasses.dataclass(frozen=True)
class Cell:
    """A text of one line and what it means."""

    text: str
    style: Style = Style.PLAIN


Row = Sequence[Cell | str]


def printable(text: object) -> str:
    """The text as one line without anything that a terminal would obey or that turns the direction of writing."""
    return "".join(
        " " if each in "\t\n\r" else "�" if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Cs") else each
        for each in str(text)
    )


def width_of(text: str) -> int:
    """How many columns of a terminal the printable text takes."""
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def cut(text: str, width: int) -> str:
    """The text in at most ``width`` columns; one that is cut ends in an ellipsis."""
    if width_of(text) <= width:
        return text
    kept = ""
    for each in text:
        if width_of(kept) + width_of(each) + 1 > width:
            break
        kept += each
    return f"{kept}{_MORE}" if width > 0 else ""


def styled(text: str, style: Style, *, colour: bool) -> str:
    """The text, in colour where that is wanted and means anything."""
    return f"\x1b[{style.value}m{text}\x1b[0m" if colour and style.value and text else text


def columns(
    header: Sequence[str], rows: Sequence[Row], *, width: int | None = None, colour: bool = False, indent: str = ""
) -> list[str]:
    """The rows below their header, one line each, aligned. An empty header is left out.

    The last column is cut where the line would be longer than ``width``; None cuts nothing.
    """
    heads: list[Row] = [[Cell(text, Style.HEAD) for text in header]] if header else []
    cells = [[_cell(each) for each in row] for row in (*heads, *rows)]
    if not cells:
        return []
    widths = [max(width_of(row[column].text) for row in cells) for column in range(len(cells[0]))]
    room = None if width is None else width - len(indent) - sum(widths[:-1]) - GAP * (len(widths) - 1)
    return [indent + _line(row, widths, room, colour=colour) for row in cells]


def _cell(given: Cell | str) -> Cell:
    cell = Cell(given) if isinstance(given, str) else given
    return dataclasses.replace(cell, text=printable(cell.text))


def _line(row: Sequence[Cell], widths: Sequence[int], room: int | None, *, colour: bool) -> str:
    *leading, last = row
    parts = [
        styled(cell.text, cell.style, colour=colour) + " " * (wide - width_of(cell.text) + GAP)
        for cell, wide in zip(leading, widths, strict=False)
    ]
    text = last.text if room is None else cut(last.text, max(room, 1))
    return ("".join(parts) + styled(text, last.style, colour=colour)).rstrip()


def progress_bar(done: float, width: int) -> str:
    """A progress bar of ``width`` columns of which the share ``done`` (0 to 1) is filled."""
    filled = round(min(max(done, 0.0), 1.0) * width)
    return "█" * filled + "░" * (width - filled)
