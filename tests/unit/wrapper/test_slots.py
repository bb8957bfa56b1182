# SPDX-License-Identifier: Apache-2.0
"""How many passes the memory of a container allows."""

from __future__ import annotations

import pathlib

import pytest
from nova_compute_operator import slots

MIB = 2**20


@pytest.mark.case("B4")
@pytest.mark.parametrize(
    ("wanted", "limit", "given"),
    [
        (8, None, 8),
        (8, 1024 * MIB, 6),
        (2, 1024 * MIB, 2),
        (8, 300 * MIB, 1),
        (8, 1, 1),
    ],
    ids=["no limit", "less than asked", "as asked", "too little", "nothing"],
)
def test_slots_are_those_that_fit_into_the_limit(wanted: int, limit: int | None, given: int) -> None:
    assert slots.affordable(wanted, limit) == given


def write(file: pathlib.Path, text: str) -> pathlib.Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_smallest_limit_of_the_groups_around_the_process_counts(tmp_path: pathlib.Path) -> None:
    own = write(tmp_path / "own", "0::/kubepods/pod/container\n")
    groups = tmp_path / "cgroup"
    write(groups / "kubepods" / "memory.max", "4096000")
    write(groups / "kubepods" / "pod" / "memory.max", "1024000\n")
    write(groups / "kubepods" / "pod" / "container" / "memory.max", "max")
    assert slots.memory_limit(groups, own) == 1024000


def test_a_container_that_sees_only_its_own_group_has_its_limit(tmp_path: pathlib.Path) -> None:
    own = write(tmp_path / "own", "0::/kubepods/pod/container\n")
    write(tmp_path / "cgroup" / "memory.max", "2048000")
    assert slots.memory_limit(tmp_path / "cgroup", own) == 2048000


def test_the_first_version_of_control_groups_is_read_too(tmp_path: pathlib.Path) -> None:
    own = write(tmp_path / "own", "9:cpu,cpuacct:/a\n7:memory:/a\n")
    write(tmp_path / "cgroup" / "memory" / "a" / "memory.limit_in_bytes", "512000")
    write(tmp_path / "cgroup" / "memory" / "memory.limit_in_bytes", "9223372036854771712")
    assert slots.memory_limit(tmp_path / "cgroup", own) == 512000


def test_no_limit_is_none(tmp_path: pathlib.Path) -> None:
    assert slots.memory_limit(tmp_path / "cgroup", write(tmp_path / "own", "0::/\n")) is None
    assert slots.memory_limit(tmp_path / "cgroup", tmp_path / "nothing") is None
