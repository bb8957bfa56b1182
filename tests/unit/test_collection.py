# SPDX-License-Identifier: Apache-2.0
"""What the files of the collection have to agree on."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.doc_fragments import cluster, ledger, nova, target
from ansible_collections.c5c3.nova.plugins.doc_fragments import pool as pool_fragment
from ansible_collections.c5c3.nova.plugins.filter import pool as filters
from ansible_collections.c5c3.nova.plugins.module_utils import entry

ROOT = pathlib.Path(__file__).parents[2]
COLLECTION = ROOT / "collections/ansible_collections/c5c3/nova"
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
#: The fragments of documentation, and the arguments that each of them is about.
FRAGMENTS: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "cluster": (cluster, entry.CLUSTER_ARGUMENTS),
    "target": (target, entry.TARGET_ARGUMENT),
    "pool": (pool_fragment, entry.POOL_ARGUMENT),
    "nova": (nova, entry.NOVA_ARGUMENT),
    "ledger": (ledger, entry.LEDGER_ARGUMENT),
}
RUNTIME = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text(encoding="utf-8"))


def test_every_module_runs_in_the_process_of_its_task() -> None:
    expected = {module: {"redirect": "c5c3.nova.in_process"} for module in MODULES}
    assert RUNTIME["plugin_routing"]["action"] == expected


def test_every_module_is_in_the_group_that_names_the_cluster_for_all() -> None:
    assert RUNTIME["action_groups"]["all"] == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_the_documentation_of_a_module_matches_its_arguments(name: str) -> None:
    module: Any = importlib.import_module(f"ansible_collections.c5c3.nova.plugins.modules.{name}")
    documented = yaml.safe_load(module.DOCUMENTATION)
    options = dict(documented.get("options") or {})
    for name_of_fragment, (fragment, _arguments) in FRAGMENTS.items():
        if f"c5c3.nova.{name_of_fragment}" in documented.get("extends_documentation_fragment", ""):
            options = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"] | options
    assert set(options) == set(module.ARGUMENTS)
    for option, argument in module.ARGUMENTS.items():
        told, meant = options[option], {"type": "str", "required": False, "default": None, **argument}
        assert told["type"] == meant["type"], option
        assert told.get("required", False) == meant["required"], option
        assert told.get("default") == meant["default"], option
        assert told.get("choices") == meant.get("choices"), option
        assert told.get("elements") == meant.get("elements"), option


@pytest.mark.parametrize(("fragment", "arguments"), FRAGMENTS.values(), ids=FRAGMENTS)
def test_the_shared_arguments_are_documented(fragment: Any, arguments: Mapping[str, Any]) -> None:
    options = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"]
    told = {
        name: {key: each[key] for key in ("type", "required", "elements") if key in each}
        for name, each in options.items()
    }
    assert told == arguments


FILTERS = filters.FilterModule().filters()


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_the_documentation_of_a_filter_matches_its_arguments(name: str) -> None:
    told = yaml.safe_load((COLLECTION / f"plugins/filter/{name}.yml").read_text(encoding="utf-8"))["DOCUMENTATION"]
    _input, *others = inspect.signature(FILTERS[name]).parameters.values()
    assert told["name"] == name
    assert set(told["options"]) == {"_input", *(each.name for each in others)}
    for each in others:
        must_be = each.default is each.empty and each.kind is not each.VAR_POSITIONAL
        assert told["options"][each.name].get("required", False) == must_be, each.name
    positional = [each.name for each in others if each.kind is not each.VAR_POSITIONAL]
    assert told.get("positional", "") == ", ".join(positional)


def test_only_filters_are_documented_as_such() -> None:
    assert sorted(path.stem for path in (COLLECTION / "plugins/filter").glob("*.yml")) == sorted(FILTERS)


def test_module_utils_import_as_plain_python_without_ansible() -> None:
    program = (
        "import sys; from ansible_collections.c5c3.nova.plugins.module_utils import entry\n"
        "from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'ansible'], 'Ansible was imported'"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": ":".join([str(ROOT / "collections"), *site_folders()])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def site_folders() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def test_the_configuration_of_the_tree_shows_the_collection_and_the_inventory() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "config", "dump", "--only-changed"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    changed = {line.partition("(")[0]: line.partition("=")[2].strip() for line in done.stdout.splitlines()}
    assert changed["COLLECTIONS_PATHS"] == f"['{ROOT}/collections']"
    assert changed["DEFAULT_HOST_LIST"] == f"['{ROOT}/inventory/pools.yml']"
    assert changed["DEFAULT_ROLES_PATH"] == f"['{ROOT}/roles']"
    assert changed["INVENTORY_ANY_UNPARSED_IS_FAILED"] == "True"
