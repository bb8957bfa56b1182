# SPDX-License-Identifier: Apache-2.0
"""The lab's Kubernetes as plain dictionaries: read, apply, patch, delete, and the writes that its API server noted."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import kubernetes.client
import kubernetes.config

Object = dict[str, Any]

NAMESPACE = "openstack"
ZONE_LABEL = "topology.kubernetes.io/zone"
POOL_LABEL = "openstack.c5c3.io/nova-compute-pool"
DRAIN_FINALIZER = "nova.openstack.c5c3.io/compute-drain"

_MANAGER = "e2e"
_NOVA_GROUP = "/apis/nova.openstack.c5c3.io/v1alpha1"
#: Kind to (API path, plural, namespaced).
_KINDS = {
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "Node": ("/api/v1", "nodes", False),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Event": ("/api/v1", "events", True),
    "Pod": ("/api/v1", "pods", True),
    "Secret": ("/api/v1", "secrets", True),
    "Service": ("/api/v1", "services", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "ControllerRevision": ("/apis/apps/v1", "controllerrevisions", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "Nova": (_NOVA_GROUP, "novas", True),
    "NovaCompute": (_NOVA_GROUP, "novacomputes", True),
}


class RefusedError(AssertionError):
    """The API server answered with an error."""

    def __init__(self, call: str, status: int, message: str) -> None:
        super().__init__(f"{call}: HTTP {status}: {message}")
        self.status = status


class Cluster:
    """The cluster of one kubeconfig; objects with a namespace are those of the lab's."""

    def __init__(self, kubeconfig: pathlib.Path | str) -> None:
        load: Any = kubernetes.config.new_client_from_config
        self._client = load(config_file=str(kubeconfig))

    def get(self, kind: str, name: str) -> Object | None:
        """The object, or None when there is none of that name."""
        try:
            return self._call("GET", _path(kind, name))
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def read(self, kind: str, name: str) -> Object:
        """The object. Raises AssertionError when there is none."""
        found = self.get(kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def all(self, kind: str, *, labels: Mapping[str, str] | None = None, fields: str = "") -> list[Object]:
        """The objects of a kind that carry all ``labels`` and match the field selector."""
        selector = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
        answer = self._call("GET", _path(kind), query={"labelSelector": selector, "fieldSelector": fields})
        found: list[Object] = answer["items"]
        return found

    def create(self, item: Object) -> Object:
        return self._call("POST", _path(item["kind"]), item)

    def apply(self, item: Object) -> Object:
        """Make the object what ``item`` says (server-side apply), and return it as it is then."""
        path = _path(item["kind"], item["metadata"]["name"])
        query = {"fieldManager": _MANAGER, "force": "true"}
        return self._call("PATCH", path, item, query=query, content_type="application/apply-patch+yaml")

    def patch(self, kind: str, name: str, body: Object, *, subresource: str = "") -> Object:
        """Merge ``body`` into the object."""
        path = _path(kind, name) + (f"/{subresource}" if subresource else "")
        return self._call("PATCH", path, body, content_type="application/merge-patch+json")

    def set_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        """Set a node's labels; None removes one."""
        self.patch("Node", node, {"metadata": {"labels": dict(labels)}})

    def delete(self, kind: str, name: str) -> bool:
        """Whether there was such an object; what it owns goes after it."""
        try:
            self._call("DELETE", _path(kind, name), {"propagationPolicy": "Background"})
        except RefusedError as error:
            if error.status == 404:
                return False
            raise
        return True

    # --- what belongs to a pool

    def pods(self, pool: str) -> list[Object]:
        """The pods of a pool, by the labels that the specification names."""
        labels = {"app.kubernetes.io/instance": pool, "app.kubernetes.io/component": "nova-compute"}
        return self.all("Pod", labels=labels)

    def events(self, pool: str) -> list[Object]:
        """The events about a pool, oldest first."""
        found = self.all("Event", fields=f"involvedObject.kind=NovaCompute,involvedObject.name={pool}")
        return sorted(found, key=lambda event: (_when(event), int(event["metadata"]["resourceVersion"])))

    def children(self, pool: str) -> list[str]:
        """What carries the pool's owner reference, as ``Kind/name``, sorted."""
        return sorted(
            f"{kind}/{item['metadata']['name']}"
            for kind in ("ConfigMap", "DaemonSet", "Job", "Secret")
            for item in self.all(kind)
            for owner in item["metadata"].get("ownerReferences") or ()
            if owner["kind"] == "NovaCompute" and owner["name"] == pool
        )

    def versions(self) -> dict[str, str]:
        """The resourceVersion of every object of the namespace, of whatever kind, by its path."""
        groups = self._call("GET", "/apis")["groups"]
        bases = ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
        found: dict[str, str] = {}
        for base in bases:
            for resource in self._call("GET", base)["resources"]:
                if not resource["namespaced"] or "/" in resource["name"] or "list" not in resource["verbs"]:
                    continue
                path = f"{base}/namespaces/{NAMESPACE}/{resource['name']}"
                for item in self._call("GET", path)["items"]:
                    found[f"{path}/{item['metadata']['name']}"] = item["metadata"]["resourceVersion"]
        return found

    def _call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        request = self._client.param_serialize(
            method,
            path,
            query_params=[(key, value) for key, value in (query or {}).items() if value],
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = self._client.call_api(*request, _request_timeout=30)
        document: Object = json.loads(answer.read())
        if answer.status >= 300:
            raise RefusedError(f"{method} {path}", answer.status, str(document.get("message", document)))
        return document


def conditions(pool: Object | None) -> dict[str, Object]:
    """The conditions of an object by their type."""
    found = ((pool or {}).get("status") or {}).get("conditions") or []
    return {one["type"]: one for one in found}


def verdict(pool: Object | None, condition: str) -> str:
    """``Status Reason`` of a condition, as the guide's commands print it; empty while there is none."""
    one = conditions(pool).get(condition)
    return f"{one['status']} {one['reason']}" if one else ""


def ledger(pool: Object | None) -> dict[str, Object]:
    """The entries of ``status.nodes`` by node."""
    return {entry["name"]: entry for entry in ((pool or {}).get("status") or {}).get("nodes") or []}


def phases(pool: Object | None) -> dict[str, str]:
    """Node to phase."""
    return {name: entry["phase"] for name, entry in ledger(pool).items()}


def node_of(pod: Object) -> str:
    """The node that a pod is bound to, or to be bound to by its DaemonSet's affinity; empty when there is none."""
    bound = pod["spec"].get("nodeName")
    if bound:
        return str(bound)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    for term in terms:
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name":
                return str(field["values"][0])
    return ""


def is_ready(pod: Object) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or [])


def _when(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _path(kind: str, name: str = "") -> str:
    base, plural, namespaced = _KINDS[kind]
    scope = f"/namespaces/{NAMESPACE}" if namespaced else ""
    return f"{base}{scope}/{plural}" + (f"/{name}" if name else "")
