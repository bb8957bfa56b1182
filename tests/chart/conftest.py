# SPDX-License-Identifier: Apache-2.0
"""The chart, rendered by Helm with chosen values. No cluster is needed."""

from __future__ import annotations

import pathlib
import sys

import pytest

TREE = pathlib.Path(__file__).parents[2]
if str(TREE / "lab") not in sys.path:
    sys.path.insert(0, str(TREE / "lab"))

from chart import helm  # noqa: E402 - it needs the lab's folder


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory) -> helm.Chart:
    """The chart of this tree."""
    return helm.Chart(helm.Helm.find(tmp_path_factory.mktemp("helm")))
