# SPDX-License-Identifier: Apache-2.0
"""Who is looked at next: facts by example, then what holds for every order of events."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from nova_compute_operator import queue

CHANGED, MOVED, WOKEN, LOOK = queue.Urgency
DONE, FAILED = queue.Result.DONE, queue.Result.FAILED
SYNC = 600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pools(clock: Clock) -> queue.Queue:
    return queue.Queue(clock=clock, sync_period=SYNC)


def taken(pools: queue.Queue) -> str | None:
    entry = pools.take()
    return entry.pool if entry else None


def passed(pools: queue.Queue, pool: str, result: queue.Result, next_look: float | None = None) -> float | None:
    pools.add(pool, CHANGED)
    assert taken(pools) == pool
    return pools.done(pool, result, next_look=next_look)


def test_many_reasons_make_one_pass(pools: queue.Queue) -> None:
    for urgency in (WOKEN, CHANGED, LOOK, CHANGED):
        pools.add("a", urgency)
    assert (taken(pools), taken(pools)) == ("a", None)


@pytest.mark.case("B3")
def test_a_changed_pool_goes_before_looks_that_were_due_earlier(pools: queue.Queue, clock: Clock) -> None:
    for pool in ("a", "b", "c"):
        pools.add(pool, LOOK)
    clock.now += 5
    pools.add("new", CHANGED)
    assert taken(pools) == "new"


def test_a_change_goes_before_a_node_that_moved_that_before_a_wake_and_a_wake_before_a_look(pools: queue.Queue) -> None:
    pools.add("look", LOOK)
    pools.add("woken", WOKEN)
    pools.add("node moved", MOVED)
    pools.add("changed", CHANGED)
    assert [taken(pools) for _ in range(4)] == ["changed", "node moved", "woken", "look"]


@pytest.mark.case("B3")
def test_a_look_that_waited_too_long_goes_before_a_change(pools: queue.Queue, clock: Clock) -> None:
    pools.add("look", LOOK)
    clock.now += queue.PATIENCE + 1
    pools.add("changed", CHANGED)
    assert taken(pools) == "look"


def test_the_earliest_due_time_wins_among_equals(pools: queue.Queue, clock: Clock) -> None:
    passed(pools, "later", DONE, 20)
    passed(pools, "sooner", DONE, 10)
    clock.now += 25
    assert taken(pools) == "sooner"


def test_a_pass_is_followed_by_a_look_at_the_time_it_asked_for(pools: queue.Queue, clock: Clock) -> None:
    assert passed(pools, "a", DONE, 15) == 15
    clock.now += 14.9
    assert taken(pools) is None
    clock.now += 0.2
    assert taken(pools) == "a"


@pytest.mark.parametrize("asked", [None, 0.0, 10 * SYNC])
def test_a_pool_is_looked_at_once_per_sync_period_at_least(pools: queue.Queue, asked: float | None) -> None:
    assert passed(pools, "a", DONE, asked) == SYNC


@pytest.mark.case("B9")
def test_a_pool_has_one_pass_at_a_time(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    assert taken(pools) == "a"
    pools.add("a", CHANGED)
    assert taken(pools) is None


def test_a_change_during_a_pass_runs_another_one_right_after(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    taken(pools)
    pools.add("a", CHANGED)
    assert pools.done("a", DONE, next_look=60) == 0
    assert taken(pools) == "a"


def test_what_a_pass_does_to_its_own_children_wakes_it_after_a_breath(pools: queue.Queue, clock: Clock) -> None:
    pools.add("a", CHANGED)
    taken(pools)
    pools.add("a", WOKEN)
    assert pools.done("a", DONE, next_look=60) == queue.WAKE_GAP
    assert taken(pools) is None
    clock.now += queue.WAKE_GAP
    assert taken(pools) == "a"


def test_a_node_that_moves_during_a_pass_is_looked_at_right_after(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    taken(pools)
    pools.add("a", WOKEN)
    pools.add("a", MOVED)
    assert pools.done("a", DONE, next_look=60) == 0
    assert taken(pools) == "a"


@pytest.mark.case("B25")
def test_failures_in_a_row_wait_longer_each_time_up_to_the_cap(pools: queue.Queue, clock: Clock) -> None:
    pools.add("a", CHANGED)
    waits = []
    for _ in range(8):
        assert taken(pools) == "a"
        waits.append(pools.done("a", FAILED))
        clock.now += waits[-1] or 0
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_failed_pass_ignores_what_it_asked_for(pools: queue.Queue) -> None:
    assert passed(pools, "a", FAILED, 60) == queue.BACKOFF_FLOOR


@pytest.mark.case("B25")
def test_a_change_forgets_earlier_failures(pools: queue.Queue) -> None:
    for _ in range(5):
        assert passed(pools, "a", FAILED) == queue.BACKOFF_FLOOR


def test_a_pass_that_failed_over_an_old_spec_does_not_delay_the_new_one(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    taken(pools)
    pools.add("a", CHANGED)
    assert pools.done("a", FAILED) == 0


def test_success_forgets_earlier_failures(pools: queue.Queue, clock: Clock) -> None:
    passed(pools, "a", FAILED)
    for result in (DONE, FAILED):
        clock.now += SYNC
        assert taken(pools) == "a"
        wait = pools.done("a", result)
    assert wait == queue.BACKOFF_FLOOR


def test_a_pool_that_is_gone_is_not_looked_at(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    pools.forget("a")
    assert (taken(pools), len(pools)) == (None, 0)


def test_the_end_of_a_pass_does_not_bring_back_a_pool_that_is_gone(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    taken(pools)
    pools.forget("a")
    assert pools.done("a", DONE, next_look=10) is None
    assert (len(pools), pools.wait()) == (0, None)


def test_a_pool_made_anew_during_its_last_pass_is_looked_at(pools: queue.Queue) -> None:
    pools.add("a", CHANGED)
    taken(pools)
    pools.forget("a")
    pools.add("a", CHANGED)
    pools.done("a", DONE, next_look=10)
    assert taken(pools) == "a"


def test_the_wait_is_until_the_next_due_time_of_a_pool_that_may_run(pools: queue.Queue, clock: Clock) -> None:
    assert pools.wait() is None
    passed(pools, "a", DONE, 15)
    clock.now += 5
    assert pools.wait() == 10
    pools.add("b", CHANGED)
    taken(pools)
    pools.add("b", CHANGED)
    assert pools.wait() == 10


class EveryOrder(RuleBasedStateMachine):
    """Two pools and any order of events: what must hold whatever happens."""

    pool_names = st.sampled_from(["a", "b"])
    # Eighths of a second, which add up without rounding.
    seconds = st.integers(1, 6000).map(lambda eighths: eighths / 8)

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.queue = queue.Queue(clock=self.clock, sync_period=SYNC)
        self.running: set[str] = set()
        self.exist: set[str] = set()
        self.unseen: set[str] = set()

    @rule(pool=pool_names, urgency=st.sampled_from(queue.Urgency))
    def add(self, pool: str, urgency: queue.Urgency) -> None:
        self.queue.add(pool, urgency)
        self.exist.add(pool)
        self.unseen.add(pool)

    @rule(pool=pool_names)
    def forget(self, pool: str) -> None:
        self.queue.forget(pool)
        self.exist.discard(pool)
        self.unseen.discard(pool)

    @rule(seconds=seconds)
    def let_time_pass(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def take(self) -> None:
        entry = self.queue.take()
        if entry is None:
            return
        assert entry.pool not in self.running
        assert entry.pool in self.exist
        assert entry.due <= self.clock.now
        self.running.add(entry.pool)
        self.unseen.discard(entry.pool)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), result=st.sampled_from([DONE, FAILED]), asked=st.none() | st.just(0.0) | seconds)
    def end(self, data: st.DataObject, result: queue.Result, asked: float | None) -> None:
        pool = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(pool)
        wait = self.queue.done(pool, result, next_look=asked)
        assert (wait is None) == (pool not in self.exist)
        assert wait is None or 0 <= wait <= SYNC

    @invariant()
    def every_pool_runs_or_has_a_look_ahead_within_the_sync_period(self) -> None:
        idle = self.exist - self.running
        assert len(self.queue) >= len(idle)
        if idle and not self.running:
            wait = self.queue.wait()
            assert wait is not None
            assert wait <= SYNC

    @invariant()
    def no_reason_is_lost_once_the_passes_end(self) -> None:
        if not self.running and self.unseen:
            wait = self.queue.wait()
            assert wait is not None
            assert wait <= queue.WAKE_GAP


TestEveryOrder = EveryOrder.TestCase
TestEveryOrder.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
