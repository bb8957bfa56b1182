# SPDX-License-Identifier: Apache-2.0
"""The wheel has all that the product needs at work, and nothing of its tests or its lab."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import zipfile

import pytest

TREE = pathlib.Path(__file__).parents[2]
#: Folder of the tree to folder of the wheel.
PARTS = {
    "operator": "",
    "collections/ansible_collections": "ansible_collections",
    "inventory": "nova_compute_operator/project/inventory",
    "playbooks": "nova_compute_operator/project/playbooks",
    "roles": "nova_compute_operator/project/roles",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=TREE, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_it_has_every_file_that_a_pass_or_the_operator_uses(names: set[str]) -> None:
    wanted = {
        str(pathlib.PurePath(target) / path.relative_to(TREE / source))
        for source, target in PARTS.items()
        for path in (TREE / source).rglob("*")
        if path.is_file() and not {"__pycache__", ".ansible", "tests"} & set(path.relative_to(TREE).parts)
    }
    assert wanted | {"nova_compute_operator/project/ansible.cfg"} == {
        name for name in names if ".dist-info/" not in name
    }


def test_it_has_the_licences_and_the_command(names: set[str]) -> None:
    (folder,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    licences = {f"{folder}/licenses/LICENSES/{path.name}" for path in (TREE / "LICENSES").iterdir()}
    assert licences | {f"{folder}/entry_points.txt"} <= names
