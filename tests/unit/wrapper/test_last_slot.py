# SPDX-License-Identifier: Apache-2.0
"""Who may have the last free slot: no target cluster holds up the pools of others, nor a pool its neighbours."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from nova_compute_operator import last_slot, outcomes, triggers

PROMPT, SLOW, LATE = 1.0, last_slot.SLOW, last_slot.SLOW - 1


class Line:
    """Pools on clusters `a`, `b` and here, each named for its cluster, and the passes over them. Time is the test's."""

    def __init__(self) -> None:
        self.now = 0.0
        self._known = triggers.Triggers()
        self._slot = last_slot.LastSlot(self._known, clock=lambda: self.now)
        self._placed_novas: set[str] = set()
        for pool in ("a1", "a2", "a3", "b1", "b2", "here1", "here2"):
            self.have(pool, cluster={"a": "a", "b": "b"}.get(pool[0], ""))

    def have(self, pool: str, *, cluster: str = "", nova: str = "nova") -> None:
        view = triggers.View(own=pool, pool=f"ns/{pool}", nova=f"ns/{nova}", cluster=cluster)
        self._known.wakes(
            triggers.Change(kind="NovaCompute", namespace="ns", name=pool, before=None, after=view, initial=True)
        )

    def have_nova(self, nova: str, *, cluster: str) -> None:
        item = {"metadata": {"name": nova, "namespace": "ns"}, "spec": {"targetClusterRef": {"name": cluster}}}
        view = triggers.view_nova(item)
        self._known.wakes(triggers.Change(kind="Nova", namespace="ns", name=nova, before=None, after=view))

    def remove(self, pool: str) -> None:
        self._known.wakes(triggers.Change(kind="NovaCompute", namespace="ns", name=pool, before=None, after=None))

    def begin(self, *pools: str) -> None:
        for pool in pools:
            self._slot.began(f"ns/{pool}")

    def end(self, *pools: str, seconds: float, stalled: bool = False) -> None:
        outcome = outcomes.Outcome(verdict=outcomes.Verdict.DONE, seconds=seconds, stalled=stalled)
        for pool in pools:
            self._slot.ended(f"ns/{pool}", outcome)

    def ran(self, *pools: str, seconds: float = PROMPT, stalled: bool = False) -> None:
        self.begin(*pools)
        self.end(*pools, seconds=seconds, stalled=stalled)

    def denied(self) -> set[str]:
        return _names(self._slot.refusals()[0])

    def deferred(self) -> set[str]:
        return _names(self._slot.refusals()[1])


def _names(pools: Collection[str]) -> set[str]:
    return {pool.partition("/")[2] for pool in pools}


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def known(line: Line) -> Line:
    """Every pool has had a pass that was prompt."""
    line.ran("a1", "a2", "a3", "b1", "b2", "here1", "here2")
    return line


def test_pools_of_a_cluster_that_is_slow_are_denied_before_they_were_slow_themselves(known: Line) -> None:
    known.ran("a1", seconds=SLOW)
    known.begin("a2")
    assert known.denied() == {"a1", "a2", "a3"}
    assert known.deferred() == set()


def test_pools_of_a_cluster_that_does_not_answer_are_denied(known: Line) -> None:
    known.ran("a1", seconds=5, stalled=True)
    known.begin("a2")
    assert known.denied() == {"a1", "a2", "a3"}


def test_slow_clusters_share_what_they_may_have(known: Line) -> None:
    known.ran("a1", seconds=SLOW)
    known.ran("b1", seconds=5, stalled=True)
    known.begin("a2")
    assert known.denied() == {"a1", "a2", "a3", "b1", "b2"}


def test_pass_that_takes_long_counts_before_it_ends(known: Line) -> None:
    known.begin("a1")
    known.now += LATE
    assert known.denied() == set()
    known.now += 1
    assert known.denied() == {"a1", "a2", "a3"}


def test_nobody_is_denied_while_a_prompt_pool_has_a_slot(known: Line) -> None:
    known.ran("a1", seconds=SLOW)
    known.begin("a1", "here1")
    assert known.denied() == set()


def test_cluster_that_is_prompt_again_is_denied_nothing(known: Line) -> None:
    known.ran("a1", seconds=SLOW)
    known.ran("a1", "a2")
    known.begin("a3")
    assert known.denied() == set()


def test_pool_that_is_always_slow_leaves_a_slot_to_its_neighbours_too(known: Line) -> None:
    known.ran("a1", seconds=SLOW)
    known.ran("a2")
    for _ in range(3):
        known.begin("a1")
        known.now += SLOW
        assert known.denied() == {"a1"}
        known.end("a1", seconds=SLOW)


def test_slow_pool_of_this_cluster_speaks_for_itself_alone(known: Line) -> None:
    known.ran("here1", seconds=SLOW)
    known.begin("here1")
    assert known.denied() == {"here1"}


def test_cluster_that_nobody_knows_is_denied_the_last_slot_while_it_has_the_others(line: Line) -> None:
    line.begin("a1")
    assert line.denied() == {"a1", "a2", "a3"}
    line.end("a1", seconds=PROMPT)
    line.begin("a2")
    assert line.denied() == set()


def test_another_cluster_that_nobody_knows_comes_after_the_pools_that_are_known(line: Line) -> None:
    line.begin("a1")
    assert line.deferred() == {"b1", "b2"}
    line.end("a1", seconds=SLOW)
    line.begin("a2")
    assert line.deferred() == {"b1", "b2"}
    line.begin("here1")
    assert line.deferred() == set()


def test_cluster_that_has_the_other_slots_comes_after_the_pools_elsewhere(known: Line) -> None:
    known.begin("a1", "a2")
    assert (known.denied(), known.deferred()) == (set(), {"a1", "a2", "a3"})
    known.begin("b1")
    assert known.deferred() == set()


def test_pools_of_this_cluster_are_refused_nothing(line: Line) -> None:
    line.begin("here1")
    assert (line.denied(), line.deferred()) == (set(), set())


def test_slow_cluster_of_a_nova_is_that_of_its_pools(known: Line) -> None:
    known.have_nova("far", cluster="a")
    for pool in ("far1", "far2"):
        known.have(pool, nova="far")
    known.ran("far1", "far2")
    known.ran("far1", seconds=SLOW)
    known.begin("far1")
    assert known.denied() == {"far1", "far2"}


def test_slow_pool_that_is_gone_is_forgotten(known: Line) -> None:
    known.ran("here1", seconds=SLOW)
    known.remove("here1")
    known.ran("here2")
    known.have("here1")
    known.begin("here1")
    assert known.denied() == set()
