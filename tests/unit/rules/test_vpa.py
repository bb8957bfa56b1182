# SPDX-License-Identifier: Apache-2.0
"""The VerticalPodAutoscaler of a pool that opts in."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import ownership, vpa
from unit.rules import objects

OFF = {"updateMode": "Off"}


def wanted(scaling: dict[str, Any] | None, *, has_daemon_set: bool = True) -> objects.Data | None:
    spec = {} if scaling is None else {"verticalAutoscaling": scaling}
    return vpa.wanted(objects.novacompute(**spec), has_daemon_set=has_daemon_set)


def test_pool_that_opts_in_gets_one_for_its_daemon_set() -> None:
    assert wanted({"updateMode": "Initial"}) == {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {
            "name": "pool-a-nova-compute",
            "namespace": "openstack",
            "labels": {
                "app.kubernetes.io/name": "novacompute",
                "app.kubernetes.io/instance": "pool-a",
                "app.kubernetes.io/managed-by": "novacompute-operator",
            },
            "ownerReferences": ownership.of_pool(objects.novacompute()).marks()["ownerReferences"],
        },
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "pool-a-nova-compute"},
            "updatePolicy": {"updateMode": "Initial"},
            "resourcePolicy": {
                "containerPolicies": [
                    {
                        "containerName": "*",
                        "controlledValues": "RequestsOnly",
                        "controlledResources": ["cpu", "memory"],
                    }
                ]
            },
        },
    }


def test_bounds_and_replicas_are_passed_on() -> None:
    made = wanted({**OFF, "minReplicas": 2, "minAllowed": {"cpu": "0"}, "maxAllowed": {"memory": "2Gi"}})
    assert made is not None
    assert made["spec"]["updatePolicy"]["minReplicas"] == 2
    (policy,) = made["spec"]["resourcePolicy"]["containerPolicies"]
    assert (policy["minAllowed"], policy["maxAllowed"]) == ({"cpu": "0"}, {"memory": "2Gi"})


def test_pool_that_does_not_opt_in_wants_none() -> None:
    assert wanted(None) is None


def test_pool_whose_daemon_set_is_not_rendered_wants_none() -> None:
    assert wanted(OFF, has_daemon_set=False) is None


def listed(name: str, owner: str) -> objects.Data:
    return {"metadata": {"name": name, "ownerReferences": [{"uid": owner}]}}


def test_only_what_the_pool_owns_and_no_longer_wants_is_deleted() -> None:
    mine, old, theirs = listed("mine", "uid-pool-a"), listed("old", "uid-pool-a"), listed("theirs", "else")
    keep = {"metadata": {"name": "mine"}}
    assert vpa.unwanted([mine, old, theirs], objects.novacompute(), keep) == [old]


def test_after_opting_out_its_own_is_deleted() -> None:
    mine = listed("mine", "uid-pool-a")
    assert vpa.unwanted([mine], objects.novacompute(), None) == [mine]


APPLIED = {"metadata": {"name": "pool-a-nova-compute"}}


@pytest.mark.parametrize(
    ("spec", "applied", "served", "status", "reason"),
    [
        ({}, None, True, "True", "VPANotRequired"),
        ({}, None, False, "True", "VPANotRequired"),
        ({"verticalAutoscaling": OFF}, APPLIED, True, "True", "VPAReady"),
        ({"verticalAutoscaling": OFF}, None, False, "False", "VPANotInstalled"),
        ({"verticalAutoscaling": OFF, "deleting": True}, None, False, "True", "VPANotRequired"),
    ],
)
def test_condition(spec: dict[str, Any], applied: Any, served: bool, status: str, reason: str) -> None:  # noqa: FBT001
    outcome = vpa.judge(objects.novacompute(**spec), applied, served=served)
    assert (outcome["condition"]["status"], outcome["condition"]["reason"]) == (status, reason)
    assert (outcome["goes_on"], outcome["look"]) == (True, None)


def test_condition_names_the_object() -> None:
    outcome = vpa.judge(objects.novacompute(verticalAutoscaling=OFF), APPLIED, served=True)
    assert "pool-a-nova-compute" in outcome["condition"]["message"]
