# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes client against an API server: what the unit tests assume of one is so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes

pytestmark = pytest.mark.usefixtures("crd")


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def pool(namespace: str, name: str = "pool-a") -> dict[str, Any]:
    return {
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "kind": "NovaCompute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"novaRef": {"name": "nova"}, "nodeSelector": {"pool": "none"}},
    }


def test_an_object_that_does_not_exist_is_none(cluster: kubernetes.Cluster, namespace: str) -> None:
    assert cluster.find("NovaCompute", "x", namespace) is None
    assert cluster.find("Node", "no-such-node") is None


def test_a_kind_that_is_not_served_is_an_error(
    cluster: kubernetes.Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = kubernetes.Resource(api_version="absent.c5c3.io/v1", plural="absents")
    monkeypatch.setitem(kubernetes.RESOURCES, "Absent", absent)
    with pytest.raises(errors.CallError) as caught:
        cluster.find("Absent", "x", namespace)
    assert caught.value.status == 404
    assert cluster.serves("Absent") is False
    assert cluster.serves("NovaCompute") is True
    assert cluster.serves("Secret") is True


@pytest.mark.case("C35")
def test_apply_creates_changes_and_then_leaves_alone(cluster: kubernetes.Cluster, namespace: str) -> None:
    created = cluster.apply(config_map(namespace, x="1"))
    changed = cluster.apply(config_map(namespace, x="2"))
    again = cluster.apply(changed)
    assert changed["data"] == {"x": "2"}
    versions = [each["metadata"]["resourceVersion"] for each in (created, changed, again)]
    assert versions[0] != versions[1] == versions[2]
    # The client leaves out who owns what; the API server tells.
    path = f"/api/v1/namespaces/{namespace}/configmaps/a"
    stored = json.loads(cluster.server.send("GET", path, headers={"Accept": "application/json"}).data)
    assert {entry["manager"] for entry in stored["metadata"]["managedFields"]} == {"cobaltcore-operator"}
    assert "managedFields" not in again["metadata"]


@pytest.mark.case("C35")
def test_apply_takes_back_what_somebody_else_changed(cluster: kubernetes.Cluster, namespace: str) -> None:
    cluster.create(config_map(namespace, x="by hand"))
    cluster.patch("ConfigMap", "a", namespace, {"data": {"x": "by hand", "y": "kept"}})
    assert cluster.apply(config_map(namespace, x="ours"))["data"]["x"] == "ours"


def test_a_dry_run_writes_nothing(cluster: kubernetes.Cluster, namespace: str) -> None:
    assert cluster.apply(config_map(namespace, x="1"), dry_run=True)["data"] == {"x": "1"}
    assert cluster.find("ConfigMap", "a", namespace) is None
    cluster.create(config_map(namespace, x="1"))
    assert cluster.delete("ConfigMap", "a", namespace, dry_run=True) is True
    assert cluster.find("ConfigMap", "a", namespace) is not None


def test_create_of_an_existing_object(cluster: kubernetes.Cluster, namespace: str) -> None:
    cluster.create(config_map(namespace))
    with pytest.raises(errors.CallError) as caught:
        cluster.create(config_map(namespace))
    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")


def test_a_refused_object_is_told_in_the_server_s_words(cluster: kubernetes.Cluster, namespace: str) -> None:
    with pytest.raises(errors.CallError) as caught:
        cluster.create({**pool(namespace), "spec": {"novaRef": {"name": "nova"}, "nodeSelector": {}}})
    assert caught.value.status == 422
    assert "spec.nodeSelector" in caught.value.detail


def test_the_status_is_replaced_and_a_stale_one_is_a_conflict(cluster: kubernetes.Cluster, namespace: str) -> None:
    read = cluster.create(pool(namespace))
    written = cluster.replace_status({**read, "status": {"numberReady": 3}})
    assert written["status"]["numberReady"] == 3
    assert written["spec"] == read["spec"]
    with pytest.raises(errors.CallError) as caught:
        cluster.replace_status({**read, "status": {"numberReady": 4}})
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")


@pytest.mark.case("B21")
def test_a_json_patch_whose_test_fails_changes_nothing(cluster: kubernetes.Cluster, namespace: str) -> None:
    cluster.create(config_map(namespace, x="1"))
    steps = [{"op": "test", "path": "/data/x", "value": "2"}, {"op": "remove", "path": "/data/x"}]
    with pytest.raises(errors.CallError) as caught:
        cluster.patch("ConfigMap", "a", namespace, steps, "json")
    assert caught.value.status == 422
    assert cluster.get("ConfigMap", "a", namespace)["data"] == {"x": "1"}


def test_delete_is_repeatable_and_spares_a_successor(cluster: kubernetes.Cluster, namespace: str) -> None:
    first = cluster.create(config_map(namespace))["metadata"]["uid"]
    assert cluster.delete("ConfigMap", "a", namespace, uid=first) is True
    assert cluster.delete("ConfigMap", "a", namespace) is False
    second = cluster.create(config_map(namespace))["metadata"]["uid"]
    assert cluster.delete("ConfigMap", "a", namespace, uid=first) is False
    assert cluster.get("ConfigMap", "a", namespace)["metadata"]["uid"] == second


def test_pages_make_one_list(cluster: kubernetes.Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "PAGE_SIZE", 2)
    for n in range(5):
        body = config_map(namespace, f"n{n}")
        body["metadata"]["labels"] = {"mine": "yes"}
        cluster.create(body)
    cluster.create(config_map(namespace, "other"))
    listed = cluster.list("ConfigMap", namespace, {"mine": "yes"})
    assert [each["metadata"]["name"] for each in listed] == [f"n{n}" for n in range(5)]


def test_metadata_alone_holds_no_secret(cluster: kubernetes.Cluster, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
    cluster.create({**body, "data": {"password": "c2VjcmV0"}})
    [secret] = cluster.list("Secret", namespace, fields={"metadata.name": "s"}, metadata_only=True)
    assert set(secret) == {"kind", "apiVersion", "metadata"}
    assert (secret["kind"], secret["apiVersion"]) == ("Secret", "v1")


@pytest.mark.parametrize("once", [False, True])
def test_an_event_shows_on_its_object(cluster: kubernetes.Cluster, namespace: str, once: bool) -> None:  # noqa: FBT001
    involved = cluster.create(pool(namespace))
    for _again in range(2):
        cluster.record_event(involved, "Warning", "NodeConflict", "x" * 2000, once=once)
    events = cluster.list("Event", namespace, fields={"involvedObject.uid": involved["metadata"]["uid"]})
    assert len(events) == (1 if once else 2)
    assert {event["source"]["component"] for event in events} == {"novacompute-controller"}
    assert {len(event["message"]) for event in events} == {1024}
