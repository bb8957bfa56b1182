# SPDX-License-Identifier: Apache-2.0
"""What `ansible-playbook --diff` shows, read back from what it printed."""

from __future__ import annotations

import dataclasses
import re

_HEADER = re.compile(r"^--- before(?:: (?P<before>.*))?\n\+\+\+ after(?:: (?P<after>.*))?\n", re.MULTILINE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Diff:
    """One difference: what it calls the two sides, and the lines that are gone and new, with their signs."""

    before: str
    after: str
    lines: tuple[str, ...]

    @property
    def gone(self) -> str:
        """The lines that would go, as a text."""
        return "".join(f"{line[1:]}\n" for line in self.lines if line.startswith("-"))

    @property
    def new(self) -> str:
        """The lines that would come, as a text."""
        return "".join(f"{line[1:]}\n" for line in self.lines if line.startswith("+"))


def of(output: str) -> list[Diff]:
    """The differences, in the order in which they were shown."""
    return [
        Diff(before=header["before"] or "", after=header["after"] or "", lines=_lines(output[header.end() :]))
        for header in _HEADER.finditer(output)
    ]


def changes(output: str) -> list[tuple[str, str, list[str]]]:
    """The differences less the times at which conditions changed: those of a dry run and of the pass are the same."""
    return [
        (diff.before, diff.after, [line for line in diff.lines if "lastTransitionTime" not in line])
        for diff in of(output)
    ]


def about(output: str, what: str) -> Diff:
    """The one difference whose two sides are called this. Raises AssertionError when there is none, or more."""
    found = [diff for diff in of(output) if diff.before == diff.after == what]
    assert len(found) == 1, f"{len(found)} differences of {what}:\n{output}"
    return found[0]


def _lines(rest: str) -> tuple[str, ...]:
    """The lines with a sign, up to the empty line that ends a difference: the others begin with an @ or a space."""
    lines = [line for line in rest.partition("\n\n")[0].splitlines() if line[:1] in ("-", "+")]
    # Ansible ends what is no text with an empty line.
    return tuple(lines[:-1] if lines and lines[-1] in ("-", "+") else lines)
