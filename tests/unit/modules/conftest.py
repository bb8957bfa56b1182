# SPDX-License-Identifier: Apache-2.0
"""Two API servers that keep a few objects: the management cluster and a target cluster."""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration
from unit.clients import answering

Object = dict[str, Any]
REGISTRATION = "/api/v1/namespaces/c5c3-clusters/secrets/edge"


@dataclasses.dataclass(kw_only=True)
class World:
    """What lies where, by path. A path that ends with a plural answers with what lies below it."""

    kubeconfig: str
    management: answering.Server
    edge: answering.Server
    objects: dict[str, dict[str, Object]]

    def run(self, module: Any, *, check_mode: bool = False, **params: Any) -> Object:
        """Run a module as its task would, defaults filled in."""
        defaults = {name: argument.get("default") for name, argument in module.ARGUMENTS.items()}
        task = entry.Task(params={**defaults, "kubeconfig": self.kubeconfig, **params}, check_mode=check_mode)
        result: Object = module.run(task)
        return result

    def register(self, url: str | None = None, **data: str) -> None:
        """Register the target cluster under the name `edge`, there or elsewhere."""
        kubeconfig = {
            "current-context": "edge",
            "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "operator"}}],
            "clusters": [{"name": "edge", "cluster": {"server": url or self.edge.url}}],
            "users": [{"name": "operator", "user": {"token": "edge-token"}}],
        }
        parts = {"kubeconfig": json.dumps(kubeconfig), **data}
        self.objects["management"][REGISTRATION] = {
            "metadata": {"name": "edge", "labels": {registration.LABEL: "true"}},
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in parts.items()},
        }

    def events(self) -> list[str]:
        """`<type> <reason>` of each event that was recorded, in order, and on the management cluster alone."""
        assert not [request for request in self.edge.requests if request.path.endswith("/events")]
        sent = [request.document for request in self.management.requests if request.path.endswith("/events")]
        return [f"{event['type']} {event['reason']}" for event in sent]


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    objects: dict[str, dict[str, Object]] = {"management": {}, "edge": {}}
    with (
        answering.Server(_serve(objects["management"])).running() as management,
        answering.Server(_serve(objects["edge"])).running() as edge,
    ):
        kubeconfig = tmp_path / "kubeconfig"
        made = World(kubeconfig=str(kubeconfig), management=management, edge=edge, objects=objects)
        kubeconfig.write_text(
            json.dumps(
                {
                    "current-context": "management",
                    "contexts": [{"name": "management", "context": {"cluster": "management", "user": "me"}}],
                    "clusters": [{"name": "management", "cluster": {"server": management.url}}],
                    "users": [{"name": "me", "user": {"token": "management-token"}}],
                }
            ),
            encoding="utf-8",
        )
        yield made


def _serve(objects: dict[str, Object]) -> Callable[[answering.Request], answering.Reply]:
    def answer(request: answering.Request) -> answering.Reply:
        path, name = request.path, request.path.rpartition("/")[2]
        if request.method in ("POST", "PATCH"):
            written = request.document
            return answering.Reply(status=201, body=written if isinstance(written, dict) else {"metadata": {}})
        if request.method == "DELETE":
            return answering.Reply(body={"kind": "Status", "status": "Success"} if objects.pop(path, None) else {})
        if path in objects:
            return answering.Reply(body=objects[path])
        below = [found for where, found in objects.items() if where.rpartition("/")[0] == path and "metadata" in found]
        if below or "limit" in request.query:
            wanted = dict(pair.split("=") for pair in request.query.get("labelSelector", "").split(",") if pair)
            items = [each for each in below if wanted.items() <= each["metadata"].get("labels", {}).items()]
            return answering.Reply(body={"items": items, "metadata": {}})
        details = {"name": name, "kind": path.split("/")[-2]}
        return answering.Reply(status=404, body={"kind": "Status", "reason": "NotFound", "details": details})

    return answer
