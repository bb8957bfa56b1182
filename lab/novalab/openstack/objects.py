# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes objects of the lab's OpenStack, as the operators of a real cluster would leave them.

Keystone, Placement and Nova's API are Deployments with a Service each; their secrets are in Secrets and enter the pods
as environment variables. The Nova resource, its service user's Secret and the compute contract are what a pool reads.
"""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Mapping
from typing import Any

import yaml

from novalab import lab as labs
from novalab.openstack import configuration, settings

Object = dict[str, Any]

CONTRACT = f"{settings.NOVA}-compute-config"
SERVICE_USER = f"{settings.NOVA}-service-user"
_SERVE = "wsgi-server"


def all_objects(cloud: settings.Cloud, api_paste: str) -> list[Object]:
    """Everything but the Nova resource, in the order in which one needs the other.

    ``api_paste`` is the text of Nova's api-paste.ini. Keystone's keys must be there.
    """
    return [
        namespace(),
        nova_definition(),
        _config_map(_SERVE, {"serve.py": (settings.HERE / "programs" / "serve.py").read_text()}),
        *_keystone(cloud),
        *_placement(cloud),
        *_nova(cloud, api_paste),
        compute_contract(cloud),
    ]


def namespace() -> Object:
    labels = {
        # The pods of a pool run privileged, as the spec's "The namespace" says.
        "pod-security.kubernetes.io/enforce": "privileged",
        labs.OWNED_LABEL: "true",
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": labs.NAMESPACE, "labels": labels}}


def nova_definition() -> Object:
    """The CustomResourceDefinition of Nova."""
    definition: Object = yaml.safe_load((settings.HERE / "manifests" / "nova-crd.yaml").read_text())
    definition["metadata"]["labels"] = {labs.OWNED_LABEL: "true"}
    return definition


def nova_resource(cloud: settings.Cloud) -> Object:
    """The Nova resource without its status."""
    return {
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "kind": "Nova",
        "metadata": _metadata(settings.NOVA),
        "spec": {
            "openStackRelease": settings.RELEASE,
            "image": {"repository": "ghcr.io/c5c3/nova", "tag": settings.RELEASE},
            "keystoneEndpoint": cloud.internal_url("keystone") + "/v3",
            "region": settings.REGION,
            "serviceUser": {
                "username": "nova",
                "projectName": "service",
                "userDomainName": "Default",
                "projectDomainName": "Default",
                "secretRef": {"name": SERVICE_USER, "key": "password"},
            },
        },
    }


def nova_status() -> Object:
    """The status that Nova's own operator would write once everything runs."""
    return {"installedRelease": settings.RELEASE, "computeConfigSecretRef": {"name": CONTRACT}}


def compute_contract(cloud: settings.Cloud) -> Object:
    """The Secret with all that a compute needs to join this Nova: the Nova's own, not a ControlPlane's mirror of it."""
    return _secret(
        CONTRACT,
        {
            "nova-compute.conf": configuration.compute_fragment(cloud),
            "transport_url": cloud.transport_url,
            "password": cloud.passwords.nova,
            "metadata_proxy_shared_secret": cloud.passwords.metadata_proxy,
            "cell_name": settings.CELL,
        },
    )


def _keystone(cloud: settings.Cloud) -> list[Object]:
    keys = cloud.root / "keystone"
    return [
        _config_map("keystone", {"keystone.conf": configuration.keystone("/etc/keystone/keys")}),
        _secret("keystone-db", {"connection": cloud.database_url("keystone")}),
        _secret("keystone-fernet-keys", _files(keys / "fernet")),
        _secret("keystone-credential-keys", _files(keys / "credential")),
        *_web_application(
            "keystone",
            container="keystone",
            module="keystone.wsgi.api",
            ready="/v3",
            env=[
                {"name": "OS_KEYSTONE_CONFIG_DIR", "value": "/etc/keystone/conf"},
                _from_secret("OS_DATABASE__CONNECTION", "keystone-db", "connection"),
            ],
            volumes={
                "/etc/keystone/conf": {"name": "config", "configMap": {"name": "keystone"}},
                "/etc/keystone/keys/fernet": _keys_volume("fernet"),
                "/etc/keystone/keys/credential": _keys_volume("credential"),
            },
        ),
    ]


