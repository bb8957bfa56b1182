# SPDX-License-Identifier: Apache-2.0
"""What the files of the collection have to agree on."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.doc_fragments import cluster, target
from ansible_collections.c5c3.nova.plugins.module_utils import entry

ROOT = pathlib.Path(__file__).parents[2]
COLLECTION = ROOT / "collections/ansible_collections/c5c3/nova"
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
FRAGMENTS: dict[str, Any] = {"cluster": cluster, "target": target}
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
    for name_of_fragment, fragment in FRAGMENTS.items():
        if f"c5c3.nova.{name_of_fragment}" in documented.get("extends_documentation_fragment", ""):
            options |= yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"]
    assert set(options) == set(module.ARGUMENTS)
    for option, argument in module.ARGUMENTS.items():
        told, meant = options[option], {"type": "str", "required": False, "default": None, **argument}
        assert told["type"] == meant["type"], option
        assert told.get("required", False) == meant["required"], option
        assert told.get("default") == meant["default"], option
        assert told.get("choices") == meant.get("choices"), option
        assert told.get("elements") == meant.get("elements"), option


@pytest.mark.parametrize(
    ("fragment", "arguments"), [("cluster", entry.CLUSTER_ARGUMENTS), ("target", entry.TARGET_ARGUMENT)]
)
def test_the_shared_arguments_are_documented(fragment: str, arguments: dict[str, Any]) -> None:
    options = yaml.safe_load(FRAGMENTS[fragment].ModuleDocFragment.DOCUMENTATION)["options"]
    assert {name: option["type"] for name, option in options.items()} == {
        name: argument["type"] for name, argument in arguments.items()
    }


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
