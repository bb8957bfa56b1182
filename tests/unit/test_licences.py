# SPDX-License-Identifier: Apache-2.0
"""Every file of the tree says its licence, and it is the one that the README names."""

from __future__ import annotations

import pathlib
import re

import pages

#: What Ansible loads as a plugin. Its `module_utils` are libraries, which Ansible asks nothing of.
PLUGINS = ("collections/ansible_collections/c5c3/nova/plugins/", "tests/plays/collection/")
LIBRARIES = "collections/ansible_collections/c5c3/nova/plugins/module_utils/"
#: What cannot say it, or is written by a program.
SILENT = ("*.json", "*.sum", "*.txt", ".gitignore", ".yamllintignore")


def sources() -> list[pathlib.Path]:
    """The files of the tree that have something to say."""
    return [
        path for path in pages.files() if path.stat().st_size and not any(path.match(pattern) for pattern in SILENT)
    ]


def licence(path: pathlib.Path) -> str:
    """The licence of a file by the README."""
    name = path.relative_to(pages.TREE).as_posix()
    is_plugin = name.startswith(PLUGINS) and not name.startswith(LIBRARIES)
    return "GPL-3.0-or-later" if is_plugin else "Apache-2.0"


def stated(path: pathlib.Path) -> list[str]:
    """The licences that a file says at its beginning."""
    return re.findall(r"SPDX-License-Identifier: ([\w.-]+)", path.read_text(encoding="utf-8")[:500])


def test_every_file_says_its_licence() -> None:
    found = sources()
    assert found
    wrong = {path: said for path in found if (said := stated(path)) != [licence(path)]}
    assert wrong == {}
