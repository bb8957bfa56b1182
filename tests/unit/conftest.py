# SPDX-License-Identifier: Apache-2.0
"""An OpenStack that is a thread of the test, dialled directly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from unit.clients import openstack


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[openstack.OpenStack]:
    monkeypatch.setenv("NOVA_COMPUTE_REACH", "direct")
    made = openstack.OpenStack()
    with made.server.running():
        yield made
