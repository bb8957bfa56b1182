# SPDX-License-Identifier: Apache-2.0
"""`make demo`, as the README has it: it comes to a good end, and leaves nothing."""

from __future__ import annotations

import pathlib

import pytest
from e2e.world import stand

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.page("README.md", "See it, and prove it")
def test_demo_comes_to_a_good_end_and_takes_away_what_it_made(the_stand: stand.Stand) -> None:
    comes_to_a_good_end(the_stand)


@pytest.mark.parametrize(
    "where",
    [("TARGET=1",), ("TARGET=1", "TARGET_NOVA=1"), ("TARGET=2", "TARGET_NOVA=1")],
    ids=["pool on another cluster", "with its Nova", "each on its own"],
)
def test_demo_comes_to_a_good_end_elsewhere(the_stand: stand.Stand, where: tuple[str, ...]) -> None:
    comes_to_a_good_end(the_stand, *where)


def comes_to_a_good_end(the_stand: stand.Stand, *where: str) -> None:
    # Its poll times are the specification's; the lab is the one of these tests, which it finds by its name.
    the_stand.output("make", f"--directory={ROOT}", "demo", *where)
    assert the_stand.cluster.all("NovaCompute") == []
    assert (the_stand.cloud.services(), the_stand.cloud.servers()) == ({}, [])
