# SPDX-License-Identifier: Apache-2.0
"""The files of passes on disk: one fresh folder per pass, a bounded number of bytes over all pools.

Runs that share a folder mix up each other's variables, and artifacts that nobody removes fill the disk or use up its
inodes. So nothing is shared, the last folders are kept for a look at what happened, and the oldest go first.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import pathlib
import shutil
import tempfile
import threading
from typing import IO

# What finished passes may keep, over all pools. Folders belong into memory-backed storage, where this counts.
LIMIT_BYTES = 32 * 2**20
KEPT_PER_POOL = 2


class FolderInUseError(Exception):
    """Another process uses the same private data folder."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Kept:
    pool: str
    path: pathlib.Path
    size: int


class Folders:
    """Hands out folders for passes and takes them back. Safe to use from several threads."""

    def __init__(self, root: pathlib.Path | None, *, limit_bytes: int = LIMIT_BYTES) -> None:
        """Take the root over, and remove what an earlier process left in it. Without a root, make one in $TMPDIR."""
        self._own = root is None
        self._root = root or pathlib.Path(tempfile.mkdtemp(prefix="nova-compute-operator-"))
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock_file = _locked(self._root / "lock")
        self._passes = self._root / "passes"
        shutil.rmtree(self._passes, ignore_errors=True)
        self._passes.mkdir(mode=0o700)
        #: What Ansible writes of a process that runs no pass itself.
        self.home = self._root / "home"
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(mode=0o700)
        self._limit = limit_bytes
        self._kept: list[_Kept] = []
        self._gone: set[str] = set()
        self._lock = threading.Lock()

    @property
    def kept_bytes(self) -> int:
        """How much finished passes occupy."""
        with self._lock:
            return sum(kept.size for kept in self._kept)

    def take(self, pool: str, pass_id: str) -> pathlib.Path:
        """A fresh folder for one pass."""
        with self._lock:
            self._gone.discard(pool)
        # A slash cannot be part of a file name, and an underscore cannot be part of a pool's name.
        path = self._passes / f"{pool.replace('/', '_')}_{pass_id}"
        path.mkdir(mode=0o700)
        return path

    def give_back(self, pool: str, path: pathlib.Path) -> None:
        """The pass has ended: keep its folder as long as there is room, unless its pool is gone."""
        kept = _Kept(pool=pool, path=path, size=_size(path))
        with self._lock:
            self._kept.append(kept)
            same = [one for one in self._kept if one.pool == pool]
            leaving = same if pool in self._gone else same[:-KEPT_PER_POOL]
            self._gone.discard(pool)
            room = self._limit - sum(one.size for one in self._kept if one not in leaving)
            for one in self._kept:
                if room >= 0:
                    break
                if one not in leaving:
                    leaving.append(one)
                    room += one.size
            self._remove(leaving)

    def forget(self, pool: str, *, running: bool) -> None:
        """The pool is gone: remove its folders, the one of a running pass when it ends."""
        with self._lock:
            if running:
                self._gone.add(pool)
            self._remove([one for one in self._kept if one.pool == pool])

    def close(self) -> None:
        """Remove everything that this process put there."""
        shutil.rmtree(self._passes, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)
        self._lock_file.close()
        if self._own:
            shutil.rmtree(self._root, ignore_errors=True)

    def _remove(self, leaving: list[_Kept]) -> None:
        self._kept = [one for one in self._kept if one not in leaving]
        for one in leaving:
            shutil.rmtree(one.path, ignore_errors=True)


def _locked(path: pathlib.Path) -> IO[str]:
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise FolderInUseError(
            f"{path.parent} is in use by another process: end it, or name another folder with --private-data-dir"
        ) from error
    return file


def _size(path: pathlib.Path) -> int:
    """Bytes on disk of everything below, counted in blocks, because many small files cost more than their length."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in (".", *names):
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118  # hot: a pass writes hundreds
            except FileNotFoundError:
                continue
    return total
