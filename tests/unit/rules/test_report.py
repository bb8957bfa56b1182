# SPDX-License-Identifier: Apache-2.0
"""What a person is told of a pool."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, report
from unit.rules import objects


def ready_pool(*nodes: dict[str, Any], deleting: bool = False, **verdicts: tuple[str, str]) -> dict[str, Any]:
    """A pool whose steps are all ready, but for those that are named with their status and reason."""
    said = {step: verdicts.get(step, ("True", "Good")) for step in conditions.STEPS}
    said[conditions.READY] = (
        ("True", "AllReady") if all(status == "True" for status, _ in said.values()) else ("False", "NotAllReady")
    )
    rows = [
        {"type": type_, "status": status, "reason": reason, "message": f"about {type_}"}
        for type_, (status, reason) in said.items()
    ]
    return objects.novacompute(deleting=deleting, status={"conditions": rows, "nodes": list(nodes)})


def test_ready_pool_has_no_shortfall() -> None:
    assert report.shortfall(ready_pool(objects.entry("Active"))) == []


def test_ready_pool_whose_spec_changed_since_a_step_ran_falls_short_of_it() -> None:
    pool = ready_pool(objects.entry("Active"))
    pool["metadata"]["generation"] = 3
    for row in pool["status"]["conditions"]:
        row["observedGeneration"] = 2 if row["type"] in ("VPAReady", "TraitsReady", "Ready") else 3
    assert report.shortfall(pool) == ["no pass since the spec changed got as far as VPAReady, TraitsReady"]
    for row in pool["status"]["conditions"]:
        row["observedGeneration"] = 3
    assert report.shortfall(pool) == []


def test_drain_is_no_shortfall_of_a_pool_that_stays() -> None:
    assert report.shortfall(ready_pool(objects.entry("Draining", instances=2))) == []


def test_drain_is_the_shortfall_of_a_pool_that_is_to_go() -> None:
    pool = ready_pool(objects.entry("Draining", instances=1), objects.entry("Releasing", "node-2"), deleting=True)
    assert report.shortfall(pool) == ["node-1 is Draining with 1 server", "node-2 is Releasing"]
    assert report.shortfall(ready_pool(deleting=True)) == ["the pool is not released yet"]


def test_shortfall_names_each_condition_that_is_false() -> None:
    pool = ready_pool(ServicesReady=("False", "WaitingForServices"), NodesReady=("False", "NodeConflict"))
    assert report.shortfall(pool) == [
        "NodesReady NodeConflict: about NodesReady",
        "ServicesReady WaitingForServices: about ServicesReady",
    ]


def test_shortfall_names_the_steps_that_no_pass_reached() -> None:
    rows = [
        {"type": "NovaReady", "status": "False", "reason": "NovaNotFound", "message": "No Nova"},
        {"type": "Ready", "status": "False", "reason": "NotAllReady", "message": ""},
    ]
    assert report.shortfall(objects.novacompute(status={"conditions": rows})) == [
        "NovaReady NovaNotFound: No Nova",
        "no pass got as far as " + ", ".join(conditions.STEPS[1:]),
    ]


def test_pool_that_no_pass_has_seen_says_so() -> None:
    assert report.shortfall(objects.novacompute()) == ["no pass has looked at the pool yet"]


def test_summary_shows_what_is_not_settled_and_counts_the_rest() -> None:
    entries = [objects.entry("Active", f"node-{number:02}", serviceState="up") for number in range(20)]
    entries.append(objects.entry("Draining", "node-99"))
    entries[5]["serviceState"] = "down"
    shown, rest = report.noteworthy(entries)
    assert [entry["name"] for entry in shown[:3]] == ["node-05", "node-99", "node-00"]
    assert len(shown) == report.SHOWN_NODES
    assert rest == "11 more Active"


@pytest.mark.parametrize(
    ("entry", "most", "share"),
    [
        (objects.entry("Draining", instances=4), 4, 0.0),
        (objects.entry("Draining", instances=1), 4, 0.675),
        (objects.entry("Draining"), 0, 0.0),
        (objects.entry("Releasing", instances=0), 4, 0.9),
    ],
)
def test_progress_of_a_node_that_leaves(entry: dict[str, Any], most: int, share: float) -> None:
    assert report.progress(entry, most) == pytest.approx(share)


def test_event_without_a_last_time_is_as_old_as_itself() -> None:
    told = report.event({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "reason": "TraitKept"})
    assert told == {"at": "2026-01-01T00:00:00Z", "type": "Normal", "reason": "TraitKept", "message": "", "count": 1}


def test_pool_that_no_pass_has_seen_as_it_is_now_says_so_in_its_row() -> None:
    pool = ready_pool()
    pool["metadata"]["generation"] = 2
    assert [cell.text for cell in report.pool_row(pool)][-1] == "no pass has seen the spec as it is now"
