# SPDX-License-Identifier: Apache-2.0
"""Paths inside another root never lead out of it."""

from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from novalab.agent import rootpath


def test_absolute_link_means_a_path_of_its_own_root(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("/run")
    assert rootpath.resolve(str(tmp_path), "/var/run/secrets") == f"{tmp_path}/run/secrets"


def test_relative_link_is_followed_from_its_folder(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/link").symlink_to("b")
    assert rootpath.resolve(str(tmp_path), "a/link/c") == f"{tmp_path}/a/b/c"


def test_link_upwards_ends_at_the_root(tmp_path: pathlib.Path) -> None:
    (tmp_path / "out").symlink_to("../../../../etc")
    assert rootpath.resolve(str(tmp_path), "/out/passwd") == f"{tmp_path}/etc/passwd"


def test_what_does_not_exist_is_taken_as_it_is(tmp_path: pathlib.Path) -> None:
    assert rootpath.resolve(str(tmp_path), "/no/such/thing") == f"{tmp_path}/no/such/thing"


def test_links_in_a_circle_are_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="too many links"):
        rootpath.resolve(str(tmp_path), "a")


@given(st.lists(st.sampled_from(["..", ".", "a", "", "up"]), max_size=12))
def test_no_path_leads_above_the_root(parts: list[str]) -> None:
    root = "/nowhere/that/exists"
    found = rootpath.resolve(root, "/".join(parts))
    assert found == root or found.startswith(f"{root}/")
    assert ".." not in found
