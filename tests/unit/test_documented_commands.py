# SPDX-License-Identifier: Apache-2.0
"""Commands that the documentation shows exist: the shell, and the programs of this tree, would take them."""

from __future__ import annotations

import pathlib
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest
import yaml
from kubectl_novacompute import __main__ as plugin

TREE = pathlib.Path(__file__).parents[2]
PAGES = [TREE / "README.md", TREE / "lab" / "README.md", *sorted((TREE / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(?:sh|bash)?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
VALUES = yaml.safe_load((TREE / "charts" / "nova-compute-operator" / "values.yaml").read_text())


def blocks() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for indent, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            yield str(page.relative_to(TREE)), re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


def commands(program: str, *, running_text: bool = True) -> list[list[str]]:
    """The words of every command of a program, in blocks and in running text."""
    texts = [text.replace("\\\n", " ") for _, text in blocks()]
    inline = [code for page in PAGES for code in re.findall(rf"`({program}[^`]*)`", page.read_text(encoding="utf-8"))]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [
        shlex.split(line, comments=True)
        for line in (*lines, *(inline if running_text else []))
        if re.match(rf"{program}\b", line) and "..." not in line and "[" not in line and "'" not in line
    ]


@pytest.mark.parametrize(
    ("page", "text"), [block for block in blocks() if re.search(r"^(kubectl|helm|make|ansible)", block[1])]
)
def test_the_shell_takes_every_block(page: str, text: str) -> None:
    # What a person fills in is a word, and no redirection.
    filled = re.sub(r"<[\w-]+>", "word", text)
    done = subprocess.run(["bash", "-n"], input=filled, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{page}: {done.stderr}\n{text}"


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (TREE / "Makefile").read_text(), re.MULTILINE))
    named = {word for words in commands("make") for word in words[1:2]}
    assert named
    assert named <= targets


def test_playbooks_exist() -> None:
    named = {word for words in commands("ansible-playbook") for word in words if word.endswith(".yml")}
    assert named
    assert {name for name in named if not (TREE / name).is_file()} == set()


def test_the_plugin_takes_its_commands() -> None:
    # In running text a command may be named without what it is about.
    shown = [words[2:] for words in commands("kubectl novacompute", running_text=False)]
    assert shown
    for words in shown:
        plugin._parser().parse_args(words)


def test_values_that_are_set_exist_in_the_chart() -> None:
    shown = [
        pair
        for page in PAGES
        for pairs in re.findall(r"--set ([\w.=,]+)", page.read_text(encoding="utf-8"))
        for pair in pairs.split(",")
    ]
    assert shown
    for pair in shown:
        value = VALUES
        for key in pair.partition("=")[0].split("."):
            assert key in value, f"{pair} is no value of the chart"
            value = value[key]
