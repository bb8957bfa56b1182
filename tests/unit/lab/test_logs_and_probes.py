# SPDX-License-Identifier: Apache-2.0
"""Which log is served, from where on, and which port is probed."""

from __future__ import annotations

import io
import pathlib

import pytest
from novalab.agent import logserver, probe


def test_newest_run_is_found_by_number_not_by_name(tmp_path: pathlib.Path) -> None:
    for run in (2, 9, 10):
        (tmp_path / f"main.{run}.log").touch()
    assert logserver.newest(tmp_path, "main", previous=False) == tmp_path / "main.10.log"
    assert logserver.newest(tmp_path, "main", previous=True) == tmp_path / "main.9.log"


def test_log_of_a_container_with_a_longer_name_is_not_taken(tmp_path: pathlib.Path) -> None:
    (tmp_path / "main.x.0.log").touch()
    assert logserver.newest(tmp_path, "main", previous=False) is None


@pytest.mark.parametrize(
    ("content", "lines", "expected"),
    [
        (b"1\n2\n3\n", 2, b"2\n3\n"),
        (b"1\n2\n3", 2, b"2\n3"),
        (b"1\n2\n", 5, b"1\n2\n"),
        (b"1\n2\n", 0, b""),
        (b"", 3, b""),
    ],
)
def test_tail_begins_where_the_last_lines_do(content: bytes, lines: int, expected: bytes) -> None:
    file = io.BytesIO(content)
    logserver.skip_to_tail(file, lines)
    assert file.read() == expected


def test_port_is_found_by_its_name() -> None:
    assert probe.port_number("web", {"ports": [{"name": "web", "containerPort": 8774}]}) == 8774


def test_port_without_a_name_is_taken_as_it_is() -> None:
    assert probe.port_number(5000, {}) == 5000


def test_unknown_name_of_a_port_fails_the_probe() -> None:
    assert not probe.check({"httpGet": {"port": "none"}}, {}, "127.0.0.1")
