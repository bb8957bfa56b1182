# SPDX-License-Identifier: Apache-2.0
"""What passes leave on disk."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from nova_compute_operator import folders


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "data"


@pytest.fixture
def store(root: pathlib.Path) -> Iterator[folders.Folders]:
    made = folders.Folders(root, limit_bytes=2**20)
    yield made
    made.close()


def use(store: folders.Folders, pool: str, pass_id: str, size: int = 1000) -> pathlib.Path:
    path = store.take(pool, pass_id)
    (path / "artifact").write_bytes(b"x" * size)
    store.give_back(pool, path)
    return path


@pytest.mark.case("B9")
def test_each_pass_has_a_folder_of_its_own_that_only_the_operator_may_read(store: folders.Folders) -> None:
    first, second = store.take("ns/a", "1"), store.take("ns/a", "2")
    assert first != second
    assert first.stat().st_mode & 0o777 == 0o700


def test_pools_whose_names_join_alike_do_not_share_a_folder(store: folders.Folders) -> None:
    assert store.take("a-b/c", "1") != store.take("a/b-c", "1")


def test_the_last_folders_of_a_pool_are_kept_for_a_look(store: folders.Folders) -> None:
    paths = [use(store, "ns/a", str(number)) for number in range(5)]
    assert [path.exists() for path in paths] == [False] * 3 + [True] * folders.KEPT_PER_POOL


@pytest.mark.case("B1")
def test_a_thousand_passes_over_many_pools_stay_within_the_limit(store: folders.Folders, root: pathlib.Path) -> None:
    for number in range(1000):
        use(store, f"ns/pool-{number % 50}", str(number), size=60_000)
    left = sum(path.stat().st_blocks * 512 for path in root.rglob("*") if path.is_file())
    assert left <= 2**20
    assert left == pytest.approx(store.kept_bytes, abs=2**18)


def test_one_folder_over_the_limit_does_not_stay(store: folders.Folders) -> None:
    assert not use(store, "ns/a", "1", size=2 * 2**20).exists()


@pytest.mark.case("B1")
def test_a_pool_that_is_gone_leaves_nothing(store: folders.Folders, root: pathlib.Path) -> None:
    for number in range(50):
        use(store, f"ns/pool-{number}", "1")
        store.forget(f"ns/pool-{number}", running=False)
    assert list((root / "passes").iterdir()) == []


def test_a_pool_that_goes_during_its_pass_leaves_nothing(store: folders.Folders, root: pathlib.Path) -> None:
    path = store.take("ns/a", "1")
    store.forget("ns/a", running=True)
    assert path.exists()
    store.give_back("ns/a", path)
    assert list((root / "passes").iterdir()) == []


@pytest.mark.case("B1")
def test_what_an_earlier_process_left_is_wiped_at_the_start_and_nothing_else(root: pathlib.Path) -> None:
    (root / "passes" / "ns_a_1").mkdir(parents=True)
    (root / "notes").write_text("somebody's own")
    folders.Folders(root).close()
    assert [path.name for path in sorted(root.iterdir())] == ["lock", "notes"]


def test_two_processes_do_not_share_a_folder(store: folders.Folders, root: pathlib.Path) -> None:
    del store
    with pytest.raises(folders.FolderInUseError, match="--private-data-dir"):
        folders.Folders(root)


def test_a_folder_of_its_own_making_goes_at_the_end(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = folders.Folders(None)
    use(store, "ns/a", "1")
    store.close()
    assert list(tmp_path.iterdir()) == []
