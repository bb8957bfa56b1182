# SPDX-License-Identifier: Apache-2.0
"""The generated pages and pictures of the documentation say what the code says, and the site has every page."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys
from types import ModuleType

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary

TREE = pathlib.Path(__file__).parents[2]
DOCS = TREE / "docs"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    specification = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_pages_are_current(reference: ModuleType) -> None:
    old = [
        path.name
        for path, text in reference.files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert old == [], "these are old: run python docs/reference.py --write"


def test_every_phase_can_be_reached_and_left(reference: ModuleType) -> None:
    moves = reference.pictures.transitions()
    phases = vocabulary.HELD_PHASES | {vocabulary.CONFLICT}
    assert {after for _, after, _ in moves} == phases | {reference.pictures.GONE}
    assert {before for before, _, _ in moves} == phases | {reference.pictures.NEW}
    assert {number for _, _, number in moves} == set(range(1, len(reference.pictures.SITUATIONS) + 1))


def test_modules_roles_and_flags_are_all_there(reference: ModuleType) -> None:
    pages = {path.stem: text for path, text in reference.files().items()}
    assert set(re.findall(r"^## (\w+)$", pages["modules"], re.MULTILINE)) == {
        path.stem for path in (reference.PLUGINS / "modules").glob("*.py")
    }
    assert set(re.findall(r"^## (\w+)$", pages["roles"], re.MULTILINE)) == {
        path.parent.name for path in (TREE / "roles").glob("*/meta")
    }
    printed = subprocess.run(
        [sys.executable, "-P", "-m", "nova_compute_operator", "--help"], capture_output=True, text=True, check=True
    ).stdout
    offered = set(re.findall(r"^  (--[a-z-]+)", printed, re.MULTILINE))
    assert set(re.findall(r"^\| `(--[a-z-]+)`", pages["flags"], re.MULTILINE)) == offered


def test_every_page_is_in_the_navigation() -> None:
    site = yaml.safe_load((TREE / "mkdocs.yml").read_text(encoding="utf-8"))
    named = re.findall(r"[\w/-]+\.md", yaml.safe_dump(site["nav"]))
    assert sorted(named) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
