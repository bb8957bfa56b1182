# SPDX-License-Identifier: Apache-2.0
"""Who may have the last free slot: a pass keeps its slot to its end, so it is not for those that may keep it long.

Otherwise one target cluster that is slow, hangs or is new would take every slot, and hold up the pools of all others.
A cluster cannot be told from its pools by one pass that took long: it is the cluster when it happens to a pool that was
prompt before, and the pool when it happens to that one again while its neighbours are prompt.

Pure but for the injected clock; the caller holds a lock around it.
"""

from __future__ import annotations

from collections.abc import Callable

from nova_compute_operator import outcomes, triggers

# A pass that takes this long, in seconds, waits for somebody: a cluster that answers slowly, or one with a great many
# nodes. It is the pace at which a cluster that does not answer at all is asked again.
SLOW = 15.0


class LastSlot:
    """What passes have met, by pool and by place."""

    def __init__(self, known: triggers.Triggers, *, clock: Callable[[], float]) -> None:
        self._known = known
        self._clock = clock
        # Of each pass that runs: where, and since when.
        self._running: dict[str, tuple[triggers.Place, float]] = {}
        self._slow: set[str] = set()
        # Whether passes are prompt there, once one has told. Never LOCAL: a pool there is slow by itself.
        self._prompt: dict[triggers.Place, bool] = {}

    def began(self, pool: str) -> None:
        """A pass over the pool begins."""
        self._running[pool] = (self._known.place(pool), self._clock())

    def ended(self, pool: str, outcome: outcomes.Outcome) -> None:
        """A pass over the pool has ended."""
        place, _ = self._running.pop(pool)
        if outcome.stalled:
            self._note_slow(pool, place, is_the_place=True)
        elif outcome.seconds >= SLOW:
            self._note_slow(pool, place)
        else:
            self._slow.discard(pool)
            self._note(place, prompt=True)
        self._slow &= self._known.pools

    def refusals(self) -> tuple[frozenset[str], frozenset[str]]:
        """The pools that the last free slot is not for, and those that it is for only when no other pool is due.

        Slow pools leave it to all others. So do the pools of a target cluster that has every other slot, strictly until
        a pass came back from there. Beside slow pools those of a cluster that nobody knows yet stand back, too.
        """
        for pool, (place, began) in self._running.items():
            if self._clock() - began >= SLOW:
                self._note_slow(pool, place)
        slow = self._slow | self._known.at({place for place, prompt in self._prompt.items() if not prompt})
        new = self._known.at(self._known.places - self._prompt.keys())
        busy = {place for place, _ in self._running.values()}
        crowd = self._known.at(busy) if len(busy) == 1 else set()
        denied, deferred = crowd & new, set(crowd)
        if self._running.keys() <= slow:
            denied |= slow
        if self._running.keys() <= slow | new:
            deferred |= new
        return frozenset(denied), frozenset(deferred - denied)

    def _note_slow(self, pool: str, place: triggers.Place, *, is_the_place: bool = False) -> None:
        if is_the_place or pool not in self._slow:
            self._note(place, prompt=False)
        self._slow.add(pool)

    def _note(self, place: triggers.Place, *, prompt: bool) -> None:
        if place != triggers.LOCAL:
            self._prompt[place] = prompt
