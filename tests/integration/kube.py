# SPDX-License-Identifier: Apache-2.0
"""Plain calls to the API server, which keep its answer instead of raising it.

A test about what the server refuses wants the refusal as a value: the status code, the fields and the words. So the
client here takes a path and returns the reply, whatever it is.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import kubernetes.client

GROUP_VERSION = "nova.openstack.c5c3.io/v1alpha1"
GROUP_PATH = f"/apis/{GROUP_VERSION}"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
NOT_LOOKED_AT = "some validation rules were not checked"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What the API server answered."""

    status: int
    body: dict[str, Any]

    def accepted(self) -> dict[str, Any]:
        """The object of a successful reply; an AssertionError with the server's words for any other."""
        assert 200 <= self.status < 300, f"HTTP {self.status}: {self.body.get('message', self.body)}"
        return self.body

    def refusals(self) -> list[tuple[str, str]]:
        """The field and the message of every rule that an object broke, in the order of the fields.

        Servers before Kubernetes 1.35 put the type of the value before the message of a CEL rule
        (`Invalid value: "object": ...`); it is left out, so that one expectation fits all of them. The note that
        CEL rules were not looked at, because the object was broken otherwise, is left out too.
        """
        assert self.status == 422, f"HTTP {self.status}: {self.body.get('message', self.body)}"
        return sorted(
            (cause["field"], re.sub(r'^Invalid value: "(object|array)": ', "Invalid value: ", cause["message"]))
            for cause in self.body["details"]["causes"]
            if NOT_LOOKED_AT not in cause["message"]
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server:
    """The API server of the kubeconfig."""

    client: kubernetes.client.ApiClient

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Reply:
        """The reply to one request. A refusal is a reply; only a broken connection raises."""
        request = self.client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Accept": accept, "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        response = self.client.call_api(*request, _request_timeout=30)
        text = response.read()
        # What the server does not route, such as the documents of a group that is not there yet, is no Status but text.
        is_json = "json" in response.headers.get("Content-Type", "")
        return Reply(status=response.status, body=json.loads(text) if is_json else {"message": text.decode()})

    def apply(self, path: str, body: Mapping[str, Any], *, manager: str, force: bool = False) -> Reply:
        """The reply to a server-side apply in the name of `manager`."""
        query = {"fieldManager": manager, "force": str(force).lower()}
        return self.call("PATCH", path, body, content_type=APPLY_PATCH, query=query)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pools:
    """The NovaComputes of one namespace."""

    server: Server
    namespace: str

    def path(self, name: str = "") -> str:
        return f"{GROUP_PATH}/namespaces/{self.namespace}/novacomputes" + (f"/{name}" if name else "")

    def manifest(self, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": GROUP_VERSION,
            "kind": "NovaCompute",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": dict(spec),
        }

    def create(self, spec: Mapping[str, Any], *, name: str = "pool-a") -> Reply:
        """The reply to the creation of a pool with exactly this spec."""
        return self.server.call("POST", self.path(), self.manifest(name, spec))

    def create_with(self, *, name: str = "pool-a", **fields: Any) -> Reply:
        """The reply to the creation of a pool that has what is required and these fields."""
        return self.create(minimal_spec() | fields, name=name)

    def read(self, name: str = "pool-a") -> dict[str, Any]:
        return self.server.call("GET", self.path(name)).accepted()

    def patch(self, spec: Mapping[str, Any], *, name: str = "pool-a") -> Reply:
        """The reply to a merge patch of the spec."""
        return self.server.call("PATCH", self.path(name), {"spec": spec}, content_type=MERGE_PATCH)

    def patch_status(self, body: Mapping[str, Any], *, name: str = "pool-a") -> Reply:
        """The reply to a merge patch of the whole object through its status subresource."""
        return self.server.call("PATCH", self.path(name) + "/status", body, content_type=MERGE_PATCH)

    def apply(self, spec: Mapping[str, Any], *, manager: str, name: str = "pool-a") -> Reply:
        """The reply to a server-side apply, without force, of exactly this spec."""
        return self.server.apply(self.path(name), self.manifest(name, spec), manager=manager)


def minimal_spec() -> dict[str, Any]:
    """The least that a pool must say. Its selector matches no node of any cluster."""
    return {"novaRef": {"name": "nova"}, "nodeSelector": {"test.c5c3.io/none": "such"}}


def wait_until(fact: Callable[[], bool], what: str, *, seconds: float = 30) -> None:
    """Returns once the fact holds; an AssertionError that names it when it does not in time."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
