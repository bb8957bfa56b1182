# SPDX-License-Identifier: Apache-2.0
"""What the collection and the tree have to agree on; what is true of the collection alone is in its own tests."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
ROLES = ROOT / "collections" / "ansible_collections" / "c5c3" / "nova" / "roles"


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


@pytest.mark.parametrize("role", sorted(folder.name for folder in ROLES.iterdir() if folder.is_dir()))
def test_default_that_a_role_documents_is_the_one_that_it_has(role: str) -> None:
    documented = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]
    defaults = ROLES / role / "defaults" / "main.yml"
    assert (yaml.safe_load(defaults.read_text()) if defaults.is_file() else {}) == {
        name: option["default"] for name, option in documented["options"].items() if "default" in option
    }
