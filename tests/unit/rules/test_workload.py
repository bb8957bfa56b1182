# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet of a pool: its image, resources and affinity, and how a rollout is judged."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import workload
from unit.rules import objects

# --- image and pull policy


@pytest.mark.parametrize("unset", [None, {}])
def test_unset_image_is_tagged_with_the_release_that_the_nova_has_installed(unset: Any) -> None:
    assert workload.image(unset, "2025.2") == "ghcr.io/c5c3/nova-compute:2025.2"


def test_image_by_tag() -> None:
    assert workload.image({"repository": "r.example/n", "tag": "7"}, "2025.2") == "r.example/n:7"


def test_image_by_digest() -> None:
    assert workload.image({"repository": "r.example/n", "digest": "sha256:ab"}, "2025.2") == "r.example/n@sha256:ab"


BY_TAG, BY_DIGEST = {"repository": "r", "tag": "7"}, {"repository": "r", "digest": "sha256:ab"}


@pytest.mark.parametrize(
    ("image", "default", "policy"),
    [
        (None, "", "Always"),
        (None, "Never", "Never"),
        (BY_TAG, "", "Always"),
        (BY_DIGEST, "", "IfNotPresent"),
        (BY_DIGEST, "Always", "Always"),
        ({**BY_TAG, "pullPolicy": "IfNotPresent"}, "", "IfNotPresent"),
        ({**BY_TAG, "pullPolicy": "IfNotPresent"}, "Always", "IfNotPresent"),
    ],
)
def test_pull_policy_is_the_images_own_then_the_operators_then_by_kind(
    image: dict[str, str] | None, default: str, policy: str
) -> None:
    assert workload.pull_policy(image, default) == policy


# --- resources

DEFAULTS = {"requests": {"cpu": "150m", "memory": "768Mi"}, "limits": {"memory": "768Mi"}}


@pytest.mark.parametrize("block", [None, {}, {"requests": {}, "limits": {}}])
def test_unset_resources_are_the_defaults_without_a_cpu_limit(block: dict[str, Any] | None) -> None:
    assert workload.resources(block) == DEFAULTS


@pytest.mark.parametrize(
    ("block", "resolved"),
    [
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "2", "memory": "768Mi"}, "limits": {"memory": "768Mi"}}),
        ({"requests": {"memory": "1Gi"}}, {"requests": {"cpu": "150m", "memory": "1Gi"}}),
        ({"limits": {"memory": "1Gi"}}, {"requests": {"cpu": "150m"}, "limits": {"memory": "1Gi"}}),
        ({"limits": {"cpu": "1"}}, {"requests": {"memory": "768Mi"}, "limits": {"cpu": "1", "memory": "768Mi"}}),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, {"limits": {"cpu": "1", "memory": "1Gi"}}),
        ({"requests": {"cpu": "0", "memory": "0"}}, {"requests": {"cpu": "0", "memory": "0"}}),
        ({"requests": {"cpu": 0, "memory": 0}}, {"requests": {"cpu": 0, "memory": 0}}),
        ({"limits": {"cpu": 0}}, {"requests": {"memory": "768Mi"}, "limits": {"cpu": 0, "memory": "768Mi"}}),
    ],
    ids=["cpu", "memory request", "memory limit", "cpu limit", "limits only", "zero text", "zero number", "zero limit"],
)
def test_resource_that_the_block_names_is_used_as_written(block: dict[str, Any], resolved: dict[str, Any]) -> None:
    assert workload.resources(block) == resolved


def test_other_resources_and_claims_are_kept() -> None:
    block = {
        "requests": {"ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi", "example.com/nic": "1"},
        "limits": {"hugepages-2Mi": "4Mi", "example.com/nic": "1"},
        "claims": [{"name": "gpu"}],
    }
    resolved = workload.resources(block)
    assert resolved["requests"] == {**block["requests"], **DEFAULTS["requests"]}  # type: ignore[dict-item]
    assert resolved["limits"] == {**block["limits"], **DEFAULTS["limits"]}  # type: ignore[dict-item]
    assert resolved["claims"] == [{"name": "gpu"}]


