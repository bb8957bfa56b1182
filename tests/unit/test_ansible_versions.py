# SPDX-License-Identifier: Apache-2.0
"""The releases of ansible-core that the tests run with are those that the collection says it supports."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest
import yaml
from packaging import specifiers

TREE = pathlib.Path(__file__).parents[2]
COLLECTION = TREE / "collections" / "ansible_collections" / "c5c3" / "nova"


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TREE / "tools"))
    specification = importlib.util.spec_from_file_location(
        "ansible_versions_under_test", TREE / "tools" / "ansible_versions.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, specification.name, module)
    specification.loader.exec_module(module)
    return module


def test_collection_accepts_what_is_tested_and_nothing_else(versions: ModuleType) -> None:
    runtime = yaml.safe_load((COLLECTION / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    accepted = specifiers.SpecifierSet(runtime["requires_ansible"])
    names = [release.name for release in versions.RELEASES]
    minors = [int(name.partition(".")[2]) for name in names]
    assert minors == list(range(minors[0], minors[-1] + 1))
    for release in versions.RELEASES:
        assert accepted.contains(release.oldest)
        assert accepted.contains(f"{release.name}.99")
    assert not accepted.contains(f"2.{minors[0] - 1}.99")
    assert not accepted.contains(f"2.{minors[-1] + 1}.0")


def test_each_release_is_tested_on_a_python_of_its_own(versions: ModuleType) -> None:
    for release in versions.RELEASES:
        assert release.tested in release.pythons
