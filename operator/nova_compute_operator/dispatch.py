# SPDX-License-Identifier: Apache-2.0
"""Brings watches, queue and passes together: starts a pass when one is due and a slot is free.

One global number of slots, whatever the number of pools, so that a restart with two hundred pools due at once takes no
more memory than any other moment.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from nova_compute_operator import (
    folders,
    last_slot,
    log,
    metrics,
    outcomes,
    passes,
    processes,
    queue,
    triggers,
    unfinished,
)

logger = logging.getLogger(__name__)

_RESULTS = {
    outcomes.Verdict.DONE: queue.Result.DONE,
    outcomes.Verdict.FAILED: queue.Result.FAILED,
    outcomes.Verdict.TIMEOUT: queue.Result.FAILED,
    outcomes.Verdict.CANCELLED: queue.Result.CANCELLED,
}

# How often the dispatcher looks round when nothing wakes it.
_TICK = 10.0


class Runs(Protocol):
    """What runs one pass."""

    def run(self, pool: str, cancel: passes.Cancel, *, verbosity: int | None = None) -> outcomes.Outcome:
        """Run a pass over the pool and return what became of it. With a verbosity, log what it prints, too."""


class Dispatcher:
    """Owns the queue and the slots."""

    def __init__(
        self,
        *,
        runs: Runs,
        store: folders.Folders,
        numbers: metrics.Metrics,
        slots: int,
        sync_period: float,
        on_unfinished: Callable[[str, outcomes.Outcome], None],
        on_death: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = runs
        self._store = store
        self._numbers = numbers
        self._slots = slots
        self._on_unfinished = on_unfinished
        self._on_death = on_death
        self._clock = clock
        self._queue = queue.Queue(clock=clock, sync_period=sync_period)
        self._triggers = triggers.Triggers()
        self._last_slot = last_slot.LastSlot(self._triggers, clock=clock)
        self._cancel = passes.Cancel()
        self._undertaker = processes.Undertaker()
        # Guards the queue, the triggers, the last slot and the three below; notified whenever one of them changes.
        self._news = threading.Condition()
        self._open = False
        self._closing = False
        self._workers: set[threading.Thread] = set()
        self._thread = threading.Thread(target=self._work, name="dispatcher", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether it still does its work."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many pools have a look ahead of them."""
        with self._news:
            return len(self._queue)

    @property
    def running(self) -> int:
        """How many passes run."""
        with self._news:
            return len(self._queue.running)

    @property
    def pools(self) -> int:
        """How many pools there are."""
        with self._news:
            return len(self._triggers.pools)

    @property
    def phases(self) -> list[tuple[str, str, int]]:
        """Pool, phase and how many of the pool's nodes are in it."""
        with self._news:
            return self._triggers.phases()

    def start(self) -> None:
        """Begin; passes start only after `open`."""
        self._thread.start()

    def open(self) -> None:
        """Let passes start from now on."""
        with self._news:
            self._open = True
            self._news.notify_all()

    def take(self, change: triggers.Change) -> None:
        """Make due whom the change concerns."""
        with self._news:
            for wake in self._triggers.wakes(change):
                logger.debug("Due", extra=log.fields(pool=wake.pool, kind=change.kind, name=change.name))
                if wake.urgency is None:
                    self._store.forget(wake.pool, running=wake.pool in self._queue.running)
                    self._queue.forget(wake.pool)
                else:
                    self._queue.add(wake.pool, wake.urgency)
            self._news.notify_all()

    def close(self, *, grace: float) -> bool:
        """Start nothing more, wait for what runs, end it past the grace time. Returns whether nothing was cut off."""
        with self._news:
            self._closing = True
            self._news.notify_all()
            workers = list(self._workers)
        deadline = self._clock() + grace
        for worker in workers:
            worker.join(max(0.0, deadline - self._clock()))
        cut = [worker for worker in workers if worker.is_alive()]
        self._cancel.set()
        for worker in cut:
            worker.join(10.0)
        return not cut

    def _work(self) -> None:
        try:
            while self._round():
                pass
        except Exception:
            logger.exception("The dispatcher failed")
            self._on_death("the dispatcher failed")

    def _round(self) -> bool:
        """Start at most one pass, or wait; returns whether there will be another round."""
        with self._news:
            if self._closing:
                return False
            free = self._open and len(self._queue.running) < self._slots
            denied, deferred = self._last_slot.refusals() if self._is_last() else (frozenset(), frozenset())
            entry = (self._queue.take(denied | deferred) or self._queue.take(denied)) if free else None
            if entry is None:
                due = self._queue.wait(denied) if free else None
                self._news.wait(_TICK if due is None else min(due, _TICK))
            else:
                self._last_slot.began(entry.pool)
                self._numbers.started(self._clock() - entry.due)
                order = (entry.pool, self._triggers.verbosity(entry.pool))
                worker = threading.Thread(target=self._pass, args=order, name=f"pass-{entry.pool}", daemon=True)
                self._workers.add(worker)
                worker.start()
        reaped = self._undertaker.sweep(self._clock())
        if reaped:
            logger.info("Reaped orphans", extra=log.fields(count=len(reaped)))
        return True

    def _is_last(self) -> bool:
        """Whether one slot is free, of several: a single one is for everybody."""
        return len(self._queue.running) == self._slots - 1 > 0

    def _pass(self, pool: str, verbosity: int | None) -> None:
        began = self._clock()
        try:
            outcome = self._runs.run(pool, self._cancel, verbosity=verbosity)
            if outcome.verdict in unfinished.REASONS:
                # While the pool still counts as running: what is written now must not meet the next pass.
                self._on_unfinished(pool, outcome)
        except Exception:
            # One pool's trouble must not take the slot away from all others.
            logger.exception("A pass broke", extra=log.fields(pool=pool))
            outcome = outcomes.Outcome(verdict=outcomes.Verdict.FAILED, seconds=self._clock() - began)
        with self._news:
            self._numbers.ended(outcome)
            self._queue.done(pool, _RESULTS[outcome.verdict], next_look=outcome.next_look)
            self._last_slot.ended(pool, outcome)
            self._workers.discard(threading.current_thread())
            self._news.notify_all()
