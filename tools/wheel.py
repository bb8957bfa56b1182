# SPDX-License-Identifier: Apache-2.0
"""Puts what a pass runs into the wheel: in the tree it lies at the root, where people look for a playbook."""

from __future__ import annotations

import pathlib
from typing import Any

from hatchling.builders.hooks.plugin import interface

PROJECT = "nova_compute_operator/project"
"""The folder of the package that takes the place of the tree's root, see `nova_compute_operator.settings`."""

PARTS = ("ansible.cfg", "inventory", "playbooks", "roles")


class Project(interface.BuildHookInterface):  # type: ignore[type-arg]
    """Called by the build; an editable install has the tree itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            root = pathlib.Path(self.root)
            build_data["force_include"] |= {str(root / part): f"{PROJECT}/{part}" for part in PARTS}