def _placement(cloud: settings.Cloud) -> list[Object]:
    return [
        _config_map("placement", {"placement.conf": configuration.placement(cloud)}),
        _secret(
            "placement",
            {"connection": cloud.database_url("placement"), "password": cloud.passwords.placement},
        ),
        *_web_application(
            "placement",
            container="placement-api",
            module="placement.wsgi.api",
            ready="/",
            env=[
                {"name": "OS_PLACEMENT_CONFIG_DIR", "value": "/etc/placement"},
                _from_secret("OS_PLACEMENT_DATABASE__CONNECTION", "placement", "connection"),
                _from_secret(configuration.password_variable("keystone_authtoken"), "placement", "password"),
            ],
            volumes={"/etc/placement": {"name": "config", "configMap": {"name": "placement"}}},
        ),
    ]


def _nova(cloud: settings.Cloud, api_paste: str) -> list[Object]:
    connections = f"{settings.NOVA}-connections"
    config = f"{settings.NOVA}-config"
    return [
        _secret(SERVICE_USER, {"password": cloud.passwords.nova}),
        _config_map(config, {"nova.conf": configuration.nova(cloud), "api-paste.ini": api_paste}),
        _secret(
            connections,
            {
                "transport_url": cloud.transport_url,
                "database": cloud.database_url(settings.CELL_DATABASE),
                "api_database": cloud.database_url("nova_api"),
            },
        ),
        *_web_application(
            settings.NOVA,
            container="nova-api",
            module="nova.wsgi.osapi_compute",
            ready="/",
            env=[
                {"name": "OS_NOVA_CONFIG_DIR", "value": "/etc/nova/nova.conf.d"},
                _from_secret("OS_DEFAULT__TRANSPORT_URL", connections, "transport_url"),
                _from_secret("OS_DATABASE__CONNECTION", connections, "database"),
                _from_secret("OS_API_DATABASE__CONNECTION", connections, "api_database"),
                *(
                    _from_secret(configuration.password_variable(section), SERVICE_USER, "password")
                    for section in configuration.NOVA_PASSWORD_SECTIONS
                ),
            ],
            volumes={"/etc/nova/nova.conf.d": {"name": "config", "configMap": {"name": config}}},
        ),
    ]


def _web_application(
    name: str,
    *,
    container: str,
    module: str,
    ready: str,
    env: list[Object],
    volumes: Mapping[str, Object],
) -> list[Object]:
    """A Deployment of one pod on the control node, and its Service. ``volumes`` are keyed by their mount path."""
    port = settings.POD_PORTS[name]
    labels = {"app.kubernetes.io/name": name, labs.OWNED_LABEL: "true"}
    mounts = {**volumes, "/etc/wsgi-server": {"name": _SERVE, "configMap": {"name": _SERVE}}}
    pod_spec = {
        # The pod's address is then the node's, which the API server's service proxy can reach.
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "automountServiceAccountToken": False,
        # The first process of a PID namespace ignores SIGTERM unless it handles it, and a WSGI server does not.
        "terminationGracePeriodSeconds": 1,
        "nodeSelector": {"lab.c5c3.io/role": labs.CONTROL_NODE},
        "containers": [
            {
                "name": container,
                "image": f"ghcr.io/c5c3/{container.removesuffix('-api')}:{settings.RELEASE}",
                "command": ["python3", "/etc/wsgi-server/serve.py", module, "$(POD_IP)", str(port)],
                "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, *env],
                "ports": [{"containerPort": port}],
                "readinessProbe": {"httpGet": {"path": ready, "port": port}, "periodSeconds": 1},
                "volumeMounts": [
                    {"name": volume["name"], "mountPath": path, "readOnly": True} for path, volume in mounts.items()
                ],
            }
        ],
        "volumes": list(mounts.values()),
    }
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _metadata(name),
            "spec": {
                "replicas": 1,
                # Two pods of one node cannot listen on the same port.
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
                "template": {"metadata": {"labels": labels}, "spec": pod_spec},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(name),
            "spec": {
                "selector": {"app.kubernetes.io/name": name},
                "ports": [{"port": port, "targetPort": port}],
            },
        },
    ]


def _metadata(name: str) -> Object:
    return {"name": name, "namespace": labs.NAMESPACE, "labels": {labs.OWNED_LABEL: "true"}}


def _config_map(name: str, data: Mapping[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(name), "data": dict(data)}


def _secret(name: str, data: Mapping[str, str]) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": _metadata(name), "data": encoded}


def _files(folder: pathlib.Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def _keys_volume(kind: str) -> Object:
    # Keystone complains about keys that others can read.
    return {"name": f"{kind}-keys", "secret": {"secretName": f"keystone-{kind}-keys", "defaultMode": 0o600}}


def _from_secret(variable: str, secret: str, key: str) -> Object:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
