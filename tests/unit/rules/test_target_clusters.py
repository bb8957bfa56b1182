# SPDX-License-Identifier: Apache-2.0
"""What a pool says while its target cluster is unavailable, and when its children there are given up."""

from __future__ import annotations

import datetime as dt

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, target_clusters
from unit.rules import objects

MIDNIGHT = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)


def at(minutes: float) -> str:
    """So many minutes after the deletion of the pools below."""
    return (MIDNIGHT + dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pool(*, message: str = "", reason: str = target_clusters.UNAVAILABLE, deleting: bool = True) -> objects.Data:
    status = {"conditions": [{"type": conditions.NOVA, "status": "False", "reason": reason, "message": message}]}
    return objects.novacompute(deleting=deleting, status=status if message else {}, targetClusterRef={"name": "edge"})


def said(cluster: str = "edge", minutes: float = -30) -> str:
    message: str = target_clusters.judge(cluster, "no answer", since=at(minutes))["condition"]["message"]
    return message


def test_outcome_stops_the_pass_for_15_seconds() -> None:
    outcome = target_clusters.judge("edge", "cluster not found", since=at(0))
    assert outcome == {
        "condition": {
            "type": "NovaReady",
            "status": "False",
            "reason": "TargetClusterUnavailable",
            "message": f"Target cluster edge is unavailable since {at(0)}: cluster not found",
        },
        "goes_on": False,
        "look": 15.0,
    }


def test_first_failure_is_now() -> None:
    assert target_clusters.unavailable_since(pool(), "edge", now=at(1)) == at(1)


def test_later_failure_goes_back_to_the_first() -> None:
    assert target_clusters.unavailable_since(pool(message=said()), "edge", now=at(1)) == at(-30)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(pool(message=said("west")), id="another-cluster"),
        pytest.param(pool(message=said(), reason="NovaNotFound"), id="another-reason"),
        pytest.param(pool(message="Target cluster edge is unavailable since ever: why"), id="no-instant"),
        pytest.param(pool(message=f"See: {said()}"), id="text-that-quotes-it"),
    ],
)
def test_whatever_else_the_condition_says_starts_the_window_anew(before: objects.Data) -> None:
    assert target_clusters.unavailable_since(before, "edge", now=at(1)) == at(1)


@pytest.mark.parametrize(
    ("minute", "since", "abandoned"),
    [
        # Off since before the deletion: only the deletion's own window is left.
        (1, -30, False),
        (4.99, -30, False),
        (5, -30, True),
        (6, -30, True),
        # Off since a minute after it.
        (1, 1, False),
        (5.99, 1, False),
        (6, 1, True),
        # Off for 4 minutes, back, and off again at the sixth: the second window began anew.
        (6, 6, False),
        (10.99, 6, False),
        (11, 6, True),
    ],
)
def test_both_windows_have_to_end(minute: float, since: float, *, abandoned: bool) -> None:
    assert target_clusters.is_abandoned(pool(), since=at(since), now=at(minute)) is abandoned


def test_pool_that_is_not_being_deleted_waits_for_ever() -> None:
    assert not target_clusters.is_abandoned(pool(deleting=False), since=at(-30), now=at(99999))


@pytest.mark.parametrize(("minute", "abandoned"), [(6, False), (11.99, False), (12, True)])
def test_what_an_earlier_process_saw_counts_from_the_start_of_this_one(minute: float, *, abandoned: bool) -> None:
    assert target_clusters.is_abandoned(pool(), since=at(-30), started=at(7), now=at(minute)) is abandoned


def test_scale_shortens_the_windows() -> None:
    assert target_clusters.is_abandoned(pool(), since=at(-30), now=at(0.05), scale=0.01)
    assert not target_clusters.is_abandoned(pool(), since=at(-30), now=at(0.04), scale=0.01)


def test_registration_that_is_withdrawn_within_a_pass_is_what_the_traits_say() -> None:
    error = {"system": "kubernetes", "kind": "TargetCluster", "call": "Secret c5c3-clusters/edge", "status": None}
    outcome = conditions.failure(conditions.TRAITS, "Secret c5c3-clusters/edge: cluster not found", error)
    assert (outcome["condition"]["reason"], outcome["look"]) == ("TargetClusterUnavailable", 15.0)