def test_block_of_the_pool_is_left_as_it_was() -> None:
    block: dict[str, Any] = {"requests": {"cpu": "2"}}
    workload.resources(block)
    assert block == {"requests": {"cpu": "2"}}


# --- affinity


def terms(*ledger: objects.Data, **pool: Any) -> list[dict[str, Any]]:
    return workload.affinity_terms(objects.novacompute(**pool), ledger)


SELECTS_A = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}


def only(node: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}


def test_one_term_selects_the_pool() -> None:
    assert terms() == [SELECTS_A]


def test_each_pair_of_the_selector_is_a_requirement_of_the_one_term() -> None:
    assert terms(nodeSelector={"b": "2", "a": "1"}) == [
        {
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["1"]},
                {"key": "b", "operator": "In", "values": ["2"]},
            ]
        }
    ]


@pytest.mark.parametrize("phase", ["Pending", "Active", "Releasing"])
def test_node_that_stays_or_was_released_has_no_term_of_its_own(phase: str) -> None:
    assert terms(objects.entry(phase)) == [SELECTS_A]


def test_node_in_conflict_is_taken_out_of_the_pools_term_by_name() -> None:
    ledger = [objects.entry("Conflict", name, conflictsWith="b") for name in ("n2", "n1")]
    assert terms(*ledger) == [
        {
            **SELECTS_A,
            "matchFields": [
                {"key": "metadata.name", "operator": "NotIn", "values": ["n1"]},
                {"key": "metadata.name", "operator": "NotIn", "values": ["n2"]},
            ],
        }
    ]


def test_each_draining_node_keeps_its_pod_by_a_term_of_its_own() -> None:
    assert terms(objects.entry("Draining", "n2"), objects.entry("Draining", "n1")) == [
        SELECTS_A,
        only("n1"),
        only("n2"),
    ]


def test_pool_being_deleted_keeps_nothing_but_its_draining_nodes() -> None:
    ledger = [objects.entry("Draining", "n1"), objects.entry("Releasing", "n2")]
    assert terms(*ledger, deleting=True) == [only("n1")]


@pytest.mark.parametrize("ledger", [[], [objects.entry("Releasing")]], ids=["no node", "released"])
def test_pool_being_deleted_without_a_draining_node_has_no_term(ledger: list[objects.Data]) -> None:
    assert terms(*ledger, deleting=True) == []


# --- update strategy


@pytest.mark.parametrize(
    ("strategy", "rendered"),
    [
        (None, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}),
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}),
        (
            {"type": "RollingUpdate", "maxUnavailable": "25%"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
        ),
        ({"maxUnavailable": 3}, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
    ],
)
def test_update_strategy(strategy: dict[str, Any] | None, rendered: dict[str, Any]) -> None:
    assert workload.update_strategy({} if strategy is None else {"updateStrategy": strategy}) == rendered


# --- the rollout


def daemon_set(
    *, desired: int = 2, ready: int = 2, updated: int = 2, generation: int = 3, observed: int | None = 3
) -> objects.Data:
    status = {"desiredNumberScheduled": desired, "numberReady": ready, "updatedNumberScheduled": updated}
    return {
        "metadata": {"generation": generation},
        "status": status if observed is None else {**status, "observedGeneration": observed},
    }


NEW = {"metadata": {"generation": 1}}
UNFINISHED = {
    "not ready": daemon_set(ready=1),
    "left over under OnDelete": daemon_set(updated=1),
    "template not seen yet": daemon_set(observed=2),
    "never seen": NEW,
}


def test_every_node_with_a_ready_pod_of_the_template_is_ready() -> None:
    condition = workload.judge(daemon_set())["condition"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DaemonSetReady",
        "True",
        "DaemonSetReady",
    )


def test_pool_that_selects_no_node_is_ready() -> None:
    assert workload.judge(daemon_set(desired=0, ready=0, updated=0))["condition"]["status"] == "True"


