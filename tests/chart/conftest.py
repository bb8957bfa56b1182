# SPDX-License-Identifier: Apache-2.0
"""The chart, rendered by Helm with chosen values. No cluster is needed."""

from __future__ import annotations

import pytest
from chart import helm


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory) -> helm.Chart:
    """The chart of this tree."""
    return helm.Chart(helm.Helm.find(tmp_path_factory.mktemp("helm")))
