# SPDX-License-Identifier: Apache-2.0
"""The status: written through its own subresource, apart from the spec, and only in the shape of the schema."""

from __future__ import annotations

from typing import Any

import pytest
from integration import kube

schema = pytest.mark.schema
PHASES = ["Pending", "Active", "Draining", "Releasing", "Conflict"]
CONDITION = {
    "type": "Ready",
    "status": "False",
    "reason": "NotAllReady",
    "message": "One or more sub-conditions are not ready",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
    "observedGeneration": 1,
}
# What the API server says of a value out of its bound.
REFUSES = {
    "pattern": "should match",
    "maxLength": "Too long: ",
    "minLength": "should be at least 1 chars long",
    "enum": "Unsupported value: ",
    "format": "must be of type date-time",
    "minimum": "should be greater than or equal to 0",
}


@pytest.fixture
def pool(pools: kube.Pools) -> kube.Pools:
    """The pools, with pool-a in place."""
    pools.create_with().accepted()
    return pools


def test_a_full_status_is_kept_as_it_is_written(pool: kube.Pools) -> None:
    status = {
        "conditions": [CONDITION],
        "observedGeneration": 1,
        "installedImage": "ghcr.io/c5c3/nova-compute:2026.1",
        "desiredNumberScheduled": 3,
        "numberReady": 2,
        "nodes": [
            {
                "name": "node-1",
                "phase": "Draining",
                "zone": "az1",
                "serviceID": "1d3b6a2e-6a52-4f4c-9a39-2a61d4d5a5b5",
                "serviceStatus": "disabled",
                "serviceState": "up",
                "disabledReason": "c5c3.io: leaving NovaCompute openstack/pool-a",
                "instances": 0,
                "traits": ["CUSTOM_A", "HW_CPU_X86_AVX2"],
            },
            {"name": "node-2", "phase": "Conflict", "conflictsWith": "pool-b"},
        ],
        "createdTraits": ["CUSTOM_B", "CUSTOM_A"],
    }
    assert pool.patch_status({"status": status}).accepted()["status"] == status


def test_a_status_in_a_create_is_dropped(pools: kube.Pools) -> None:
    manifest = pools.manifest("pool-a", kube.minimal_spec()) | {"status": {"numberReady": 3}}
    assert "status" not in pools.server.call("POST", pools.path(), manifest).accepted()


def test_a_status_in_an_update_of_the_object_is_dropped(pool: kube.Pools) -> None:
    path = pool.path("pool-a")
    body = {"status": {"installedImage": "forged"}}
    updated = pool.server.call("PATCH", path, body, content_type=kube.MERGE_PATCH).accepted()
    assert updated.get("status", {}).get("installedImage") != "forged"


def test_a_write_to_the_status_leaves_the_spec_alone(pool: kube.Pools) -> None:
    before = pool.read()["spec"]
    body = {"spec": {"nodeSelector": {"other": "label"}}, "status": {"numberReady": 3}}
    after = pool.patch_status(body).accepted()
    assert (after["spec"], after["status"]["numberReady"]) == (before, 3)


def test_a_write_to_the_status_leaves_the_generation_alone(pool: kube.Pools) -> None:
    assert pool.patch_status({"status": {"numberReady": 3}}).accepted()["metadata"]["generation"] == 1


def test_a_change_of_the_spec_raises_the_generation(pool: kube.Pools) -> None:
    assert pool.patch({"traits": ["CUSTOM_A"]}).accepted()["metadata"]["generation"] == 2


@pytest.mark.parametrize("phase", PHASES)
def test_a_node_may_be_in_each_of_the_five_phases(pool: kube.Pools, phase: str) -> None:
    nodes = [{"name": "node-1", "phase": phase}]
    assert pool.patch_status({"status": {"nodes": nodes}}).accepted()["status"]["nodes"] == nodes


@schema("status.nodes[].phase", "enum")
def test_a_phase_that_there_is_not_is_refused(pool: kube.Pools) -> None:
    reply = pool.patch_status({"status": {"nodes": [{"name": "node-1", "phase": "Drained"}]}})
    supported = ", ".join(f'"{phase}"' for phase in PHASES)
    expected = [("status.nodes[0].phase", f'Unsupported value: "Drained": supported values: {supported}')]
    assert reply.refusals() == expected


