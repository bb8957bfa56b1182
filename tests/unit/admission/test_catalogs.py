# SPDX-License-Identifier: Apache-2.0
"""The committed option catalogs: their shape, and a few options that tell releases apart."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import sys
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config

ROOT = pathlib.Path(__file__).parents[3]
FILES = sorted((ROOT / "operator/nova_compute_operator/catalogs").glob("*.json"))
NAME = re.compile(r"[a-z0-9][a-z0-9_]*")


def load(release: str) -> dict[str, Any]:
    path = ROOT / f"operator/nova_compute_operator/catalogs/{release}.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("option_catalog_tool", ROOT / "tools/option_catalog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_there_is_a_catalog_for_each_release_that_the_generator_knows() -> None:
    assert [path.stem for path in FILES] == [release.name for release in generator().RELEASES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_catalog_has_the_shape_that_admission_reads(path: pathlib.Path) -> None:
    catalog = load(path.stem)
    assert set(catalog) == {"service", "release", "sections"}
    assert (catalog["service"], catalog["release"]) == ("nova", path.stem)
    for section, listed in catalog["sections"].items():
        assert section == "DEFAULT" or NAME.fullmatch(section), section
        assert set(listed) == {"opts", "deprecated"}
        assert listed["opts"] == sorted(set(listed["opts"]))
        assert not set(listed["opts"]) & set(listed["deprecated"])
        for name, replacement in listed["deprecated"].items():
            assert replacement == "" or re.fullmatch(r"\[[A-Za-z0-9_]+\] [a-z0-9_]+", replacement), (section, name)
        assert all(NAME.fullmatch(name) for name in [*listed["opts"], *listed["deprecated"]])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_catalog_is_whole(path: pathlib.Path) -> None:
    sections = load(path.stem)["sections"]
    assert sum(len(listed["opts"]) for listed in sections.values()) > 900
    assert {"compute_driver", "debug", "host", "vif_plugging_timeout"} <= set(sections["DEFAULT"]["opts"])
    assert "helper_command" in sections["vif_plug_ovs_privileged"]["opts"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_pool_renders_is_in_the_catalog(path: pathlib.Path) -> None:
    libvirt = {"cpuMode": "custom", "cpuModels": ["a"], "imagesType": "raw"}
    sections = load(path.stem)["sections"]
    rendered = compute_config.options({"libvirt": libvirt})
    assert [(s, key) for s, keys in rendered.items() for key in keys if key not in sections[s]["opts"]] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_older_name_stands_for_a_rejected_key(path: pathlib.Path) -> None:
    rejected = {f"[{known.section}] {known.key}" for known in compute_config.OWNED_KEYS if known.rejected}
    replacements = {new for listed in load(path.stem)["sections"].values() for new in listed["deprecated"].values()}
    assert not replacements & rejected


def test_an_option_of_a_later_release_is_not_in_an_earlier_one() -> None:
    option = "live_migration_parallel_connections"
    releases = {path.stem: option in load(path.stem)["sections"]["libvirt"]["opts"] for path in FILES}
    assert releases == {"2025.2": False, "2026.1": True, "2026.2": True}


def option(name: str, *, removed: bool = False) -> dict[str, Any]:
    return {"name": name, "deprecated_for_removal": removed}


def listed(**deprecated: list[dict[str, str]]) -> dict[str, Any]:
    many = [option(f"option-{number}") for number in range(120)]
    sections = {
        "DEFAULT": [*many, option("alive"), option("going", removed=True)],
        "privsep": [option("helper_command")],
    }
    return {
        "options": {section: {"opts": options} for section, options in sections.items()},
        "deprecated_options": deprecated,
    }


def test_dashes_are_for_the_command_line() -> None:
    assert "option_7" in generator().catalog("1", listed())["sections"]["DEFAULT"]["opts"]


def test_an_option_that_is_to_be_removed_is_deprecated_without_replacement() -> None:
    default = generator().catalog("1", listed())["sections"]["DEFAULT"]
    assert default["deprecated"] == {"going": ""}
    assert "going" not in default["opts"]


def test_an_older_name_carries_its_replacement_unless_it_is_alive() -> None:
    older = [
        {"name": name, "replacement_group": "DEFAULT", "replacement_name": "option-7"} for name in ("old", "alive")
    ]
    default = generator().catalog("1", listed(DEFAULT=older))["sections"]["DEFAULT"]
    assert default["deprecated"] == {"going": "", "old": "[DEFAULT] option_7"}


def test_an_installation_without_nova_is_noticed() -> None:
    with pytest.raises(ValueError, match=r"only 4 options for 2026\.1"):
        generator().catalog("2026.1", {"options": {"privsep": {"opts": [option("x")]}}, "deprecated_options": {}})
