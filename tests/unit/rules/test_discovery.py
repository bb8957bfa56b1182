# SPDX-License-Identifier: Apache-2.0
"""The host discovery Job: what it runs, when it is made and replaced, and its name."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import discovery
from unit.rules import objects

NOW = "2026-01-01T00:10:00+00:00"
NOVA = {"name": "nova-1", "namespace": "openstack", "uid": "u1", "target": {"cluster": ""}}
API_CONTAINER: objects.Data = {
    "name": "nova-api",
    "image": "ghcr.io/c5c3/nova:2025.2",
    "command": ["uwsgi"],
    "ports": [{"containerPort": 8774}],
    "readinessProbe": {"httpGet": {"path": "/", "port": 8774}},
    "env": [{"name": "OS_API_DATABASE__CONNECTION", "valueFrom": {"secretKeyRef": {"name": "db", "key": "c"}}}],
    "envFrom": [{"secretRef": {"name": "more"}}],
    "securityContext": {"runAsUser": 42424},
    "volumeMounts": [{"name": "config", "mountPath": "/etc/nova/nova.conf.d", "readOnly": True}],
}
DEPLOYMENT: objects.Data = {
    "spec": {
        "replicas": 3,
        "template": {
            "spec": {
                "restartPolicy": "Always",
                "nodeSelector": {"control-plane": "yes"},
                "priorityClassName": "high",
                "securityContext": {"fsGroup": 42424},
                "containers": [{"name": "sidecar", "image": "x"}, API_CONTAINER],
                "volumes": [{"name": "config", "configMap": {"name": "nova-1-config-1"}}, {"name": "unrelated"}],
            }
        },
    }
}


def job(finished: str | None = None, at: str = "2026-01-01T00:00:00Z", **metadata: str) -> objects.Data:
    made: objects.Data = {
        "metadata": {"name": "nova-1-discover-hosts", "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    }
    if finished:
        made["status"] = {"conditions": [{"type": finished, "status": "True", "lastTransitionTime": at}]}
    return made


def deployment(**changes: object) -> objects.Data:
    """The Deployment with other fields in its nova-api container."""
    other = copy.deepcopy(DEPLOYMENT)
    other["spec"]["template"]["spec"]["containers"][1].update(changes)
    return other


# --- when


def test_job_is_created_when_there_is_none() -> None:
    assert discovery.decide(None, now=NOW) is discovery.Step.CREATE


@pytest.mark.case("C17")
def test_running_job_is_left_alone() -> None:
    assert discovery.decide(job(), now=NOW) is discovery.Step.LEAVE


@pytest.mark.parametrize("finished", ["Complete", "Failed"])
@pytest.mark.parametrize(
    ("at", "step"),
    [("2026-01-01T00:09:31Z", discovery.Step.LEAVE), ("2026-01-01T00:09:30Z", discovery.Step.REPLACE)],
    ids=["29 s ago", "30 s ago"],
)
def test_finished_job_is_replaced_thirty_seconds_after_it_ended(finished: str, at: str, step: discovery.Step) -> None:
    assert discovery.decide(job(finished, at), now=NOW) is step


def test_scale_shortens_the_wait() -> None:
    ended = job("Complete", "2026-01-01T00:09:56Z")
    assert discovery.decide(ended, now=NOW, scale=0.1) is discovery.Step.REPLACE


@pytest.mark.case("C32")
def test_job_that_is_on_its_way_out_is_left_to_go() -> None:
    leaving = job("Complete", deletionTimestamp="2026-01-01T00:09:59Z")
    assert discovery.decide(leaving, now=NOW) is discovery.Step.LEAVE


def test_condition_that_does_not_hold_is_no_end() -> None:
    running = job()
    running["status"] = {"conditions": [{"type": "Failed", "status": "False"}]}
    assert discovery.finished(running) is None


def test_job_that_is_about_to_fail_has_not_ended() -> None:
    failing = job("FailureTarget")
    assert discovery.finished(failing) is None


# --- what


def made() -> objects.Data:
    return discovery.job(NOVA, DEPLOYMENT)


def container() -> objects.Data:
    (only,) = made()["spec"]["template"]["spec"]["containers"]
    return dict(only)


def test_job_runs_the_discovery_with_the_config_folder_of_the_api() -> None:
    assert container()["command"] == [
        "/bin/sh",
        "-eu",
        "-c",
        "nova-manage --config-dir /etc/nova/nova.conf.d cell_v2 discover_hosts --verbose",
    ]


@pytest.mark.parametrize("key", ["image", "env", "envFrom", "securityContext"])
def test_job_takes_what_the_live_api_runs_with(key: str) -> None:
    assert container()[key] == API_CONTAINER[key]


@pytest.mark.parametrize("key", ["ports", "readinessProbe"])
def test_job_takes_nothing_that_belongs_to_a_server(key: str) -> None:
    assert key not in container()


def test_job_mounts_the_config_and_a_folder_to_write_in() -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    assert mounts == {"config": "/etc/nova/nova.conf.d", "discovery-tmp": "/tmp"}
    volumes = [volume["name"] for volume in made()["spec"]["template"]["spec"]["volumes"]]
    assert volumes == ["config", "discovery-tmp"]


def test_folder_to_write_in_that_the_api_has_is_taken_instead() -> None:
    mounts = [*API_CONTAINER["volumeMounts"], {"name": "tmp", "mountPath": "/tmp"}]
    (only,) = discovery.job(NOVA, deployment(volumeMounts=mounts))["spec"]["template"]["spec"]["containers"]
    assert only["volumeMounts"] == mounts


def test_job_is_placed_like_the_api_and_ends() -> None:
    pod = made()["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["priorityClassName"], pod["securityContext"]) == (
        {"control-plane": "yes"},
        "high",
        {"fsGroup": 42424},
    )
    assert pod["restartPolicy"] == "Never"


def test_job_belongs_to_the_nova() -> None:
    metadata = made()["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("nova-1-discover-hosts", "openstack")
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("Nova", "nova-1", "u1", True)


def test_last_job_removes_itself_five_minutes_after_its_end() -> None:
    assert made()["spec"]["ttlSecondsAfterFinished"] == 300


def test_deployment_is_left_as_it_was() -> None:
    before = copy.deepcopy(DEPLOYMENT)
    discovery.job(NOVA, DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["env"].append({})
    assert before == DEPLOYMENT


@pytest.mark.parametrize(
    ("live", "problem"),
    [
        (None, "does not exist"),
        (deployment(name="other"), "no container nova-api"),
        (deployment(volumeMounts=[]), "mounts no config"),
    ],
    ids=["absent", "no container", "no config"],
)
def test_no_job_is_made_of_a_deployment_without_config(live: objects.Data | None, problem: str) -> None:
    assert problem in discovery.config_problem(live)


def test_deployment_with_config_has_no_problem() -> None:
    assert discovery.config_problem(DEPLOYMENT) == ""


# --- name and description


def test_name_of_63_characters_stays() -> None:
    assert discovery.job_name("n" * 48) == "n" * 48 + "-discover-hosts"


def test_longer_name_is_cut_and_told_apart() -> None:
    one, other = discovery.job_name("n" * 49), discovery.job_name("n" * 50)
    assert len(one) == len(other) == 63
    assert one != other
    assert one.startswith("n" * 39 + "-")
    assert one.endswith("-discover-hosts")


def test_cut_name_ends_in_no_dash_before_its_digits() -> None:
    assert "--" not in discovery.job_name("n" * 38 + "-" + "n" * 20)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "not created"),
        (job(), "nova-1-discover-hosts is running"),
        (job("Failed"), "nova-1-discover-hosts failed"),
        (job("Complete"), "nova-1-discover-hosts completed"),
    ],
)
def test_message_says_how_the_job_stands(found: objects.Data | None, said: str) -> None:
    assert said in discovery.describe(found)


def test_message_says_why_there_is_no_job() -> None:
    assert discovery.describe(None, waits_for="the Nova API Deployment mounts no config").endswith("mounts no config")


# --- whose


def test_job_on_a_target_cluster_carries_the_labels_of_the_nova_and_no_reference() -> None:
    made = discovery.job({**NOVA, "target": {"cluster": "edge"}}, DEPLOYMENT)
    assert made["metadata"]["ownerReferences"] == []
    labels = {
        "openstack.c5c3.io/owner-kind": "Nova",
        "openstack.c5c3.io/owner-name": "nova-1",
        "openstack.c5c3.io/owner-namespace": "openstack",
    }
    assert labels.items() <= made["metadata"]["labels"].items()
    assert not labels.keys() & made["spec"]["template"]["metadata"]["labels"].keys()
