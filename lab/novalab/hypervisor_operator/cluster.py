# SPDX-License-Identifier: Apache-2.0
"""Nodes, Pods, Hypervisors and Evictions in Kubernetes.

Every write is a merge patch that names the version it is based on, so that it never undoes what somebody else wrote
meanwhile; the API server then answers 409 and the object is looked at again.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from kubernetes import client as kubernetes
from kubernetes import config

Object = dict[str, Any]

#: Neither kubectl's nor that of any product: writers are told apart by it.
MANAGER = "lab-hypervisor-operator"
_KINDS = {
    "Node": "/api/v1/nodes",
    "Hypervisor": "/apis/kvm.cloud.sap/v1/hypervisors",
    "Eviction": "/apis/kvm.cloud.sap/v1/evictions",
}
_PAGE = 100
_SECONDS = 30


class Cluster:
    """The cluster of one kubeconfig. A failed call raises :class:`kubernetes.client.ApiException`."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        self._api = config.new_client_from_config(config_file=str(kubeconfig))  # type: ignore[no-untyped-call]

    def all(self, kind: str) -> list[Object]:
        """The objects of a kind."""
        answer = self._call("GET", _KINDS[kind])
        # The items of a list carry no kind of their own.
        return [{**item, "kind": kind} for item in answer["items"]]

    def get(self, kind: str, name: str) -> Object | None:
        """The object, or None when there is none of that name."""
        try:
            return self._call("GET", f"{_KINDS[kind]}/{name}")
        except kubernetes.ApiException as error:
            if error.status == 404:
                return None
            raise

    def create(self, item: Object) -> None:
        self._call("POST", _KINDS[item["kind"]], body=item)

    def delete(self, kind: str, name: str) -> None:
        """Delete the object if it is there."""
        try:
            self._call("DELETE", f"{_KINDS[kind]}/{name}")
        except kubernetes.ApiException as error:
            if error.status != 404:
                raise

    def patch(self, item: Object, body: Mapping[str, Any]) -> None:
        """Merge ``body`` into the object, unless it has changed since ``item`` was read."""
        self._patch(item, "", body)

    def write_status(self, item: Object, status: Mapping[str, Any]) -> None:
        """Make ``status`` that of the object. Nothing is written when it is so already."""
        known = item.get("status") or {}
        changed = {key: each for key, each in status.items() if known.get(key) != each}
        gone = {key: None for key in known if key not in status}
        if changed or gone:
            self._patch(item, "/status", {"status": {**changed, **gone}})

    def pods_on(self, node: str, namespace: str) -> Iterator[Object]:
        """The pods of a namespace that are bound to the node, read now and page by page."""
        query = {"fieldSelector": f"spec.nodeName={node}", "limit": str(_PAGE)}
        while True:
            answer = self._call("GET", f"/api/v1/namespaces/{namespace}/pods", query=query)
            yield from answer["items"]
            following = answer["metadata"].get("continue")
            if not following:
                return
            query["continue"] = following

    def _patch(self, item: Object, subresource: str, body: Mapping[str, Any]) -> None:
        metadata = {**body.get("metadata", {}), "resourceVersion": item["metadata"]["resourceVersion"]}
        path = f"{_KINDS[item['kind']]}/{item['metadata']['name']}{subresource}"
        self._call("PATCH", path, body={**body, "metadata": metadata}, content="application/merge-patch+json")

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> Object:
        written = {} if method == "GET" else {"fieldManager": MANAGER}
        request = self._api.param_serialize(
            method,
            path,
            query_params=list({**written, **(query or {})}.items()),
            header_params={"Accept": "application/json", "Content-Type": content},
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = self._api.call_api(*request, _request_timeout=_SECONDS)
        text = answer.read()
        document: Object = json.loads(text) if text else {}
        if answer.status >= 300:
            raise kubernetes.ApiException(
                status=answer.status, reason=str(document.get("message", answer.reason)), body=None
            )
        return document
