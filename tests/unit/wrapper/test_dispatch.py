# SPDX-License-Identifier: Apache-2.0
"""From a change to a pass: slots, order, ends. What a pass does is scripted here."""

from __future__ import annotations

import dataclasses
import pathlib
import threading
from collections.abc import Callable, Iterator

import pytest
from nova_compute_operator import dispatch, folders, metrics, outcomes, passes, triggers
from unit.wrapper import running
from unit.wrapper.running import eventually

Act = Callable[[str, passes.Cancel], outcomes.Outcome]


class Script:
    """Passes that do what the test says, and a record of when they began and ended."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.most_at_once = 0
        self.gate = threading.Event()
        self.gate.set()
        self.verbosity: int | None = None
        self.act: Act = lambda *_: outcomes.Outcome(verdict=outcomes.Verdict.DONE, seconds=0.1)

    def run(self, pool: str, cancel: passes.Cancel, *, verbosity: int | None = None) -> outcomes.Outcome:
        self.verbosity = verbosity
        self.began.append(pool)
        self.most_at_once = max(self.most_at_once, len(self.began) - len(self.ended))
        try:
            while not self.gate.wait(0.01):
                if cancel.is_set:
                    return outcomes.Outcome(verdict=outcomes.Verdict.CANCELLED, seconds=0.1)
            return self.act(pool, cancel)
        finally:
            self.ended.append(pool)


def appears(name: str) -> triggers.Change:
    view = triggers.View(own=name, pool=f"ns/{name}", nova="ns/nova")
    return triggers.Change(kind="NovaCompute", namespace="ns", name=name, before=None, after=view, initial=True)


def goes(name: str) -> triggers.Change:
    view = appears(name).after
    return triggers.Change(kind="NovaCompute", namespace="ns", name=name, before=view, after=None)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def unfinished() -> list[tuple[str, outcomes.Verdict]]:
    """What the owners of pools are told."""
    return []


@pytest.fixture
def numbers() -> metrics.Metrics:
    return metrics.Metrics()


@pytest.fixture
def dispatcher(
    tmp_path: pathlib.Path, script: Script, unfinished: list[tuple[str, outcomes.Verdict]], numbers: metrics.Metrics
) -> Iterator[dispatch.Dispatcher]:
    store = folders.Folders(tmp_path / "data")
    made = running.dispatcher(
        script,
        store,
        numbers=numbers,
        on_unfinished=lambda pool, outcome: unfinished.append((pool, outcome.verdict)),
    )
    made.start()
    yield made
    script.gate.set()
    made.close(grace=5)
    store.close()


def test_no_pass_starts_before_the_doors_open(dispatcher: dispatch.Dispatcher, script: Script) -> None:
    dispatcher.take(appears("a"))
    assert (script.began, dispatcher.waiting) == ([], 1)
    dispatcher.open()
    eventually(lambda: script.ended == ["ns/a"], "the pass")


@pytest.mark.case("B4")
def test_no_more_passes_run_at_once_than_there_are_slots(dispatcher: dispatch.Dispatcher, script: Script) -> None:
    dispatcher.open()
    script.gate.clear()
    for number in range(20):
        dispatcher.take(appears(f"pool-{number}"))
    eventually(lambda: len(script.began) == 2, "two passes")
    assert (dispatcher.running, dispatcher.waiting) == (2, 18)
    script.gate.set()
    eventually(lambda: len(script.ended) == 20, "all passes")
    assert script.most_at_once == 2


def test_a_pass_that_breaks_frees_its_slot_and_is_tried_again(
    dispatcher: dispatch.Dispatcher, script: Script, numbers: metrics.Metrics
) -> None:
    def broken(pool: str, _: passes.Cancel) -> outcomes.Outcome:
        raise RuntimeError(pool)

    script.act = broken
    dispatcher.open()
    dispatcher.take(appears("a"))
    eventually(lambda: len(script.ended) >= 2, "the second try")
    assert numbers.registry.get_sample_value("nova_compute_operator_passes_total", {"outcome": "failed"})


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (outcomes.Verdict.TIMEOUT, True),
        (outcomes.Verdict.FAILED, True),
        (outcomes.Verdict.DONE, False),
        (outcomes.Verdict.CANCELLED, False),
    ],
)
def test_a_pass_that_did_not_come_to_its_end_is_told_to_the_owner(
    dispatcher: dispatch.Dispatcher,
    script: Script,
    unfinished: list[tuple[str, outcomes.Verdict]],
    verdict: outcomes.Verdict,
    told: bool,  # noqa: FBT001
) -> None:
    script.act = lambda *_: outcomes.Outcome(verdict=verdict, seconds=600)
    dispatcher.open()
    dispatcher.take(appears("a"))
    eventually(lambda: script.ended and dispatcher.running == 0, "the end of the pass")
    assert (("ns/a", verdict) in unfinished) == told


def test_a_pool_that_is_gone_is_not_run_again(dispatcher: dispatch.Dispatcher, script: Script) -> None:
    dispatcher.open()
    script.gate.clear()
    dispatcher.take(appears("a"))
    eventually(lambda: script.began == ["ns/a"], "the pass")
    dispatcher.take(goes("a"))
    script.gate.set()
    eventually(lambda: dispatcher.running == 0, "the end")
    assert (dispatcher.waiting, dispatcher.pools) == (0, 0)


@pytest.mark.case("B8")
def test_the_end_waits_for_running_passes_and_starts_no_other(dispatcher: dispatch.Dispatcher, script: Script) -> None:
    dispatcher.open()
    script.gate.clear()
    for name in ("a", "b", "c"):
        dispatcher.take(appears(name))
    eventually(lambda: len(script.began) == 2, "two passes")
    threading.Timer(0.3, script.gate.set).start()
    assert dispatcher.close(grace=10) is True
    assert (sorted(script.began), sorted(script.ended)) == (["ns/a", "ns/b"], ["ns/a", "ns/b"])


def test_a_pass_that_outlasts_the_grace_time_is_cancelled(dispatcher: dispatch.Dispatcher, script: Script) -> None:
    dispatcher.open()
    script.gate.clear()
    dispatcher.take(appears("a"))
    eventually(lambda: script.began == ["ns/a"], "the pass")
    assert dispatcher.close(grace=0.1) is False
    assert script.ended == ["ns/a"]


def test_an_ended_pass_is_counted(dispatcher: dispatch.Dispatcher, script: Script, numbers: metrics.Metrics) -> None:
    failure = outcomes.Failure(step="aggregates", task="Ask", message="no")
    script.act = lambda *_: outcomes.Outcome(
        verdict=outcomes.Verdict.DONE, seconds=2, changed=3, rescued=(failure,), step_seconds={"nodes": 0.3}
    )
    dispatcher.open()
    dispatcher.take(appears("a"))
    eventually(lambda: dispatcher.running == 0 and bool(script.ended), "the end")
    labels = {"sub_reconciler": "aggregates", "condition_type": "AggregatesReady"}
    value = numbers.registry.get_sample_value
    assert value("nova_operator_reconcile_errors_total", labels) == 1
    assert value("nova_operator_reconcile_duration_seconds_count", {"sub_reconciler": "nodes"}) == 1
    assert value("nova_compute_operator_passes_total", {"outcome": "done"}) == 1
    assert value("nova_compute_operator_changed_tasks_total") == 3


def test_a_pass_is_told_whether_its_output_is_wanted(dispatcher: dispatch.Dispatcher, script: Script) -> None:
    dispatcher.open()
    asking = triggers.View(own="a", pool="ns/a", nova="ns/nova", verbosity=2)
    dispatcher.take(
        triggers.Change(kind="NovaCompute", namespace="ns", name="a", before=None, after=asking, initial=True)
    )
    eventually(lambda: script.ended == ["ns/a"], "the pass")
    assert script.verbosity == 2


def test_a_pool_whose_end_cannot_be_reported_keeps_its_passes(
    tmp_path: pathlib.Path, script: Script, numbers: metrics.Metrics
) -> None:
    script.act = lambda *_: outcomes.Outcome(verdict=outcomes.Verdict.TIMEOUT, seconds=600)

    def cannot(pool: str, _: outcomes.Outcome) -> None:
        raise RuntimeError(pool)

    store = folders.Folders(tmp_path / "data")
    made = running.dispatcher(script, store, numbers=numbers, slots=1, on_unfinished=cannot)
    made.start()
    made.open()
    made.take(appears("a"))
    eventually(lambda: len(script.ended) >= 2, "the next try")
    made.close(grace=5)
    store.close()


def test_the_last_slot_goes_past_a_cluster_that_was_prompt_to_a_pool_elsewhere(
    dispatcher: dispatch.Dispatcher, script: Script
) -> None:
    placed = [f"edge-{number}" for number in range(10)]
    views = {name: triggers.View(own=1, pool=f"ns/{name}", nova="ns/nova", cluster="edge") for name in placed}

    def take(name: str, before: triggers.View | None, after: triggers.View) -> None:
        dispatcher.take(
            triggers.Change(
                kind="NovaCompute", namespace="ns", name=name, before=before, after=after, initial=before is None
            )
        )

    dispatcher.open()
    for name, view in views.items():
        take(name, None, view)
    eventually(lambda: len(script.ended) == 10 and dispatcher.running == 0, "prompt passes of the cluster")
    script.gate.clear()
    for name in ("busy-1", "busy-2"):
        dispatcher.take(appears(name))
    eventually(lambda: dispatcher.running == 2, "both slots are taken")
    for name, view in views.items():
        take(name, view, dataclasses.replace(view, own=2))
    dispatcher.take(appears("elsewhere"))

    release = threading.Event()
    script.act = lambda pool, _: outcomes.Outcome(
        verdict=outcomes.Verdict.DONE, seconds=20 if "edge" in pool and release.wait(60) else 0.1
    )
    script.gate.set()
    try:
        eventually(lambda: "ns/elsewhere" in script.ended, "the pass elsewhere")
        assert "ns/elsewhere" in script.began[12:14]
    finally:
        release.set()
