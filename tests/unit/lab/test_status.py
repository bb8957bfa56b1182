# SPDX-License-Identifier: Apache-2.0
"""Phases, conditions and pauses as the agent reports them."""

from __future__ import annotations

from typing import Any

import pytest
from novalab.agent import status

RUNNING: dict[str, Any] = {"running": {}}
WAITING: dict[str, Any] = {"waiting": {}}
DONE: dict[str, Any] = {"terminated": {"exitCode": 0}}
FAILED: dict[str, Any] = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("states", "policy", "expected"),
    [
        ([RUNNING], "Always", "Running"),
        ([WAITING], "Always", "Running"),
        ([DONE], "Always", "Running"),
        ([DONE], "Never", "Succeeded"),
        ([DONE, FAILED], "Never", "Failed"),
        ([DONE, RUNNING], "Never", "Running"),
        ([DONE], "OnFailure", "Succeeded"),
        ([FAILED], "OnFailure", "Running"),
    ],
)
def test_phase_follows_the_containers_and_the_restart_policy(states: Any, policy: str, expected: str) -> None:
    assert status.phase(states, initialized=True, restart_policy=policy, begun=True) == expected


def test_pod_is_pending_until_its_init_containers_are_done() -> None:
    assert status.phase([WAITING], initialized=False, restart_policy="Always", begun=False) == "Pending"


def test_pod_is_pending_until_every_container_has_run() -> None:
    assert status.phase([WAITING], initialized=True, restart_policy="Always", begun=False) == "Pending"


def conditions(previous: Any = (), *, phase: str = "Running", ready: bool = True, now: str = "t1") -> dict[str, Any]:
    made = status.conditions(previous, phase=phase, initialized=True, ready=ready, sandbox=True, now=now)
    return {condition["type"]: condition for condition in made}


def test_condition_keeps_its_time_while_its_status_stays() -> None:
    before = list(conditions(now="t1").values())
    assert conditions(before, now="t2")["Ready"]["lastTransitionTime"] == "t1"


def test_condition_gets_a_new_time_with_a_new_status() -> None:
    before = list(conditions(now="t1").values())
    assert conditions(before, ready=False, now="t2")["Ready"]["lastTransitionTime"] == "t2"


def test_reason_of_an_earlier_status_is_taken_away() -> None:
    assert conditions()["Ready"]["reason"] is None


def test_pod_that_is_done_is_not_ready_because_it_completed() -> None:
    made = conditions(phase="Succeeded", ready=False)
    assert (made["Ready"]["status"], made["Ready"]["reason"]) == ("False", "PodCompleted")


def test_status_of_a_pod_names_no_quality_of_service() -> None:
    made = status.pod(phase="Running", conditions=[], address="198.51.100.2", started="t", init=[], main=[])
    assert "qosClass" not in made


def test_pause_grows_from_none_to_half_a_minute() -> None:
    assert [status.back_off(n) for n in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_node_offers_logs_only_where_they_are_served() -> None:
    made = status.node(name="n", address="a", version="v1", since="t", now="t", log_port=None)
    assert "daemonEndpoints" not in made
