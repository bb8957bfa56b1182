# SPDX-License-Identifier: Apache-2.0
"""The lab is no part of the product and so on no path of it."""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "lab"))

from novalab import lab as labs
from novalab.openstack import settings

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def cloud(tmp_path: pathlib.Path) -> settings.Cloud:
    """The OpenStack of a lab in slot 0, with its keys but nothing that runs."""
    made = settings.Cloud(labs.Lab(name="test", root=tmp_path, slot=0))
    for kind in ("fernet", "credential"):
        folder = made.root / "keystone" / kind
        folder.mkdir(parents=True)
        (folder / "0").write_text(f"{kind}-key-0")
    return made


@pytest.fixture
def secrets_of() -> Callable[[settings.Cloud], list[str]]:
    """Every secret of a lab, as text that may stand nowhere but in Secrets."""

    def find(cloud: settings.Cloud) -> list[str]:
        passwords = cloud.passwords
        return [str(value) for value in vars(passwords).values()] + ["fernet-key-0", "credential-key-0"]

    return find
