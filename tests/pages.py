# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation, and the commands that stand on them."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess
import tomllib
from collections.abc import Iterator

import markdown_it

TREE = pathlib.Path(__file__).resolve().parents[1]
COLLECTION = TREE / "collections" / "ansible_collections" / "c5c3" / "nova"
README = TREE / "README.md"
PAGES = (
    README,
    TREE / "lab" / "README.md",
    COLLECTION / "README.md",
    *sorted((TREE / "docs").rglob("*.md")),
)
_SHELLS = ("sh", "bash")
_ASSIGNMENTS = re.compile(r"(?:[A-Z][A-Z_]*=\S* )*")
_TO_FILL_IN = re.compile(r"<([\w-]+)>")


def files(*patterns: str) -> list[pathlib.Path]:
    """The files of the tree that are in the repository, or about to be, of all patterns or of these; no links."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=True).stdout.split("\0")
    found = [TREE / name for name in sorted(filter(None, listed))]
    return [path for path in found if path.is_file() and not path.is_symlink()]


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of code: the page below the tree, the heading it stands under, its language and its text."""

    page: str
    heading: str
    language: str
    text: str

    @property
    def is_shell(self) -> bool:
        return self.language in _SHELLS

    def filled(self, **words: str) -> str:
        """The text with what a person fills in, such as ``<server>``. Raises KeyError for a word that is not given."""
        return _TO_FILL_IN.sub(lambda match: words[match[1]], self.text)


def blocks(path: pathlib.Path) -> Iterator[Block]:
    """The blocks of a page, in their order."""
    page, heading = path.relative_to(TREE).as_posix(), ""
    tokens = markdown_it.MarkdownIt().parse(path.read_text(encoding="utf-8"))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None and before.type == "heading_open":
            heading = token.content
        if token.type == "fence":
            yield Block(page, heading, token.info.strip(), token.content)


def commands_in_text(path: pathlib.Path) -> list[str]:
    """The commands that stand in the running text and in the tables of a page, each once.

    An option belongs to the command before it, and in a list such as "`plugin status`, `nodes`" each word takes the
    place of the last one of the first.
    """
    known, found = programs(), list[str]()
    for token in markdown_it.MarkdownIt().enable("table").parse(path.read_text(encoding="utf-8")):
        before, between = "", ""
        for child in token.children or ():
            if child.type != "code_inline":
                between += child.content
                continue
            code = child.content
            if _ASSIGNMENTS.sub("", code, count=1).partition(" ")[0] in known:
                before = code
            elif before and code.startswith("--"):
                code = f"{before} {code}"
            elif before and between == ", ":
                code = f"{before.rpartition(' ')[0]} {code}"
            else:
                code = before = ""
            between = ""
            found += [code] if code else []
    return list(dict.fromkeys(found))


def programs() -> set[str]:
    """The first words of what the pages tell a reader to type, and the programs that the project itself brings."""
    lines = [line for path in PAGES for block in blocks(path) if block.is_shell for line in block.text.splitlines()]
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {line.split()[0] for line in lines if line[:1].isalpha() or line[:1] == "."} | set(project["scripts"])


def commands_of_the_readme() -> list[tuple[str, str]]:
    """(page, command) of what the README names outside its blocks, less what runs the tests or is run before them."""
    (before,) = re.findall(r"^test:([^#]*)", (TREE / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    run = {f"make {target}" for target in before.split()}
    return [
        (README.name, command)
        for command in commands_in_text(README)
        if command not in run and not command.startswith("make test")
    ]


def shell_sections() -> list[tuple[str, str]]:
    """(page, heading) of everything that a reader is told to type."""
    found = [(block.page, block.heading) for path in PAGES for block in blocks(path) if block.is_shell]
    return list(dict.fromkeys(found))
