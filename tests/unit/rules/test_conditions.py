# SPDX-License-Identifier: Apache-2.0
"""Every condition of the specification, what each means for the pass, and how a pass changes the conditions of a pool.

The table is written down a second time on purpose: a slip of the pen has to be made twice to pass.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions
from unit.rules import objects

TABLE = """
NovaReady True NovaResolved
NovaReady False NovaNotFound
NovaReady False WaitingForInstalledRelease
NovaReady False ComputeConfigNotPublished
NovaReady False TargetClusterUnavailable
NovaReady False WaitingForServiceUserSecret
NovaReady False NovaError
NodesReady True NodesResolved
NodesReady False NoMatchingNodes
NodesReady False NodeConflict
NodesReady False NodesForbidden
NodesReady False NodeListError
ConfigReady True ConfigRendered
ConfigReady False WaitingForComputeConfig
ConfigReady False ComputeConfigIncomplete
ConfigReady False ConfigError
DaemonSetReady True DaemonSetReady
DaemonSetReady False DaemonSetProgressing
DaemonSetReady False DaemonSetError
AggregatesReady True AggregatesEnsured
AggregatesReady True NodesOutsideZoneAggregate
AggregatesReady False NodesWithoutZone
AggregatesReady False AggregateZoneMismatch
AggregatesReady False WaitingForAggregate
AggregatesReady False ComputeAPIError
AggregatesReady False NovaComputeListError
ServicesReady True ServicesUp
ServicesReady True Draining
ServicesReady False WaitingForServices
ServicesReady False WaitingForHostMapping
ServicesReady False HostDiscoveryError
ServicesReady False ServicesDown
ServicesReady False ComputeAPIError
ServicesReady False PodListError
TraitsReady True NoTraitsDeclared
TraitsReady True TraitsApplied
TraitsReady True WaitingForHypervisorOperator
TraitsReady False NodesWithCustomTraitsAnnotation
TraitsReady False NodesWithoutHypervisor
TraitsReady False HypervisorLifecycleDisabled
TraitsReady False HypervisorTraitsFailed
TraitsReady False HypervisorOperatorNotInstalled
TraitsReady False HypervisorsForbidden
TraitsReady False HypervisorError
TraitsReady False PlacementEndpointNotFound
TraitsReady False PlacementAPIError
TraitsReady False ComputeAPIError
TraitsReady False NovaComputeListError
TraitsReady False TargetClusterUnavailable
Ready True AllReady
Ready False NotAllReady
Ready False RunTimeout
Ready False RunFailed
VPAReady True VPAReady
VPAReady True VPANotRequired
VPAReady False VPANotInstalled
VPAReady False CapabilityProbeFailed
VPAReady False VPAError
ExtraConfigHealthy True NoOwnedKeysOverridden
ExtraConfigHealthy False OwnedKeysOverridden
"""
CRD = pathlib.Path(__file__).resolve().parents[3] / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"
ROWS = [tuple(line.split()) for line in TABLE.split("\n") if line]
#: "Not a wait": what the specification, or the meaning of the step, lets the later steps run on.
RUN_ON = {
    ("NodesReady", "NoMatchingNodes"),
    ("NodesReady", "NodeConflict"),
    ("DaemonSetReady", "DaemonSetProgressing"),
    ("AggregatesReady", "NodesWithoutZone"),
    ("AggregatesReady", "AggregateZoneMismatch"),
    # The guide to draining a node has its reader look at ServicesReady for a Nova that does not answer.
    ("AggregatesReady", "ComputeAPIError"),
}
STOPPING_STEPS = {"NovaReady", "NodesReady", "ConfigReady", "DaemonSetReady", "AggregatesReady"}


def test_reasons_are_those_of_the_specification_and_no_others() -> None:
    assert sorted((row.type, row.status, row.reason) for row in conditions.REASONS) == sorted(ROWS)


@pytest.mark.parametrize(
    ("condition", "reason"), [(row[0], row[2]) for row in ROWS if row[1] == "False" and row[0] in STOPPING_STEPS]
)
def test_not_ready_ends_the_pass_unless_it_is_no_wait(condition: str, reason: str) -> None:
    outcome = conditions.outcome(condition, reason, "")
    assert outcome["goes_on"] == ((condition, reason) in RUN_ON)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [(row[0], row[2]) for row in ROWS if row[1] == "True" or row[0] in {"TraitsReady", "VPAReady", "ServicesReady"}],
)
def test_nothing_else_ends_the_pass(condition: str, reason: str) -> None:
    assert conditions.outcome(condition, reason, "")["goes_on"]


@pytest.mark.parametrize(
    ("condition", "reason", "seconds"),
    [
        ("NovaReady", "NovaNotFound", 15),
        ("NovaReady", "WaitingForInstalledRelease", 15),
        ("NovaReady", "ComputeConfigNotPublished", 15),
        ("NovaReady", "WaitingForServiceUserSecret", 15),
        ("NovaReady", "TargetClusterUnavailable", 15),
        ("ConfigReady", "WaitingForComputeConfig", 15),
        ("ConfigReady", "ComputeConfigIncomplete", 15),
        ("AggregatesReady", "WaitingForAggregate", 10),
        ("AggregatesReady", "ComputeAPIError", 30),
        ("ServicesReady", "WaitingForHostMapping", 10),
        ("ServicesReady", "ComputeAPIError", 30),
        ("ServicesReady", "HostDiscoveryError", 30),
        ("TraitsReady", "WaitingForHypervisorOperator", 30),
        ("NodesReady", "NoMatchingNodes", None),
        ("NodesReady", "NodeConflict", None),
        ("VPAReady", "VPANotInstalled", None),
        ("TraitsReady", "NoTraitsDeclared", None),
        ("ServicesReady", "ServicesUp", None),
    ],
)
def test_reason_asks_for_the_look_of_the_specification(condition: str, reason: str, seconds: float | None) -> None:
    assert conditions.reason(condition, reason).look == seconds


def test_step_asks_for_an_earlier_look_than_its_reason() -> None:
    assert conditions.outcome("ServicesReady", "ComputeAPIError", "", look=10)["look"] == 10
    assert conditions.outcome("ServicesReady", "ComputeAPIError", "", look=60)["look"] == 30


@pytest.mark.parametrize("row", conditions.REASONS, ids=lambda row: f"{row.type}-{row.reason}")
def test_cause_and_way_out_are_sentences(row: conditions.Reason) -> None:
    for sentence in (row.cause, row.way_out):
        assert not sentence or re.fullmatch(r"[A-Za-z]\S*( \S+)*\.", sentence)


@pytest.mark.parametrize(
    "row", [row for row in conditions.REASONS if row.status == "False"], ids=lambda row: f"{row.type}-{row.reason}"
)
def test_every_reason_to_act_says_how(row: conditions.Reason) -> None:
    assert row.way_out


def test_unknown_reason_is_refused() -> None:
    with pytest.raises(KeyError):
        conditions.outcome("NovaReady", "ServicesUp", "")


# --- failed calls


def error(system: str = "kubernetes", kind: str | None = None, status: int | None = 500) -> dict[str, Any]:
    return {"system": system, "kind": kind, "call": "GET /x", "status": status, "detail": ""}


@pytest.mark.parametrize(
    ("condition", "failed", "reason"),
    [
        ("NovaReady", error(kind="Nova"), "NovaError"),
        ("NovaReady", error(kind="Secret", status=403), "NovaError"),
        ("NodesReady", error(kind="Node", status=403), "NodesForbidden"),
        ("NodesReady", error(kind="Node", status=500), "NodeListError"),
        ("NodesReady", error(kind="Node", status=None), "NodeListError"),
        ("NodesReady", error(kind="NovaCompute", status=403), "NodeListError"),
        ("ConfigReady", error(kind="ConfigMap"), "ConfigError"),
        ("ConfigReady", None, "ConfigError"),
        ("DaemonSetReady", error(kind="DaemonSet"), "DaemonSetError"),
        ("VPAReady", error(kind="VerticalPodAutoscaler"), "VPAError"),
        ("AggregatesReady", error("nova"), "ComputeAPIError"),
        ("AggregatesReady", error("keystone", status=401), "ComputeAPIError"),
        ("AggregatesReady", error(kind="Secret"), "ComputeAPIError"),
        ("AggregatesReady", error(kind="NovaCompute"), "NovaComputeListError"),
        ("TraitsReady", error(kind="Hypervisor", status=403), "HypervisorsForbidden"),
        ("TraitsReady", error(kind="Hypervisor", status=500), "HypervisorError"),
        ("TraitsReady", error(kind="NovaCompute"), "NovaComputeListError"),
        ("TraitsReady", error("keystone"), "ComputeAPIError"),
        ("TraitsReady", error(kind="Secret"), "ComputeAPIError"),
        ("TraitsReady", error("placement", status=403), "PlacementAPIError"),
        ("ServicesReady", error("nova"), "ComputeAPIError"),
        ("ServicesReady", error("keystone"), "ComputeAPIError"),
        ("ServicesReady", error(kind="Pod"), "PodListError"),
        ("ServicesReady", error(kind="Deployment", status=403), "HostDiscoveryError"),
        ("ServicesReady", error(kind="Job"), "HostDiscoveryError"),
    ],
)
def test_failed_call_has_the_reason_of_what_failed(condition: str, failed: dict[str, Any] | None, reason: str) -> None:
    outcome = conditions.failure(condition, "why", failed)
    assert outcome["condition"] == {"type": condition, "status": "False", "reason": reason, "message": "why"}


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        (error(), "GET /x: HTTP 500"),
        (error(status=None), "GET /x"),
        ({**error(), "detail": "busy"}, "GET /x: HTTP 500: busy"),
        ({**error(), "node": "n1"}, "n1: GET /x: HTTP 500"),
    ],
)
def test_failed_call_is_described_by_node_call_status_and_detail(failed: dict[str, Any], said: str) -> None:
    assert conditions.describe(failed) == said


# --- merging

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
GOOD = {
    "NovaReady": "NovaResolved",
    "NodesReady": "NodesResolved",
    "ConfigReady": "ConfigRendered",
    "DaemonSetReady": "DaemonSetReady",
    "VPAReady": "VPANotRequired",
    "AggregatesReady": "AggregatesEnsured",
    "TraitsReady": "NoTraitsDeclared",
    "ServicesReady": "ServicesUp",
}


def outcomes(**changed: str) -> list[objects.Data]:
    return [conditions.outcome(step, changed.get(step, reason), "") for step, reason in GOOD.items()]


def merged(old: list[objects.Data], fresh: list[objects.Data], now: str = NOW) -> dict[str, objects.Data]:
    return {item["type"]: item for item in conditions.merge(old, fresh, generation=2, now=now)}


SETTLED = conditions.merge([], outcomes(), generation=2, now=EARLIER)


def test_pool_is_ready_when_all_eight_are() -> None:
    assert merged([], outcomes())["Ready"] == {
        "type": "Ready",
        "status": "True",
        "reason": "AllReady",
        "message": "All sub-conditions are ready",
        "observedGeneration": 2,
        "lastTransitionTime": NOW,
    }


@pytest.mark.parametrize("step", conditions.STEPS)
def test_one_of_eight_that_is_missing_makes_the_pool_not_ready(step: str) -> None:
    fresh = [outcome for outcome in outcomes() if outcome["condition"]["type"] != step]
    assert merged([], fresh)["Ready"]["reason"] == "NotAllReady"


@pytest.mark.parametrize("step", ["NovaReady", "VPAReady", "ServicesReady"])
def test_one_of_eight_that_is_false_makes_the_pool_not_ready(step: str) -> None:
    bad = {"NovaReady": "NovaError", "VPAReady": "VPANotInstalled", "ServicesReady": "ServicesDown"}[step]
    assert merged([], outcomes(**{step: bad}))["Ready"]["status"] == "False"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("AggregatesReady", "NodesOutsideZoneAggregate"),
        ("TraitsReady", "WaitingForHypervisorOperator"),
        ("ServicesReady", "Draining"),
    ],
)
def test_pool_is_ready_in_the_states_that_only_read_like_failures(step: str, reason: str) -> None:
    assert merged([], outcomes(**{step: reason}))["Ready"]["status"] == "True"


def test_overridden_keys_leave_ready_alone() -> None:
    extra = conditions.outcome("ExtraConfigHealthy", "OwnedKeysOverridden", "")
    assert merged([], [*outcomes(), extra])["Ready"]["status"] == "True"


def test_second_pass_that_finds_the_same_changes_nothing() -> None:
    assert conditions.merge(SETTLED, outcomes(), generation=2, now=NOW) == SETTLED


def test_transition_time_moves_with_the_status() -> None:
    after = merged(SETTLED, outcomes(ServicesReady="ServicesDown"))
    assert (after["ServicesReady"]["lastTransitionTime"], after["NovaReady"]["lastTransitionTime"]) == (NOW, EARLIER)


def test_transition_time_stays_when_only_the_reason_moves() -> None:
    after = merged(SETTLED, outcomes(ServicesReady="Draining"))
    assert (after["ServicesReady"]["reason"], after["ServicesReady"]["lastTransitionTime"]) == ("Draining", EARLIER)


@pytest.mark.case("B18")
def test_condition_of_a_step_that_did_not_run_keeps_what_it_said() -> None:
    waiting = conditions.outcome("NovaReady", "NovaNotFound", "")
    after = {item["type"]: item for item in conditions.merge(SETTLED, [waiting], generation=3, now=NOW)}
    assert after["ServicesReady"] == SETTLED[list(GOOD).index("ServicesReady")]
    assert (after["NovaReady"]["observedGeneration"], after["Ready"]["observedGeneration"]) == (3, 3)
    assert after["Ready"]["status"] == "False"


def later(*reasons: tuple[str, str]) -> dict[str, objects.Data]:
    """The conditions of a settled pool after a pass by tags at a later generation, which ran these steps alone."""
    ran = [conditions.outcome(step, reason, "") for step, reason in reasons]
    return {item["type"]: item for item in conditions.merge(SETTLED, ran, generation=3, now=NOW)}


def test_ready_has_seen_no_more_of_the_spec_than_the_oldest_step_it_rests_on() -> None:
    after = later(*(one for one in GOOD.items() if one[0] != "TraitsReady"))
    assert (after["ServicesReady"]["observedGeneration"], after["TraitsReady"]["observedGeneration"]) == (3, 2)
    assert (after["Ready"]["status"], after["Ready"]["observedGeneration"]) == ("True", 2)
    assert after["Ready"]["lastTransitionTime"] == EARLIER


def test_ready_has_seen_the_spec_once_every_step_has() -> None:
    assert later(*GOOD.items())["Ready"]["observedGeneration"] == 3


def test_not_ready_is_said_of_the_spec_as_it_is() -> None:
    after = later(("DaemonSetReady", "DaemonSetProgressing"))
    assert (after["Ready"]["status"], after["Ready"]["observedGeneration"]) == ("False", 3)


def test_step_that_says_of_no_spec_what_it_says_makes_no_ready_of_the_present_one() -> None:
    old = [{key: value for key, value in item.items() if key != "observedGeneration"} for item in SETTLED]
    ready = conditions.merge(old, outcomes()[:1], generation=3, now=NOW)[-1]
    assert (ready["type"], ready["status"], ready["observedGeneration"]) == ("Ready", "True", 0)


def test_order_is_that_of_first_insertion() -> None:
    first = conditions.merge([], outcomes()[:2], generation=1, now=EARLIER)
    after = conditions.merge(first, list(reversed(outcomes())), generation=1, now=NOW)
    types = [item["type"] for item in after]
    assert types[:3] == ["NovaReady", "NodesReady", "Ready"]
    assert sorted(types) == sorted([*GOOD, "Ready"])


def test_conditions_given_are_left_as_they_were() -> None:
    before = [dict(item) for item in SETTLED]
    conditions.merge(SETTLED, outcomes(ServicesReady="ServicesDown"), generation=3, now=NOW)
    assert before == SETTLED


@pytest.mark.parametrize(("count", "said"), [(1, "n0"), (20, "n0, n1"), (21, "n19 and 1 more"), (25, "n19 and 5 more")])
def test_message_names_twenty_and_counts_the_rest(count: int, said: str) -> None:
    text = conditions.name_some([f"n{number}" for number in range(count)])
    assert said in text
    assert ("more" in text) == (count > 20)


def test_message_names_twenty_failed_calls_once_each_and_counts_the_rest() -> None:
    errors = [{"call": f"PUT /os-services/{number % 23}", "status": 403} for number in range(46)]
    text = conditions.describe_some(errors)
    assert text.startswith("PUT /os-services/0: HTTP 403; PUT /os-services/1: HTTP 403; ")
    assert text.endswith("; PUT /os-services/19: HTTP 403 and 3 more")


def test_message_is_cut_where_the_api_server_would_refuse_the_status() -> None:
    crd = yaml.safe_load(CRD.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    admitted = crd["properties"]["status"]["properties"]["conditions"]["items"]["properties"]["message"]["maxLength"]
    message = conditions.outcome("TraitsReady", "HypervisorTraitsFailed", "ä" * 40_000)["condition"]["message"]
    assert message == "ä" * admitted
