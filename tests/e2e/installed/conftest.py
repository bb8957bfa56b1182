# SPDX-License-Identifier: Apache-2.0
"""The operator as the chart installs it: the built wheel in pods of its Deployment, with the chart's rights alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.conftest import POLL_SCALE
from e2e.world import installed, stand
from e2e.world import world as worlds


@pytest.fixture
def operator(the_stand: stand.Stand) -> Iterator[installed.InstalledOperator]:
    one = installed.InstalledOperator(the_stand, poll_scale=POLL_SCALE)
    try:
        yield one
    finally:
        one.stop()


@pytest.fixture
def world(
    the_stand: stand.Stand, operator: installed.InstalledOperator, flavor: str, image: str
) -> Iterator[worlds.World]:
    one = worlds.World(the_stand, operator, flavor=flavor, image=image)
    try:
        yield one
    finally:
        one.clean_up()
