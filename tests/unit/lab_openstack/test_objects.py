# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from novalab.openstack import cluster, objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from novalab.openstack import settings


def found(cloud: settings.Cloud, kind: str, name: str) -> objects.Object:
    (item,) = [
        item
        for item in objects.all_objects(cloud, "[composite:osapi_compute]\n")
        if item["kind"] == kind and item["metadata"]["name"] == name
    ]
    return item


def test_every_object_carries_the_label_of_the_lab(cloud: settings.Cloud) -> None:
    everything = [*objects.all_objects(cloud, ""), objects.nova_resource(cloud)]
    assert {item["metadata"]["labels"].get("lab.c5c3.io/owned") for item in everything} == {"true"}


def test_namespace_admits_privileged_pods() -> None:
    assert objects.namespace()["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_only_secrets_hold_secrets(cloud: settings.Cloud, secrets_of: Callable[[settings.Cloud], list[str]]) -> None:
    rest = json.dumps([item for item in objects.all_objects(cloud, "") if item["kind"] != "Secret"])
    assert [secret for secret in secrets_of(cloud) if secret in rest] == []


@pytest.mark.parametrize("part", ["spec", "status"])
def test_nova_resource_matches_its_definition(cloud: settings.Cloud, part: str) -> None:
    (version,) = objects.nova_definition()["spec"]["versions"]
    nova = {**objects.nova_resource(cloud), "status": objects.nova_status()}
    schema = version["schema"]["openAPIV3Schema"]["properties"][part]
    jsonschema.validate(nova[part], {**schema, "additionalProperties": False})


def test_keystone_endpoint_is_the_service_with_its_version(cloud: settings.Cloud) -> None:
    endpoint = objects.nova_resource(cloud)["spec"]["keystoneEndpoint"]
    assert endpoint == "http://keystone.openstack.svc.cluster.local:5000/v3"


def test_status_names_the_contract(cloud: settings.Cloud) -> None:
    name = objects.nova_status()["computeConfigSecretRef"]["name"]
    assert found(cloud, "Secret", name)["metadata"]["name"] == "controlplane-nova-compute-config"


def test_contract_has_the_keys_of_a_mirrored_contract(cloud: settings.Cloud) -> None:
    assert set(objects.compute_contract(cloud)["data"]) == {
        "nova-compute.conf",
        "transport_url",
        "password",
        "metadata_proxy_shared_secret",
        "cell_name",
    }


def test_contract_carries_no_mark_of_a_mirror(cloud: settings.Cloud) -> None:
    labels = objects.compute_contract(cloud)["metadata"]["labels"]
    assert "nova.openstack.c5c3.io/compute-config-mirror" not in labels


def test_service_users_secret_holds_novas_password(cloud: settings.Cloud) -> None:
    reference = objects.nova_resource(cloud)["spec"]["serviceUser"]["secretRef"]
    data = found(cloud, "Secret", reference["name"])["data"]
    assert base64.b64decode(data[reference["key"]]).decode() == cloud.passwords.nova


@pytest.mark.parametrize(("name", "port"), [("keystone", 5000), ("placement", 8778), ("controlplane-nova", 8774)])
def test_service_selects_the_pods_of_its_deployment(cloud: settings.Cloud, name: str, port: int) -> None:
    service = found(cloud, "Service", name)["spec"]
    pod = found(cloud, "Deployment", name)["spec"]["template"]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["ports"] == [{"port": port, "targetPort": port}]


def test_discovery_finds_nova_conf_in_the_config_volume_of_the_api(cloud: settings.Cloud) -> None:
    pod = found(cloud, "Deployment", "controlplane-nova")["spec"]["template"]["spec"]
    (container,) = [one for one in pod["containers"] if one["name"] == "nova-api"]
    (volume,) = [one for one in pod["volumes"] if one["name"] == "config"]
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "config"]
    assert mount["mountPath"] == "/etc/nova/nova.conf.d"
    assert "nova.conf" in found(cloud, "ConfigMap", volume["configMap"]["name"])["data"]


@pytest.mark.parametrize(
    "variable", ["OS_DEFAULT__TRANSPORT_URL", "OS_DATABASE__CONNECTION", "OS_API_DATABASE__CONNECTION"]
)
def test_api_gets_its_connections_from_a_secret_that_has_them(cloud: settings.Cloud, variable: str) -> None:
    (container,) = found(cloud, "Deployment", "controlplane-nova")["spec"]["template"]["spec"]["containers"]
    (entry,) = [entry for entry in container["env"] if entry["name"] == variable]
    reference = entry["valueFrom"]["secretKeyRef"]
    assert reference["key"] in found(cloud, "Secret", reference["name"])["data"]


DEPLOYMENT = {
    "metadata": {"generation": 2},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, True),
        ({"observedGeneration": 1}, False),
        ({"availableReplicas": 0}, False),
        ({"updatedReplicas": 0}, False),
        ({"replicas": 2}, False),
    ],
)
def test_rollout_is_done_when_the_newest_pods_alone_are_available(status: dict[str, int], expected: bool) -> None:  # noqa: FBT001
    assert cluster.is_rolled_out({**DEPLOYMENT, "status": {**DEPLOYMENT["status"], **status}}) is expected


def test_rollout_to_no_pod_is_done_without_counts() -> None:
    deployment = {"metadata": {"generation": 3}, "spec": {"replicas": 0}, "status": {"observedGeneration": 3}}
    assert cluster.is_rolled_out(deployment)
