# SPDX-License-Identifier: Apache-2.0
"""The little that the lab's OpenStack asks of the API server: apply, read, scale, wait, delete."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from kubernetes import client as kubernetes
from kubernetes import config

from novalab import errors
from novalab import lab as labs
from novalab.openstack import objects, settings

_MANAGER = "novalab"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ConfigMap": f"/api/v1/namespaces/{labs.NAMESPACE}/configmaps",
    "Secret": f"/api/v1/namespaces/{labs.NAMESPACE}/secrets",
    "Service": f"/api/v1/namespaces/{labs.NAMESPACE}/services",
    "Deployment": f"/apis/apps/v1/namespaces/{labs.NAMESPACE}/deployments",
    "Pod": f"/api/v1/namespaces/{labs.NAMESPACE}/pods",
    "Nova": f"/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/{labs.NAMESPACE}/novas",
    "Node": "/api/v1/nodes",
}


class Cluster:
    """The cluster of one lab. A failed call raises :class:`kubernetes.client.ApiException`."""

    def __init__(self, lab: labs.Lab) -> None:
        self._api = config.new_client_from_config(config_file=str(lab.kubeconfig))  # type: ignore[no-untyped-call]

    def apply(self, item: objects.Object) -> None:
        """Make the object what ``item`` says (server-side apply)."""
        kind, name = item["kind"], item["metadata"]["name"]
        self._patch(f"{_COLLECTIONS[kind]}/{name}?fieldManager={_MANAGER}&force=true", item, _APPLY)

    def set_status(self, kind: str, name: str, status: objects.Object) -> None:
        self._patch(f"{_COLLECTIONS[kind]}/{name}/status", {"status": status}, _MERGE)

    def scale(self, deployment: str, replicas: int) -> None:
        self._patch(f"{_COLLECTIONS['Deployment']}/{deployment}/scale", {"spec": {"replicas": replicas}}, _MERGE)

    def get(self, kind: str, name: str) -> objects.Object | None:
        """The object, or None when there is none of that name."""
        try:
            return self._call("GET", f"{_COLLECTIONS[kind]}/{name}")
        except kubernetes.ApiException as error:
            if error.status == 404:
                return None
            raise

    def pod(self, application: str) -> objects.Object | None:
        """The newest pod of an application of the lab, or None."""
        selector = f"app.kubernetes.io%2Fname%3D{application}"
        pods = self._call("GET", f"{_COLLECTIONS['Pod']}?labelSelector={selector}")["items"]
        return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)

    def _patch(self, path: str, body: objects.Object, content_type: str) -> objects.Object:
        return self._call("PATCH", path, body, content_type)

    def _call(
        self, method: str, path: str, body: objects.Object | None = None, content_type: str = "application/json"
    ) -> objects.Object:
        request = self._api.param_serialize(
            method,
            path,
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = self._api.call_api(*request, _request_timeout=30)
        content = answer.read()
        if answer.status >= 300:
            raise kubernetes.ApiException(status=answer.status, reason=answer.reason, body=content.decode())
        result: objects.Object = json.loads(content)
        return result


def condition(item: objects.Object | None, kind: str) -> bool:
    """Whether the object is there and says True for the condition ``kind``."""
    conditions = ((item or {}).get("status") or {}).get("conditions") or []
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)


def is_rolled_out(deployment: objects.Object | None) -> bool:
    """Whether the Deployment runs what its spec says, neither more nor less."""
    if deployment is None:
        return False
    status = deployment.get("status") or {}
    wanted = deployment["spec"]["replicas"]
    counted = all(status.get(count, 0) == wanted for count in ("replicas", "updatedReplicas", "availableReplicas"))
    return counted and status.get("observedGeneration") == deployment["metadata"]["generation"]


def wait(what: str, ready: Callable[[], bool], *, seconds: float) -> None:
    """Poll ``ready`` until it holds. Raises LabError when ``seconds`` are over."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise errors.LabError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)


def deployments() -> tuple[str, ...]:
    """The Deployments of the lab's OpenStack."""
    return tuple(settings.POD_PORTS)
