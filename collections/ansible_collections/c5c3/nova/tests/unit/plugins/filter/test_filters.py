# SPDX-License-Identifier: Apache-2.0
"""What is true of every filter: it is documented as it is."""

from __future__ import annotations

import inspect
import pathlib

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.filter import pool

FOLDER = pathlib.Path(__file__).parents[4] / "plugins/filter"
FILTERS = pool.FilterModule().filters()


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_the_documentation_of_a_filter_matches_its_arguments(name: str) -> None:
    told = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))["DOCUMENTATION"]
    _input, *others = inspect.signature(FILTERS[name]).parameters.values()
    assert told["name"] == name
    assert set(told["options"]) == {"_input", *(each.name for each in others)}
    for each in others:
        must_be = each.default is each.empty and each.kind is not each.VAR_POSITIONAL
        assert told["options"][each.name].get("required", False) == must_be, each.name
    positional = [each.name for each in others if each.kind is not each.VAR_POSITIONAL]
    assert told.get("positional", "") == ", ".join(positional)


def test_only_filters_are_documented_as_such() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yml")) == sorted(FILTERS)