@schema("status.nodes[].{field}", "required")
@pytest.mark.parametrize("field", ["name", "phase"])
def test_a_node_without_name_or_phase_is_refused(pool: kube.Pools, field: str) -> None:
    node = {"name": "node-1", "phase": "Active"}
    del node[field]
    refusals = pool.patch_status({"status": {"nodes": [node]}}).refusals()
    assert (f"status.nodes[0].{field}", "Required value") in refusals


@schema("status.nodes", "x-kubernetes-list-type")
def test_a_second_record_of_one_node_is_a_duplicate(pool: kube.Pools) -> None:
    nodes = [{"name": "node-1", "phase": "Active"}, {"name": "node-1", "phase": "Draining"}]
    expected = [("status.nodes[1]", 'Duplicate value: {"name":"node-1"}')]
    assert pool.patch_status({"status": {"nodes": nodes}}).refusals() == expected


@schema("status.conditions", "x-kubernetes-list-type")
def test_a_second_condition_of_one_type_is_a_duplicate(pool: kube.Pools) -> None:
    expected = [("status.conditions[1]", 'Duplicate value: {"type":"Ready"}')]
    assert pool.patch_status({"status": {"conditions": [CONDITION, CONDITION]}}).refusals() == expected


@pytest.mark.parametrize("value", ["True", "False", "Unknown"])
def test_a_condition_may_have_each_of_the_three_states(pool: kube.Pools, value: str) -> None:
    conditions = [CONDITION | {"status": value}]
    assert pool.patch_status({"status": {"conditions": conditions}}).accepted()["status"]["conditions"] == conditions


@schema("status.{field}", "format")
@pytest.mark.parametrize("field", ["desiredNumberScheduled", "numberReady"])
def test_a_count_of_nodes_has_32_bits(pool: kube.Pools, field: str) -> None:
    (refusal,) = pool.patch_status({"status": {field: 2**31}}).refusals()
    assert refusal[1].endswith(f"must be of type integer with format int32 in {field}")


@schema("status.nodes[].instances", "format")
def test_a_count_of_instances_has_32_bits(pool: kube.Pools) -> None:
    node = {"name": "node-1", "phase": "Draining", "instances": 2**31}
    (refusal,) = pool.patch_status({"status": {"nodes": [node]}}).refusals()
    assert refusal[1].endswith("must be of type integer with format int32 in nodes[0].instances")


@schema("status.conditions[].{field}", "required")
@pytest.mark.parametrize("field", ["type", "status", "reason", "message", "lastTransitionTime"])
def test_a_condition_that_lacks_a_field_is_refused(pool: kube.Pools, field: str) -> None:
    condition = {key: value for key, value in CONDITION.items() if key != field}
    refusals = pool.patch_status({"status": {"conditions": [condition]}}).refusals()
    assert (f"status.conditions[0].{field}", "Required value") in refusals


@schema("status.conditions[].{field}", "{bound}")
@pytest.mark.parametrize(
    ("field", "bound", "value"),
    [
        ("type", "pattern", "not a type"),
        ("type", "maxLength", "T" * 317),
        ("status", "enum", "Maybe"),
        ("reason", "minLength", ""),
        ("reason", "pattern", "two words"),
        ("reason", "maxLength", "R" * 1025),
        ("message", "maxLength", "m" * 32769),
        ("lastTransitionTime", "format", "yesterday"),
        ("observedGeneration", "minimum", -1),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() and len(value) < 20 else "",
)
def test_a_condition_of_another_shape_is_refused(pool: kube.Pools, field: str, bound: str, value: Any) -> None:
    refusals = pool.patch_status({"status": {"conditions": [CONDITION | {field: value}]}}).refusals()
    assert {path for path, _ in refusals} == {f"status.conditions[0].{field}"}
    assert any(REFUSES[bound] in message for _, message in refusals)


def test_a_status_write_at_an_old_resource_version_is_a_conflict(pool: kube.Pools) -> None:
    stale = pool.read()
    pool.patch({"traits": ["CUSTOM_A"]}).accepted()
    reply = pool.server.call("PUT", pool.path("pool-a") + "/status", stale | {"status": {"numberReady": 1}})
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")
