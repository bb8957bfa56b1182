# SPDX-License-Identifier: Apache-2.0
"""The image, as far as its files tell. What is in it, and that it runs, is seen by tests/image with an engine."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
import tomllib

import pytest

TREE = pathlib.Path(__file__).parents[2]
DOCKERFILE = (TREE / "Dockerfile").read_text()
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def sbom() -> object:
    specification = importlib.util.spec_from_file_location("sbom", TREE / "tools" / "sbom.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_its_base_is_pinned_by_digest_and_every_stage_is_built_on_it() -> None:
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "runtime", "runtime"]


def test_it_runs_as_a_user_without_rights_under_an_init() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert "USER 65532:65532" in last
    assert 'ENTRYPOINT ["/usr/bin/tini", "--", "/opt/operator/bin/nova-compute-operator"]' in last
    assert "RUN " not in last, "the last stage adds nothing but the environment"


def test_its_labels_say_the_version_and_the_licence_of_the_product() -> None:
    assert f"ARG VERSION={PROJECT['version']}\n" in DOCKERFILE
    assert f'image.licenses="{PROJECT["license"]}"' in DOCKERFILE


def test_whatever_is_installed_was_locked() -> None:
    for command in re.findall(r"pip (?:--python \S+ )?install(?:[^&]|&(?!&))*", DOCKERFILE):
        assert "--require-hashes" in command or "--no-deps /tmp/dist/*.whl" in command


def test_the_bill_of_materials_names_every_distribution_once_with_its_licence(sbom: object) -> None:
    packages = ["tini\t0.19.0-1\tamd64\ttini"]
    document = sbom.document([*sbom.python_packages(), *sbom.debian_packages(packages)])  # type: ignore[attr-defined]
    assert document["metadata"]["component"]["version"] == PROJECT["version"]
    purls = [component["purl"] for component in document["components"]]
    assert len(purls) == len(set(purls))
    assert "pkg:deb/debian/tini@0.19.0-1?arch=amd64" in purls
    assert any(purl.startswith("pkg:pypi/ansible-core@2.19.") for purl in purls)
    unlicensed = {
        component["name"]
        for component in document["components"]
        if component["purl"].startswith("pkg:pypi/") and not component.get("licenses")
    }
    assert unlicensed == set(), f"{sys.executable} has distributions that do not say their licence"


def test_the_licences_of_a_debian_package_are_those_that_its_copyright_file_names(
    sbom: object, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "libone").mkdir()
    (tmp_path / "libone" / "copyright").write_text("Files: *\nLicense: Expat\n\nFiles: a\nLicense: GPL-2+\n text\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "copyright").write_text("The text is in /usr/share/common-licenses/LGPL-2.1.\n")
    lines = ["libone\t1\tamd64\tone", "libone-data\t1\tall\tone", "old\t1\tall\told", "bare\t1\tall\tbase"]
    found = {
        component["name"]: [licence["license"]["name"] for licence in component["licenses"]]
        for component in sbom.debian_packages(lines, tmp_path)  # type: ignore[attr-defined]
    }
    assert found == {
        "libone": ["Expat", "GPL-2+"],
        # Of the same source, and its own folder was a link to the other's.
        "libone-data": ["Expat", "GPL-2+"],
        "old": ["LGPL-2.1"],
        "bare": ["as of Debian's base"],
    }
