# SPDX-License-Identifier: Apache-2.0
"""Objects of any kind by their path, and service accounts that may do less than the operator needs."""

from __future__ import annotations

import copy
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from e2e.world import cluster

NAMESPACED = f"/api/v1/namespaces/{cluster.NAMESPACE}"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")

#: What the operator may do where its pools are: resource to API group.
_IN_NAMESPACE: Mapping[str, str] = {
    "secrets": "",
    "configmaps": "",
    "pods": "",
    "events": "",
    "services/proxy": "",
    "daemonsets": "apps",
    "deployments": "apps",
    "jobs": "batch",
    "verticalpodautoscalers": "autoscaling.k8s.io",
    "novas": "nova.openstack.c5c3.io",
    "novacomputes": "nova.openstack.c5c3.io",
    "novacomputes/status": "nova.openstack.c5c3.io",
    "novacomputes/finalizers": "nova.openstack.c5c3.io",
}
_OF_CLUSTER: Mapping[str, str] = {"nodes": "", "hypervisors": "kvm.cloud.sap"}


class Objects(cluster.Cluster):
    """The cluster, with calls by path beside those by kind."""

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer. Raises cluster.RefusedError for one that is no success."""
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self._call(method, path, body, content_type=content)

    def status_of(self, path: str) -> int:
        """The HTTP status of a GET, whatever its body."""
        request = self._client.param_serialize("GET", path, auth_settings=["BearerToken"])
        answer = self._client.call_api(*request, _request_timeout=30)
        answer.read()
        return int(answer.status)

    def remove(self, path: str) -> bool:
        """Delete the object; whether there was one."""
        try:
            self.call("DELETE", path, {"propagationPolicy": "Background"})
        except cluster.RefusedError as error:
            if error.status == 404:
                return False
            raise
        return True

    def is_there(self, path: str) -> bool:
        return self.status_of(path) == 200

    def patch_items(self, kind: str, name: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Apply a JSON patch, as ``kubectl patch --type=json`` does."""
        path = cluster._path(kind, name)
        return self._call("PATCH", path, list(steps), content_type="application/json-patch+json")  # type: ignore[arg-type]

    # --- accounts

    def account(
        self, name: str, *, without: Sequence[str], folder: pathlib.Path, ca: Mapping[str, Any]
    ) -> pathlib.Path:
        """A kubeconfig of a service account that may do all that the operator does, but nothing to ``without``.

        A resource may carry a verb: ``jobs:create`` takes that one away. ``ca`` is the cluster entry of a kubeconfig.
        """
        taken = {item.partition(":")[0]: item.partition(":")[2] for item in without}
        metadata = {"name": name, "namespace": cluster.NAMESPACE}
        subject = {"kind": "ServiceAccount", **metadata}
        self.call("POST", f"{NAMESPACED}/serviceaccounts", {"metadata": metadata})
        for scope, resources in (("Role", _IN_NAMESPACE), ("ClusterRole", _OF_CLUSTER)):
            place = f"{RBAC}/namespaces/{cluster.NAMESPACE}" if scope == "Role" else RBAC
            where = metadata if scope == "Role" else {"name": name}
            rules = [
                {"apiGroups": [group], "resources": [resource], "verbs": _verbs_left(taken, resource)}
                for resource, group in resources.items()
                if _verbs_left(taken, resource)
            ]
            self.call("POST", f"{place}/{scope.lower()}s", {"metadata": where, "rules": rules})
            binding = {
                "metadata": where,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": scope, "name": name},
                "subjects": [subject],
            }
            self.call("POST", f"{place}/{scope.lower()}bindings", binding)
        token = self.call("POST", f"{NAMESPACED}/serviceaccounts/{name}/token", {"spec": {"expirationSeconds": 3600}})
        path = folder / f"account-{name}"
        path.write_text(_kubeconfig(ca, token["status"]["token"]))
        return path

    def remove_account(self, name: str) -> None:
        """Delete an account with its roles."""
        for path in (
            f"{RBAC}/clusterrolebindings/{name}",
            f"{RBAC}/clusterroles/{name}",
            f"{RBAC}/namespaces/{cluster.NAMESPACE}/rolebindings/{name}",
            f"{RBAC}/namespaces/{cluster.NAMESPACE}/roles/{name}",
            f"{NAMESPACED}/serviceaccounts/{name}",
        ):
            self.remove(path)


def _verbs_left(taken: Mapping[str, str], resource: str) -> list[str]:
    if resource not in taken:
        return list(_VERBS)
    return [verb for verb in _VERBS if taken[resource] and verb != taken[resource]]


def _kubeconfig(the_cluster: Mapping[str, Any], token: str) -> str:
    return str(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "lab", "cluster": dict(the_cluster)}],
                "users": [{"name": "account", "user": {"token": token}}],
                "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "account"}}],
                "current-context": "lab",
            }
        )
    )


def copy_of(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object under another name, without what the API server filled in."""
    made = {key: copy.deepcopy(value) for key, value in item.items() if key not in ("status", "metadata")}
    made["metadata"] = {"name": name, "namespace": cluster.NAMESPACE}
    if made["kind"] == "Service":
        made["spec"] = {"selector": made["spec"]["selector"], "ports": made["spec"]["ports"]}
    if made["kind"] == "Deployment":
        # It only says what the discovery Job runs; the Service leads to the pods of the original.
        made["spec"]["replicas"] = 0
    return made


def fake_node(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """A node whose kubelet is a stand-in: its pods become ready and run nothing."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": dict(labels)},
        "status": {
            "allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"},
            "capacity": {"cpu": "32", "memory": "256Gi", "pods": "110"},
        },
    }


def now() -> str:
    """The time as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