def test_pool_whose_daemon_set_was_removed_is_ready() -> None:
    assert workload.judge(None)["condition"]["reason"] == "DaemonSetReady"


@pytest.mark.case("C30")
@pytest.mark.parametrize("unfinished", UNFINISHED.values(), ids=UNFINISHED)
def test_unfinished_rollout_is_progressing_and_no_wait(unfinished: objects.Data) -> None:
    outcome = workload.judge(unfinished)
    assert (outcome["condition"]["status"], outcome["condition"]["reason"]) == ("False", "DaemonSetProgressing")
    assert outcome["goes_on"]


def test_message_of_a_rollout_is_that_of_the_specification() -> None:
    message = workload.judge(daemon_set(ready=1))["condition"]["message"]
    assert message == "Waiting for the nova-compute DaemonSet: 1 of 2 nodes run a ready pod"


def test_counts_are_mirrored() -> None:
    fields = workload.status_fields(daemon_set(desired=5, ready=3), "image:1")
    assert (fields["desiredNumberScheduled"], fields["numberReady"]) == (5, 3)


def test_counts_of_a_removed_daemon_set_are_zero() -> None:
    assert workload.status_fields(None, "image:1") == {"desiredNumberScheduled": 0, "numberReady": 0}


def test_installed_image_is_recorded_once_every_node_runs_it() -> None:
    assert workload.status_fields(daemon_set(), "image:1")["installedImage"] == "image:1"


@pytest.mark.parametrize(
    "unfinished", [*UNFINISHED.values(), daemon_set(desired=0, ready=0, updated=0)], ids=[*UNFINISHED, "no node"]
)
def test_installed_image_is_not_recorded_before(unfinished: objects.Data) -> None:
    assert "installedImage" not in workload.status_fields(unfinished, "image:1")


# --- pods and owners


def _pod(name: str, node: str | None, pool: str = "pool-a", **metadata: Any) -> dict[str, Any]:
    labels = workload.labels(pool)
    return {"metadata": {"name": name, "labels": labels, **metadata}, "spec": {"nodeName": node} if node else {}}


@pytest.mark.case("C8")
def test_pod_counts_while_its_object_exists_and_one_without_a_node_never() -> None:
    pods = [_pod("p1", "n1"), _pod("p2", "n2", deletionTimestamp="2026-01-01T00:00:00Z"), _pod("p3", None)]
    assert workload.pods_by_node(pods, objects.novacompute()) == {"n1": "p1", "n2": "p2"}


def test_pod_of_another_pool_of_the_same_nova_keeps_the_service() -> None:
    siblings = [objects.novacompute("pool-b")]
    assert workload.pods_by_node([_pod("p1", "n1", "pool-b")], objects.novacompute(), siblings) == {"n1": "p1"}


def test_pod_of_the_pool_that_takes_a_node_over_does_not_hold_its_release() -> None:
    siblings = [objects.novacompute("pool-b")]
    assert workload.pods_by_node([_pod("p1", "n1", "pool-b")], objects.novacompute(), siblings, ["n1"]) == {}


def test_pod_of_another_nova_or_another_cluster_does_not_count() -> None:
    siblings = [
        objects.novacompute("pool-b", nova="other"),
        objects.novacompute("pool-c", targetClusterRef={"name": "west"}),
    ]
    pods = [_pod("p1", "n1", "pool-b"), _pod("p2", "n2", "pool-c")]
    assert workload.pods_by_node(pods, objects.novacompute(), siblings) == {}


def test_pods_of_every_pool_are_listed_by_what_they_share() -> None:
    assert workload.pod_labels() == {
        "app.kubernetes.io/name": "novacompute",
        "app.kubernetes.io/component": "nova-compute",
    }


def test_labels_are_those_of_the_specification() -> None:
    assert (workload.name("pool-a"), workload.labels("pool-a")) == (
        "pool-a-nova-compute",
        {
            "app.kubernetes.io/name": "novacompute",
            "app.kubernetes.io/instance": "pool-a",
            "app.kubernetes.io/component": "nova-compute",
        },
    )
