# SPDX-License-Identifier: Apache-2.0
"""Which pool is looked at next, and when.

Level-triggered: an entry says only that a pool is due, never what happened to it, so any number of reasons merge into
one entry. Pure but for the injected clock; the caller holds a lock around it.

Order among the pools that are due: a change of the pool itself, then a node that comes to it or leaves it, then a
change of something else around it, then a look that only the time asked for. A look that has waited too long counts as
a change, so that no kind of work can starve another. Within one kind the earliest due time wins.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection

# Doubling from the floor to the cap. The cap is the one of sibling operators; the floor is higher than their 5 ms,
# because a pass costs more than a call of a Go function does.
BACKOFF_FLOOR = 1.0
BACKOFF_CAP = 30.0

# What a pass does to a pool's own children comes back as an event about them. A breath between two passes merges a
# rollout's many events into few passes, and keeps a pool that fails at once from spinning.
WAKE_GAP = 1.0

# After this long a due look goes ahead of changes that came later.
PATIENCE = 30.0


class Urgency(enum.IntEnum):
    """Why a pool is due; the smaller goes first."""

    CHANGED = 0
    MOVED = 1
    WOKEN = 2
    LOOK = 3


class Result(enum.Enum):
    """How a pass ended, as far as the time of the next one depends on it."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A pool that is to be looked at from `due` on, in seconds of the queue's clock."""

    pool: str
    due: float
    urgency: Urgency


class Queue:
    """At most one entry and at most one running pass per pool."""

    def __init__(self, *, clock: Callable[[], float], sync_period: float) -> None:
        self._clock = clock
        self._sync_period = sync_period
        self._waiting: dict[str, Entry] = {}
        self._running: set[str] = set()
        self._forgotten: set[str] = set()
        self._failures: dict[str, int] = {}
        self._ended: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> frozenset[str]:
        """The pools that a pass is running over."""
        return frozenset(self._running)

    def add(self, pool: str, urgency: Urgency) -> None:
        """Make a pool due now. A change of the pool itself also forgets that earlier passes failed."""
        now = self._clock()
        self._forgotten.discard(pool)
        if urgency is Urgency.CHANGED:
            self._failures.pop(pool, None)
        elif urgency is Urgency.WOKEN and pool in self._ended:
            now = max(now, self._ended[pool] + WAKE_GAP)
        self._merge(Entry(pool=pool, due=now, urgency=urgency))

    def forget(self, pool: str) -> None:
        """The pool is gone: it is not due any more, and the end of a running pass does not bring it back."""
        self._waiting.pop(pool, None)
        self._failures.pop(pool, None)
        self._ended.pop(pool, None)
        if pool in self._running:
            self._forgotten.add(pool)

    def take(self, held_back: Collection[str] = ()) -> Entry | None:
        """The entry whose pass starts now, or None when nothing is due. Its pool counts as running until `done`.

        A pool that is `held_back` stays due.
        """
        now = self._clock()
        due = [entry for entry in self._startable(held_back) if entry.due <= now]
        if not due:
            return None
        first = min(due, key=lambda entry: (self._rank(entry, now), entry.due, entry.pool))
        del self._waiting[first.pool]
        self._running.add(first.pool)
        return first

    def done(self, pool: str, result: Result, *, next_look: float | None = None) -> float | None:
        """Record the end of a pass; `next_look` is the seconds it asked to wait. Returns the seconds to the next."""
        now = self._clock()
        self._running.discard(pool)
        if pool in self._forgotten:
            self._forgotten.discard(pool)
            return None
        self._ended[pool] = now
        changed_meanwhile = pool in self._waiting and self._waiting[pool].urgency is Urgency.CHANGED
        if result is Result.FAILED and not changed_meanwhile:
            self._failures[pool] = self._failures.get(pool, 0) + 1
            delay = backoff(self._failures[pool])
        else:
            self._failures.pop(pool, None)
            delay = min(next_look or self._sync_period, self._sync_period)
        if pool in self._waiting and self._waiting[pool].urgency is Urgency.WOKEN:
            woken = self._waiting.pop(pool)
            self._merge(dataclasses.replace(woken, due=max(woken.due, now + WAKE_GAP)))
        self._merge(Entry(pool=pool, due=now + delay, urgency=Urgency.LOOK))
        return max(0.0, self._waiting[pool].due - now)

    def wait(self, held_back: Collection[str] = ()) -> float | None:
        """Seconds until `take` can return something new, or None when only an addition or an end can change that."""
        due = [entry.due for entry in self._startable(held_back)]
        return max(0.0, min(due) - self._clock()) if due else None

    def _startable(self, held_back: Collection[str]) -> list[Entry]:
        return [
            entry for entry in self._waiting.values() if entry.pool not in self._running and entry.pool not in held_back
        ]

    def _merge(self, entry: Entry) -> None:
        other = self._waiting.get(entry.pool)
        if other is not None:
            entry = Entry(pool=entry.pool, due=min(entry.due, other.due), urgency=min(entry.urgency, other.urgency))
        self._waiting[entry.pool] = entry

    @staticmethod
    def _rank(entry: Entry, now: float) -> int:
        return Urgency.CHANGED if now - entry.due > PATIENCE else entry.urgency


def backoff(failures: int) -> float:
    """Seconds to wait after that many failures in a row."""
    return min(BACKOFF_CAP, BACKOFF_FLOOR * 2.0 ** min(failures - 1, 30))
