# SPDX-License-Identifier: Apache-2.0
"""An API server with a few objects: lists them, tells watches what becomes of them, and has the RBAC of manifests."""

from __future__ import annotations

import json
import pathlib
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from unit.clients import answering
from unit.clients.answering import Reply

# How long an answer to a watch waits for something to tell, in seconds: the server's end of a time-out.
_WATCH = 20.0


class ApiServer:
    """Objects by kind, namespace and name. Each change is an event, and a watch is told of those after its version."""

    def __init__(self, rights: Iterable[Mapping[str, Any]] | None = None) -> None:
        """Whoever asks has the rights that these manifests bind; None allows everything."""
        self._grants = None if rights is None else list(_grants(list(rights)))
        self._objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        # The kind and the event, whose place in the list is its version.
        self._events: list[tuple[str, dict[str, Any]]] = []
        self._changed = threading.Condition()
        self._watches: list[str] = []
        #: What was asked for without the right to it, as `<verb> <path>`.
        self.refused: list[str] = []
        #: Statuses to answer the next calls of a path with, before it is answered in earnest.
        self.troubles: dict[str, list[int]] = {}

    def put(self, plural: str, name: str, *, namespace: str = "", labels: Mapping[str, str] = {}, **rest: Any) -> None:
        """Create the object, or have it be so from now on."""
        with self._changed:
            kind = "MODIFIED" if (plural, namespace, name) in self._objects else "ADDED"
            metadata = {"name": name, "uid": name, "labels": dict(labels), "resourceVersion": self._next_version()}
            item = {"metadata": metadata | ({"namespace": namespace} if namespace else {}), **rest}
            self._objects[plural, namespace, name] = item
            self._tell(plural, kind, item)

    def delete(self, plural: str, name: str, *, namespace: str = "") -> None:
        """Have the object gone."""
        with self._changed:
            self._tell(plural, "DELETED", self._objects.pop((plural, namespace, name)))

    def watched(self) -> set[str]:
        """The paths of the watches that wait for news at this moment."""
        with self._changed:
            return set(self._watches)

    def answer(self, request: answering.Request) -> Reply:
        group, namespace, plural, name = _address(request.path)
        watch = request.query.get("watch") == "true"
        verb = "watch" if watch else "get" if name else "list"
        if self.troubles.get(request.path):
            return Reply(status=self.troubles[request.path].pop(0), body={})
        if not self._allows(verb, group, plural, namespace):
            self.refused.append(f"{verb} {request.path}")
            return Reply(status=403, body={})
        key, _, value = request.query.get("labelSelector", "").partition("=")

        def concerned(item: Mapping[str, Any]) -> bool:
            labels = item["metadata"]["labels"]
            return namespace in ("", item["metadata"].get("namespace")) and (not key or labels.get(key) == value)

        with self._changed:
            if name:
                found = self._objects.get((plural, namespace, name))
                return Reply(body=found) if found else Reply(status=404, body={})
            if watch:
                return self._news(request, plural, concerned)
            items = [item for (of, _, _), item in self._objects.items() if of == plural and concerned(item)]
            return Reply(body={"items": items, "metadata": {"resourceVersion": str(len(self._events))}})

    def _news(self, request: answering.Request, plural: str, concerned: Any) -> Reply:
        since = int(request.query["resourceVersion"])

        def events() -> list[dict[str, Any]]:
            return [event for kind, event in self._events[since:] if kind == plural and concerned(event["object"])]

        self._watches.append(request.path)
        self._changed.wait_for(events, _WATCH)
        self._watches.remove(request.path)
        return Reply(body=b"".join(json.dumps(event).encode() + b"\n" for event in events()))

    def _next_version(self) -> str:
        return str(len(self._events) + 1)

    def _tell(self, plural: str, kind: str, item: dict[str, Any]) -> None:
        item = item | {"metadata": item["metadata"] | {"resourceVersion": self._next_version()}}
        self._events.append((plural, {"type": kind, "object": item}))
        self._changed.notify_all()

    def _allows(self, verb: str, group: str, plural: str, namespace: str) -> bool:
        return self._grants is None or any(
            within in ("", namespace) and verb in rule["verbs"] and group in rule["apiGroups"]
            for within, rule in self._grants
            if plural in rule["resources"]
        )


def target_rights(*namespaces: str) -> list[dict[str, Any]]:
    """What `config/target-cluster` gives the operator, with the manifest of pools once for each namespace."""
    folder = pathlib.Path(__file__).parents[3] / "config" / "target-cluster"
    documents = []
    for file in sorted(folder.glob("*.yaml")):
        for namespace in namespaces if file.name == "3-pools.yaml" else ("openstack",):
            text = file.read_text().replace("namespace: openstack", f"namespace: {namespace}")
            documents += list(yaml.safe_load_all(text))
    return documents


def _grants(documents: list[Mapping[str, Any]]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Each rule that is bound, with the namespace that it holds in; empty for all."""
    for binding in documents:
        if not binding["kind"].endswith("Binding"):
            continue
        within = binding["metadata"].get("namespace", "")
        for role in documents:
            wanted = (binding["roleRef"]["kind"], binding["roleRef"]["name"])
            if (role["kind"], role["metadata"]["name"]) == wanted and role["metadata"].get("namespace", "") == within:
                yield from ((within, rule) for rule in role["rules"])


def _address(path: str) -> tuple[str, str, str, str]:
    """The API group, the namespace, the plural and the name that a path tells; each may be empty."""
    _, root, *rest = path.split("/")
    group = "" if root == "api" else rest.pop(0)
    rest.pop(0)
    namespace = ""
    if len(rest) > 2:
        _, namespace, *rest = rest
    return group, namespace, rest[0], rest[1] if len(rest) > 1 else ""
