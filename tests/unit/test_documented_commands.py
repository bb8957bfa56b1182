# SPDX-License-Identifier: Apache-2.0
"""Commands that the documentation shows exist: the shell, and the programs of this tree, would take them."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import tomllib

import pages
import pytest
import yaml
from kubectl_novacompute import __main__ as plugin

VALUES = yaml.safe_load((pages.TREE / "charts" / "nova-compute-operator" / "values.yaml").read_text())
BLOCKS = [block for path in pages.PAGES for block in pages.blocks(path) if block.is_shell]


def commands(program: str, *, running_text: bool = True) -> list[list[str]]:
    """The words of every command of a program, in blocks and in running text."""
    texts = [block.text.replace("\\\n", " ") for block in BLOCKS]
    running = [path.read_text(encoding="utf-8") for path in pages.PAGES]
    inline = [code for text in running for code in re.findall(rf"`({program}[^`]*)`", text)]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [
        shlex.split(line, comments=True)
        for line in (*lines, *(inline if running_text else []))
        if re.match(rf"{program}\b", line) and "..." not in line and "[" not in line and "'" not in line
    ]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}: {block.heading}")
def test_the_shell_takes_every_block(block: pages.Block) -> None:
    # What a person fills in is a word, and no redirection.
    filled = re.sub(r"<[\w-]+>", "word", block.text)
    done = subprocess.run(["bash", "-n"], input=filled, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block.page}: {done.stderr}\n{block.text}"


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (pages.TREE / "Makefile").read_text(), re.MULTILINE))
    named = {word for words in commands("make") for word in words[1:2]}
    assert named
    assert named <= targets


def test_scenarios_of_molecule_exist_for_each_role_and_the_whole_pool() -> None:
    there = {path.parent.name for path in (pages.TREE / "molecule").glob("*/molecule.yml")}
    assert there == {path.name for path in (pages.TREE / "roles").iterdir()} | {"default"}
    named = {words[words.index("-s") + 1] for words in commands("molecule") if "-s" in words}
    assert named
    assert named <= there


def test_playbooks_exist() -> None:
    named = {word for words in commands("ansible-playbook") for word in words if word.endswith(".yml")}
    assert named
    assert {name for name in named if not (pages.TREE / name).is_file()} == set()


def test_the_plugin_takes_its_commands() -> None:
    # In running text a command may be named without what it is about.
    shown = [words[2:] for words in commands("kubectl novacompute", running_text=False)]
    assert shown
    for words in shown:
        plugin._parser().parse_args(words)


def test_values_that_are_set_exist_in_the_chart() -> None:
    shown = [
        pair
        for page in pages.PAGES
        for pairs in re.findall(r"--set ([\w.=,]+)", page.read_text(encoding="utf-8"))
        for pair in pairs.split(",")
    ]
    assert shown
    for pair in shown:
        value = VALUES
        for key in pair.partition("=")[0].split("."):
            assert key in value, f"{pair} is no value of the chart"
            value = value[key]


@pytest.mark.page("README.md", "make")
def test_make_alone_lists_what_it_can_do() -> None:
    described = re.findall(r"^([a-z-]+):.*## (.*)$", (pages.TREE / "Makefile").read_text(), re.MULTILINE)
    # A make inside of another tells where it works, too.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    shown = subprocess.run(["make"], cwd=pages.TREE, env=environment, capture_output=True, text=True, check=True).stdout
    assert [tuple(line.removeprefix("  make ").split(maxsplit=1)) for line in shown.splitlines()] == described


@pytest.mark.page("README.md", "make image")
def test_image_is_built_of_the_tree_and_tagged_with_the_version(tmp_path: pathlib.Path) -> None:
    (tmp_path / "docker").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/asked\n')
    (tmp_path / "docker").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["make", "image"], cwd=pages.TREE, env=environment, capture_output=True, check=True)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert (asked[0], asked[-1]) == ("build", ".")
    version = tomllib.loads((pages.TREE / "pyproject.toml").read_text())["project"]["version"]
    assert asked[asked.index("--tag") + 1] == f"nova-compute-operator:{version}"


def test_commands_of_the_text_are_read_with_what_a_list_leaves_out(tmp_path: pathlib.Path) -> None:
    (tmp_path / "page.md").write_text(
        "`make` alone, `KEEP=1 make demo` and `of no program`, with `--nothing`\n\n"
        "| how | what |\n| --- | --- |\n"
        "| `kubectl get pods`, `nodes` | `also` |\n"
        '| `make lab` or with `--silent`, then `eval "$(x)"` | `make`, see `this` |\n'
    )
    assert pages.commands_in_text(tmp_path / "page.md") == [
        *("make", "KEEP=1 make demo", "kubectl get pods", "kubectl get nodes"),
        *("make lab", "make lab --silent", 'eval "$(x)"'),
    ]
