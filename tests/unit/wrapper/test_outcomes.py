# SPDX-License-Identifier: Apache-2.0
"""What is read from the events of a pass, in the shape in which ansible-runner hands them out."""

from __future__ import annotations

from typing import Any

import pytest
from nova_compute_operator import outcomes

POOL = "openstack/pool-a"


def ok(**result: Any) -> dict[str, Any]:
    data = {"host": POOL, "task": "Do", "role": "nodes", "duration": 0.25, "res": result}
    return {"event": "runner_on_ok", "event_data": data}


def failed(task: str, message: str, *, ignored: bool = False) -> dict[str, Any]:
    data = {"host": POOL, "task": task, "role": "c5c3.nova.aggregates", "duration": 1.0, "res": {"msg": message}}
    return {"event": "runner_on_failed", "event_data": data | ({"ignore_errors": True} if ignored else {})}


def asking(value: Any, *, host: str = POOL) -> dict[str, Any]:
    event = ok(ansible_stats={"data": {"next_look_seconds": value}, "per_host": True, "aggregate": True})
    event["event_data"]["host"] = host
    return event


def read(*events: dict[str, Any], verdict: outcomes.Verdict = outcomes.Verdict.DONE) -> outcomes.Outcome:
    reader = outcomes.Reader(POOL)
    for event in events:
        reader.take(event)
    return reader.outcome(verdict, 2.0)


def test_a_pass_is_asked_what_it_recorded_for_its_host() -> None:
    assert read(asking(15)).next_look == 15.0


def test_a_pass_is_asked_what_it_recorded_for_the_run() -> None:
    stats = {"event": "playbook_on_stats", "event_data": {"artifact_data": {"next_look_seconds": 12.5}}}
    assert read(stats).next_look == 12.5


def test_the_last_word_counts() -> None:
    assert read(asking(60), asking(10)).next_look == 10.0


def test_what_another_host_asked_for_is_not_for_this_pool() -> None:
    assert read(asking(15, host="openstack/pool-b")).next_look is None


@pytest.mark.parametrize("value", [0, -5, "soon", None, float("inf"), float("nan"), [], {}])
def test_what_is_no_time_ahead_asks_for_nothing(value: Any) -> None:
    assert read(asking(value)).next_look is None


def test_changed_tasks_are_counted() -> None:
    assert read(ok(changed=True), ok(changed=False), ok(changed=True)).changed == 2


def test_the_seconds_of_a_step_add_up_under_its_short_name() -> None:
    assert read(ok(), ok(), failed("Ask Nova", "no")).step_seconds == {"nodes": 0.5, "aggregates": 1.0}


def test_a_failed_pass_names_the_task_it_failed_at() -> None:
    outcome = read(failed("Ask Nova", "GET /os-services: HTTP 503"), verdict=outcomes.Verdict.FAILED)
    assert outcome.failure == outcomes.Failure(step="aggregates", task="Ask Nova", message="GET /os-services: HTTP 503")
    assert outcome.rescued == ()


def test_a_failure_that_the_play_dealt_with_is_not_the_passes_failure() -> None:
    outcome = read(failed("Ask Nova", "no"))
    assert outcome.failure is None
    assert [one.task for one in outcome.rescued] == ["Ask Nova"]


def test_an_ignored_failure_is_no_failure() -> None:
    assert read(failed("Ask Nova", "no", ignored=True)).rescued == ()


def test_a_pass_without_a_play_tells_what_ansible_said() -> None:
    lines = (
        "\x1b[1;35m[WARNING]: There is no such pool\x1b[0m",
        "some words",
        "\x1b[0;31m[ERROR]: No\r\n inventory\x1b[0m",
    )
    said = [{"event": "verbose", "stdout": line, "event_data": None} for line in lines]
    outcome = read(*said, verdict=outcomes.Verdict.FAILED)
    assert outcome.failure is not None
    assert outcome.failure.message == "[WARNING]: There is no such pool [ERROR]: No inventory"


def test_a_warning_is_no_failure_of_a_pass_that_ended_well() -> None:
    assert read({"event": "verbose", "stdout": "[WARNING]: old", "event_data": None}).failure is None


def test_a_long_message_is_cut_and_becomes_one_line() -> None:
    outcome = read(failed("Ask", "line\n" * 5000), verdict=outcomes.Verdict.FAILED)
    assert outcome.failure is not None
    assert len(outcome.failure.message) == outcomes.MESSAGE_LIMIT
    assert "\n" not in outcome.failure.message


def call(status: str, count: int = 1) -> dict[str, Any]:
    return {"system": "nova", "method": "GET", "status": status, "count": count}


def test_calls_are_summed_over_tasks_that_went_well_and_that_failed() -> None:
    broken = failed("Ask", "no")
    broken["event_data"]["res"]["api_calls"] = [call("503")]
    told = read(ok(api_calls=[call("200", 2)]), ok(api_calls=[call("200")]), broken)
    assert told.calls == {("nova", "GET", "200"): 3, ("nova", "GET", "503"): 1}


def test_what_the_play_prints_is_told_without_colours_and_with_its_step() -> None:
    printed: list[tuple[str, str]] = []
    reader = outcomes.Reader(POOL, on_output=lambda step, text: printed.append((step, text)))
    reader.take(ok() | {"stdout": "\x1b[0;32mok: [openstack/pool-a]\x1b[0m\r\n"})
    reader.take({"event": "verbose", "stdout": "Using ansible.cfg"})
    reader.take(ok() | {"stdout": ""})
    assert printed == [("nodes", "ok: [openstack/pool-a]"), ("", "Using ansible.cfg")]


def test_what_a_task_warns_of_is_part_of_the_outcome() -> None:
    outcome = read(ok(warnings=["look at the provider"]), ok(warnings=[]), ok())
    assert outcome.warnings == (outcomes.Failure(step="nodes", task="Do", message="look at the provider"),)
    assert outcome.failure is None
