# SPDX-License-Identifier: Apache-2.0
"""The lab is no part of the product and so on no path of it."""

from __future__ import annotations

import pathlib
import sys

import pytest

LAB_FOLDER = str(pathlib.Path(__file__).resolve().parents[3] / "lab")
if LAB_FOLDER not in sys.path:
    sys.path.insert(0, LAB_FOLDER)

from unit.lab_hypervisor_operator import memory  # noqa: E402 - the lab's folder is known only now


@pytest.fixture
def site() -> memory.Site:
    """A cluster with the Node and the Hypervisor of host-1, and a Nova that has the host."""
    return memory.Site()
