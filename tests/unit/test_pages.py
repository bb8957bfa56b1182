# SPDX-License-Identifier: Apache-2.0
"""What a reader of the pages may count on before he types anything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import markdown_it
import pages

START = pages.TREE / "docs" / "index.md"
BLOCKS = [block for path in pages.PAGES for block in pages.blocks(path)]
#: What a shell has without a program.
BUILTINS = {"eval", "export"}


def first_words(block: pages.Block) -> set[str]:
    """What the lines of a block begin with, where that may be a program."""
    words = {line.split()[0] for line in block.text.replace("\\\n", " ").splitlines() if line.strip()}
    return {word for word in words if re.fullmatch(r"[\w./-]+", word)} - BUILTINS


def test_block_with_commands_says_so_and_is_therefore_typed_by_a_test() -> None:
    programs = set().union(*(first_words(block) for block in BLOCKS if block.is_shell))
    assert {"kubectl", "openstack", "make", "lab/lab.py"} <= programs
    silent = {
        f"{block.page}: {block.heading}": found
        for block in BLOCKS
        if not block.is_shell and (found := first_words(block) & programs)
    }
    assert silent == {}


def so_far() -> Iterator[tuple[str, pages.Block]]:
    """Each block of shell of the start page, with all running text above it."""
    blocks = iter(pages.blocks(START))
    above: list[str] = []
    for token in markdown_it.MarkdownIt().parse(START.read_text(encoding="utf-8")):
        if token.type == "inline":
            above.append(token.content)
        elif token.type == "fence" and (block := next(blocks)).is_shell:
            yield "\n".join(above), block


def test_start_page_names_what_it_takes_before_it_is_used() -> None:
    typed = ""
    for above, block in so_far():
        named = {word for text in re.findall(r"`([^`]+)`", above) for word in text.split()}
        for line in block.text.splitlines():
            program, *words = shlex.split(line, comments=True)
            # What a command above has made is as good: `python3 -m venv build/plugin`.
            assert program in named | BUILTINS or program.partition("/bin/")[0] in typed, f"where is {program} from?"
            if [program, *words[:1]] == ["kubectl", "novacompute"]:
                assert "nova_compute_operator-*.whl" in typed, "the plugin is used before it is installed"
            missing = {word for word in words if word.endswith(".yaml") and not (pages.TREE / word).exists()} - named
            assert missing == set(), "no word of how to make the file"
            typed += line
