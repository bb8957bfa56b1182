# SPDX-License-Identifier: Apache-2.0
"""The VerticalPodAutoscaler of a pool that opts in ("VerticalAutoscalingSpec")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, ownership, phases, vocabulary, workload


def common_labels(pool: str) -> dict[str, str]:
    """The labels that a pool's VerticalPodAutoscalers are listed by."""
    return {
        "app.kubernetes.io/name": vocabulary.APPLICATION,
        "app.kubernetes.io/instance": pool,
        "app.kubernetes.io/managed-by": vocabulary.MANAGED_BY,
    }


def wanted(pool: Mapping[str, Any], *, has_daemon_set: bool) -> dict[str, Any] | None:
    """The object of a pool that opts in and whose DaemonSet is rendered, else None."""
    scaling = pool["spec"].get("verticalAutoscaling")
    if not scaling or not has_daemon_set:
        return None
    name, marks = workload.name(pool["metadata"]["name"]), ownership.of_pool(pool).marks()
    policy = {
        "containerName": "*",
        "controlledValues": "RequestsOnly",
        "controlledResources": ["cpu", "memory"],
        **{key: scaling[key] for key in ("minAllowed", "maxAllowed") if scaling.get(key)},
    }
    update = {"updateMode": scaling["updateMode"]}
    if scaling.get("minReplicas"):
        update["minReplicas"] = scaling["minReplicas"]
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {
            "name": name,
            "namespace": pool["metadata"]["namespace"],
            "labels": {**common_labels(pool["metadata"]["name"]), **marks["labels"]},
            "ownerReferences": marks["ownerReferences"],
        },
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name},
            "updatePolicy": update,
            "resourcePolicy": {"containerPolicies": [policy]},
        },
    }


def unwanted(
    objects: Iterable[Mapping[str, Any]], pool: Mapping[str, Any], keep: Mapping[str, Any] | None
) -> list[Mapping[str, Any]]:
    """The listed objects that this pool owns and no longer wants."""
    kept = keep["metadata"]["name"] if keep else None
    owner = ownership.of_pool(pool)
    return [item for item in objects if item["metadata"]["name"] != kept and owner.owns(item)]


def judge(pool: Mapping[str, Any], applied: Mapping[str, Any] | None, *, served: bool) -> dict[str, Any]:
    """The VPAReady outcome; ``served`` says whether the cluster serves the kind."""
    opted_in = bool(pool["spec"].get("verticalAutoscaling")) and not phases.pool_of(pool).deleting
    if opted_in and not served:
        return conditions.outcome(
            conditions.VPA,
            "VPANotInstalled",
            "The cluster does not serve VerticalPodAutoscaler of autoscaling.k8s.io/v1",
        )
    if applied is not None:
        return conditions.outcome(
            conditions.VPA, "VPAReady", f"VerticalPodAutoscaler applied: {applied['metadata']['name']}"
        )
    return conditions.outcome(conditions.VPA, "VPANotRequired", "No workload opts in")
