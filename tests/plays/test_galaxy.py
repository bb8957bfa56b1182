# SPDX-License-Identifier: Apache-2.0
"""The collection as somebody gets it from Galaxy: built, installed from the tarball, documented, its roles usable."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
COLLECTION = ROOT / "collections/ansible_collections/c5c3/nova"
ROLES = sorted(path.name for path in (COLLECTION / "roles").iterdir())
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
#: What a sample of each documented type is.
TYPES = {"bool": bool, "dict": dict, "int": int, "list": list, "str": str}


def run(folder: pathlib.Path, *command: str) -> str:
    """What a command of Ansible prints, with no collection in sight but those of the folder."""
    done = subprocess.run(
        [sys.executable, "-m", "ansible", *command],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ANSIBLE_COLLECTIONS_PATH": str(folder),
            # The tree's own collection is on the path of Python.
            "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder of collections into which the tarball was installed."""
    folder = tmp_path_factory.mktemp("galaxy")
    run(folder, "galaxy", "collection", "build", str(COLLECTION), "--output-path", str(folder))
    (tarball,) = folder.glob("c5c3-nova-*.tar.gz")
    run(folder, "galaxy", "collection", "install", str(tarball), "--collections-path", str(folder), "--offline")
    return folder


@pytest.mark.page("collections/ansible_collections/c5c3/nova/README.md", "Install")
def test_tarball_has_roles_and_licences_and_no_waste(installed: pathlib.Path) -> None:
    there = installed / "ansible_collections/c5c3/nova"
    assert sorted(path.name for path in (there / "roles").iterdir()) == ROLES
    assert {path.name for path in (there / "LICENSES").iterdir()} == {"Apache-2.0.txt", "GPL-3.0-or-later.txt"}
    assert not [path for path in there.rglob("*") if path.name == "__pycache__" or path.is_symlink()]


def test_role_of_the_tarball_runs(installed: pathlib.Path) -> None:
    pool = {"metadata": {"name": "pool-a", "namespace": "openstack"}, "spec": {"novaRef": {"name": "nova"}}}
    tasks = [
        {"ansible.builtin.import_role": {"name": "c5c3.nova.nova_resolve"}, "vars": {"nova_resolve_pool": pool}},
        {"ansible.builtin.assert": {"that": ["nova_resolve_outcome.condition.reason == 'NovaError'"]}},
    ]
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable},
        "module_defaults": {"group/c5c3.nova.all": {"kubeconfig": "/nowhere"}},
        "tasks": tasks,
    }
    (installed / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
    assert "failed=0" in run(installed, "playbook", "play.yml")


@pytest.fixture(scope="module")
def documented(installed: pathlib.Path) -> Any:
    """Returns what `ansible-doc` tells of every plugin of a type, by its short name."""

    @functools.cache
    def told(kind: str) -> dict[str, Any]:
        listed = json.loads(run(installed, "doc", "--type", kind, "--list", "--json", "c5c3.nova"))
        found = json.loads(run(installed, "doc", "--type", kind, "--json", *listed)) if listed else {}
        return {name.rpartition(".")[2]: each for name, each in found.items()}

    return told


def test_every_module_is_documented_with_an_example_and_what_it_returns(documented: Any) -> None:
    told = documented("module")
    assert sorted(told) == MODULES
    for name, module in told.items():
        assert f"c5c3.nova.{name}:" in module["examples"], name
        returned = module["return"] or {}
        for field, value in returned.items():
            assert {"description", "returned", "type"} <= set(value), f"{name}: {field}"
        for field, leaf in leaves(returned):
            assert isinstance(leaf.get("sample"), TYPES[leaf["type"]]), f"{name}: {field}"


def leaves(returned: dict[str, Any], parents: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every documented value that is not itself made of documented values, by the names on the way to it."""
    for field, value in returned.items():
        if "contains" in value:
            yield from leaves(value["contains"], f"{parents}{field}.")
        else:
            yield f"{parents}{field}", value


@pytest.mark.parametrize(("kind", "names"), [("inventory", ["pools"]), ("callback", ["summary"])])
def test_every_other_plugin_is_documented(documented: Any, kind: str, names: list[str]) -> None:
    assert sorted(documented(kind)) == names


def test_every_role_is_documented(installed: pathlib.Path) -> None:
    told = json.loads(run(installed, "doc", "--type", "role", "--json", *(f"c5c3.nova.{role}" for role in ROLES)))
    for role in ROLES:
        options = told[f"c5c3.nova.{role}"]["entry_points"]["main"]["options"]
        assert options
        assert all(option["description"] for option in options.values())


def test_fragments_of_the_changelog_are_well_formed() -> None:
    program = pathlib.Path(sys.executable).parent / "antsibull-changelog"
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [program, "lint"], cwd=COLLECTION, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
