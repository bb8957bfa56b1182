# SPDX-License-Identifier: Apache-2.0
"""What is in the image, and what is not."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from e2e.world import container
from image import bases, building, engines

PROJECT = tomllib.loads((bases.TREE / "pyproject.toml").read_text())["project"]
#: Bytes. It had 207 MB when this was written, of which Debian and its Python are 122.
MOST = 215_000_000

DISTRIBUTIONS = """
import importlib.metadata
for found in importlib.metadata.distributions():
    print(found.metadata["Name"], found.version)
"""
#: A program that is not compiled would be at each start: the root is read-only.
STALE_BYTE_CODE = """
import importlib.util, pathlib, struct, sysconfig
for source in pathlib.Path(sysconfig.get_path("purelib")).rglob("*.py"):
    if source.stem.isidentifier():
        code = pathlib.Path(importlib.util.cache_from_source(str(source)))
        header = code.read_bytes()[:16] if code.exists() else bytes(16)
        _, flags, written, size = struct.unpack("<4sIII", header)
        found = source.stat()
        if header[:4] != importlib.util.MAGIC_NUMBER or (written, size) != (int(found.st_mtime), found.st_size):
            print(source)
"""


@pytest.fixture(scope="module")
def inspected(engine: engines.Engine, image: str) -> dict[str, Any]:
    """What the engine says about the image."""
    (found,) = json.loads(engine.output("image", "inspect", image))
    return dict(found)


def inside(engine: engines.Engine, image: str, *command: str, stdin: str | None = None) -> str:
    """What a command in a container of the image printed."""
    program, *words = command
    flags = ("--rm", "--interactive", *container.HARDENED, "--network=none", f"--entrypoint={program}")
    return engine.output("run", *flags, image, *words, stdin=stdin)


def test_its_labels_say_which_version_it_is_and_of_which_commit(inspected: dict[str, Any], revision: str) -> None:
    labels = inspected["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == PROJECT["version"]
    assert labels["org.opencontainers.image.licenses"] == PROJECT["license"]
    assert labels["org.opencontainers.image.revision"] == revision


def test_it_is_as_small_as_it_was(inspected: dict[str, Any]) -> None:
    assert inspected["Size"] < MOST


def test_its_user_is_nobody(engine: engines.Engine, image: str, inspected: dict[str, Any]) -> None:
    assert inspected["Config"]["User"] == f"{container.USER}:{container.USER}"
    assert inside(engine, image, "find", "/opt/operator", "-user", str(container.USER)) == ""
    assert inside(engine, image, "find", "/opt/operator", "-perm", "/022", "-not", "-type", "l") == ""


@pytest.mark.parametrize("program", ["cc", "gcc", "c++", "make", "ld", "as", "pip", "pip3", "git", "curl", "wget"])
def test_it_has_no_program_that_builds_or_fetches(engine: engines.Engine, image: str, program: str) -> None:
    assert inside(engine, image, "sh", stdin=f"command -v {program} || echo missing") == "missing\n"


def test_no_compiler_was_there_while_it_was_built(engine: engines.Engine, base: str) -> None:
    stage = building.build_stage(engine, base)
    assert inside(engine, stage, "sh", stdin="command -v cc gcc ld || echo missing") == "missing\n"
    assert inside(engine, stage, "test", "-x", "/tools/bin/pip") == "", "the stage that builds is another one by now"


@pytest.mark.parametrize(
    "folder", ["/var/lib/apt/lists", "/var/cache/apt", "/var/log/apt", "/root", "/src", "/tools", "/tmp"]
)
def test_nothing_of_its_making_is_left(engine: engines.Engine, image: str, folder: str) -> None:
    # As root and without a tmpfs over it: whatever there is, shows.
    found = engine.output(
        *("run", "--rm", "--interactive", "--user=0", "--network=none", "--entrypoint=sh", image),
        stdin=f"if [ -d {folder} ]; then find {folder} -type f -not -name .bashrc -not -name .profile; fi",
    )
    assert found == ""


def test_its_bill_of_materials_lists_exactly_what_is_installed(engine: engines.Engine, image: str) -> None:
    document = json.loads(inside(engine, image, "cat", "/opt/operator/sbom.cdx.json"))
    product = document["metadata"]["component"]
    listed = {component["purl"].partition("?")[0] for component in (product, *document["components"])}
    python = [line.split() for line in inside(engine, image, "python", "-c", DISTRIBUTIONS).splitlines()]
    debian = inside(engine, image, "dpkg-query", "--show", "--showformat", "${Package} ${Version}\n").splitlines()
    assert listed == {
        *(f"pkg:pypi/{name.lower().replace('_', '-').replace('.', '-')}@{version}" for name, version in python),
        *("pkg:deb/debian/" + line.replace(" ", "@") for line in debian),
    }
    assert [component["name"] for component in document["components"] if not component.get("licenses")] == []


def test_every_module_of_its_environment_is_compiled(engine: engines.Engine, image: str) -> None:
    assert inside(engine, image, "python", "-", stdin=STALE_BYTE_CODE) == ""
