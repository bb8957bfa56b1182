# SPDX-License-Identifier: Apache-2.0
"""An API server, a Nova and a Placement that keep what is written to them, for whole passes of a playbook."""

from __future__ import annotations

import base64
import contextlib
import copy
import dataclasses
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib import parse

from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary
from unit.clients import answering, openstack

Object = dict[str, Any]
Reply = answering.Reply

NAMESPACE = "openstack"
POOL, NOVA = "pool-a", "nova"
SECRETS = {
    "password of the service user": openstack.PASSWORD,
    "password of the contract": "correct-horse",
    "transport_url": "rabbit://nova:battery-staple@broker:5672/",
}
_CORE = f"/api/v1/namespaces/{NAMESPACE}"
_GROUP = f"/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/{NAMESPACE}"
_KVM = "/apis/kvm.cloud.sap/v1"
_APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
_TOKEN = "/v3/auth/tokens"
_NOVA_PROXY = f"{_CORE}/services/http:{NOVA}:8774/proxy"
#: What stands for the kind in the paths of its objects.
PATHS = {
    "ConfigMap": f"{_CORE}/configmaps",
    "DaemonSet": f"{_APPS}/daemonsets",
    "Hypervisor": f"{_KVM}/hypervisors",
    "Node": "/api/v1/nodes",
    "Nova": f"{_GROUP}/novas",
    "NovaCompute": f"{_GROUP}/novacomputes",
    "Pod": f"{_CORE}/pods",
    "Secret": f"{_CORE}/secrets",
}


@dataclasses.dataclass(kw_only=True)
class Cloud(openstack.OpenStack):
    """Nova's services and aggregates by id, Placement's traits, which of them a stranger's provider carries, and how
    many servers are on a host.
    """

    services: dict[str, Object] = dataclasses.field(default_factory=dict)
    aggregates: dict[int, Object] = dataclasses.field(default_factory=dict)
    traits: set[str] = dataclasses.field(default_factory=set)
    carried: set[str] = dataclasses.field(default_factory=set)
    servers: dict[str, int] = dataclasses.field(default_factory=dict)

    def _answer(self, request: answering.Request) -> Reply:
        reply = super()._answer(request)
        if reply.status != 404:
            return reply
        method, path = request.method, request.path
        last = path.rpartition("/")[2]
        if path.startswith("/placement/traits/"):
            return self._trait(method, last)
        if "/os-aggregates" in path:
            return self._aggregate(method, path, request)
        if last in self.services:
            return self._service(method, last, request)
        # A page that goes on from a marker is empty: everything is on the first.
        more = "marker" in request.query
        hosts = sorted(row["host"] for row in self.services.values())
        lists = {
            "os-services": ("services", [*self.services.values()]),
            "os-hypervisors/detail": ("hypervisors", [openstack.hypervisor(host) for host in hosts]),
            "servers": ("servers", self._servers(request.query.get("host", ""))),
            "resource_providers": ("resource_providers", []),
            "traits": ("traits", [name for name in self.carried if request.query.get("name") == f"in:{name}"]),
        }
        for ending, (key, rows) in lists.items():
            if method == "GET" and path.endswith(f"/{ending}"):
                return Reply(body={key: [] if more else rows})
        return reply

    def _servers(self, host: str) -> list[Object]:
        return [{"id": f"server-{number}"} for number in range(self.servers.get(host, 0))]

    def _service(self, method: str, which: str, request: answering.Request) -> Reply:
        if method == "DELETE":
            del self.services[which]
            return Reply(status=204)
        self.services[which] |= request.document
        return Reply(body={"service": self.services[which]})

    def _aggregate(self, method: str, path: str, request: answering.Request) -> Reply:
        if method == "GET":
            return Reply(body={"aggregates": [*self.aggregates.values()]})
        if method == "POST" and path.endswith("/os-aggregates"):
            which = max(self.aggregates, default=0) + 1
            self.aggregates[which] = aggregate(which, **request.document["aggregate"])
            return Reply(body={"aggregate": self.aggregates[which]})
        which = int(path.removesuffix("/action").rpartition("/")[2])
        if method == "DELETE":
            del self.aggregates[which]
            return Reply(status=200)
        if method == "POST":
            self.aggregates[which]["metadata"] |= request.document["set_metadata"]["metadata"]
        else:
            self.aggregates[which] |= request.document["aggregate"]
        return Reply(body={"aggregate": self.aggregates[which]})

    def _trait(self, method: str, name: str) -> Reply:
        known = name in self.traits
        if method == "PUT":
            self.traits.add(name)
            return Reply(status=204 if known else 201)
        if method == "DELETE" and name in self.carried:
            return Reply(status=409, body={"errors": [{"detail": f"{name} is in use"}]})
        if method == "DELETE":
            self.traits.discard(name)
        return Reply(status=204 if known else 404, body={"errors": [{"detail": f"No such trait {name}"}]})


class Standing:
    """The stand-in's objects by their path, and its cloud."""

    def __init__(self) -> None:
        self.cloud = Cloud()
        self.objects: dict[str, Object] = {}
        self.events: list[Object] = []
        self.api = answering.Server(self._answer)
        self._versions = 0

    @contextlib.contextmanager
    def running(self) -> Iterator[Standing]:
        with self.cloud.server.running(), self.api.running():
            yield self

    def environment(self, folder: pathlib.Path, path: str) -> dict[str, str]:
        """The environment of a program that speaks to it."""
        content = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": self.api.url}}],
            "users": [{"name": "x", "user": {}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(content), encoding="utf-8")
        return {"PATH": path, "HOME": str(folder), "KUBECONFIG": str(folder / "kubeconfig")}

    # --- what a test puts there, and finds

    def put(self, kind: str, name: str, *, labels: Mapping[str, str] | None = None, **parts: Any) -> Object:
        """Have an object; returns what is kept of it."""
        metadata = {"name": name, "labels": dict(labels or {}), "creationTimestamp": "2026-01-01T00:00:00Z"}
        if kind not in ("Node", "Hypervisor"):
            metadata["namespace"] = NAMESPACE
        return self._keep(f"{PATHS[kind]}/{name}", _new({"kind": kind, "metadata": metadata, **parts}))

    def put_secret(self, name: str, **values: str) -> Object:
        return self.put(
            "Secret", name, data={key: base64.b64encode(each.encode()).decode() for key, each in values.items()}
        )

    def get(self, kind: str, name: str) -> Object:
        return self.objects[f"{PATHS[kind]}/{name}"]

    def of_kind(self, kind: str) -> list[Object]:
        return [found for path, found in self.objects.items() if path.rpartition("/")[0] == PATHS[kind]]

    def state(self) -> Object:
        """All that it keeps, by what keeps it; equal only where nothing was written in between."""
        cloud = self.cloud
        kept = {
            "kubernetes": self.objects,
            "events": self.events,
            "services": cloud.services,
            "aggregates": cloud.aggregates,
            "traits": cloud.traits,
        }
        return copy.deepcopy(kept)

    def writes(self) -> list[str]:
        """Method and path of every request so far that was meant to change something."""
        asked = [*self.api.requests, *self.cloud.server.requests]
        return [
            f"{request.method} {request.path}"
            for request in asked
            if request.method != "GET" and not request.path.endswith(_TOKEN) and not _is_dry(request)
        ]

    # --- the API server

    def _answer(self, request: answering.Request) -> Reply:
        if request.path.startswith(_NOVA_PROXY):
            return self.cloud.server.answer(
                dataclasses.replace(request, target=request.target.removeprefix(_NOVA_PROXY))
            )
        document, dry = request.document if request.body else {}, _is_dry(request)
        if request.method == "GET":
            return self._read(request)
        if request.method == "DELETE":
            found = self.objects.get(request.path) if dry else self.objects.pop(request.path, None)
            return Reply(body={"kind": "Status", "status": "Success"}) if found else _missing(request.path)
        if request.path.endswith("/events"):
            self.events.append(document)
            return Reply(status=201, body=document)
        path, written = self._written(request, document)
        if dry:
            return Reply(body=written)
        answered = self._keep(path, written)
        if path.startswith(PATHS["DaemonSet"]):
            # Its controller sees it at once, but not before it is written.
            written["status"] = {**written.get("status", {}), "observedGeneration": written["metadata"]["generation"]}
        return Reply(body=answered)

    def _read(self, request: answering.Request) -> Reply:
        path = request.path
        if path == _KVM:
            return Reply(body={"resources": [{"name": "hypervisors"}]})
        if path in self.objects:
            return Reply(body=self.objects[path])
        # A list of all namespaces is that of the one there is.
        path = next((each for each in PATHS.values() if each.replace(f"/namespaces/{NAMESPACE}", "") == path), path)
        if path in PATHS.values():
            wanted = dict(pair.split("=", 1) for pair in request.query.get("labelSelector", "").split(",") if pair)
            below = [found for where, found in self.objects.items() if where.rpartition("/")[0] == path]
            items = [each for each in below if wanted.items() <= (each["metadata"].get("labels") or {}).items()]
            return Reply(body={"metadata": {}, "items": items})
        return _missing(path)

    def _written(self, request: answering.Request, document: Any) -> tuple[str, Object]:
        """Where the request writes, and what would be there then."""
        path = request.path
        if request.method == "POST":
            return f"{path}/{document['metadata']['name']}", _new(document)
        path = path.removesuffix("/status")
        before = self.objects.get(path) or _new(document)
        if request.method == "PUT":
            return path, {**before, "status": document["status"]}
        if isinstance(document, list):
            raise NotImplementedError(f"a JSON patch of {path}")
        after = _merged(before, document)
        if "apply" in request.headers["Content-Type"] and "spec" in document:
            # What is applied has one owner: a field that is gone from it is gone.
            after["spec"] = copy.deepcopy(document["spec"])
        if after.get("spec") != before.get("spec"):
            after["metadata"]["generation"] += 1
        return path, after

    def _keep(self, path: str, written: Object) -> Object:
        self._versions += 1
        written["metadata"]["resourceVersion"] = str(self._versions)
        self.objects[path] = written
        return copy.deepcopy(written)


def aggregate(which: int, name: str, availability_zone: str | None = None, **metadata: str) -> Object:
    """An aggregate as Nova lists it, without hosts."""
    zone = {"availability_zone": availability_zone} if availability_zone else {}
    return {
        "id": which,
        "name": name,
        "availability_zone": availability_zone,
        "hosts": [],
        "metadata": {**zone, **metadata},
    }


@contextlib.contextmanager
def with_a_pool(*, nodes: Mapping[str, str], **spec: Any) -> Iterator[Standing]:
    """A stand-in with pool-a, its Nova and nodes by name and zone, each with a Hypervisor and a compute service."""
    stand = Standing()
    stand.put_secret("nova-service-user", password=SECRETS["password of the service user"])
    contract = {"password": SECRETS["password of the contract"], "transport_url": SECRETS["transport_url"]}
    stand.put_secret("nova-compute-config", **contract, **{"nova-compute.conf": "[DEFAULT]\n"})
    stand.put(
        "Nova",
        NOVA,
        spec={
            "keystoneEndpoint": f"{stand.cloud.server.url}/v3",
            "serviceUser": {"secretRef": {"name": "nova-service-user"}},
            "endpoints": {"placement": {"override": f"{stand.cloud.server.url}/placement"}},
        },
        status={"installedRelease": "2026.1", "computeConfigSecretRef": {"name": "nova-compute-config"}},
    )
    for node, zone in nodes.items():
        stand.put("Node", node, labels={"pool": "a", vocabulary.ZONE_LABEL: zone})
        stand.put("Hypervisor", node, spec={"customTraits": [], "lifecycleEnabled": True}, status={"traits": []})
        row = openstack.service(node)
        stand.cloud.services[row["id"]] = row
    stand.put("NovaCompute", POOL, spec={"novaRef": {"name": NOVA}, "nodeSelector": {"pool": "a"}, **spec})
    with stand.running():
        yield stand


def _is_dry(request: answering.Request) -> bool:
    """Whether the API server shall only say what it would do."""
    asked = {"dryRun": request.query.get("dryRun")}
    if request.method == "DELETE" and request.body:
        asked |= request.document
    return asked["dryRun"] in ("All", ["All"])


def _new(document: Object) -> Object:
    """The object as the API server would begin to keep it."""
    made: Object = copy.deepcopy(document)
    metadata = {
        "creationTimestamp": "2026-01-02T00:00:00Z",
        "generation": 1,
        "uid": f"uid-{document['metadata']['name']}",
    }
    made["metadata"] = {**metadata, **made["metadata"]}
    return made


def _merged(before: Any, patch: Any) -> Any:
    """The JSON merge patch of RFC 7396."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    after = copy.deepcopy(before) if isinstance(before, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = _merged(after.get(key), value)
    return after


def _missing(path: str) -> Reply:
    kind, name = parse.unquote(path).split("/")[-2:]
    details = {"name": name, "kind": kind}
    return Reply(status=404, body={"kind": "Status", "reason": "NotFound", "details": details})


def shown_secrets(output: str) -> list[str]:
    """Which secrets stand in a text, as they are or as a Secret holds them."""
    return [
        name
        for name, secret in SECRETS.items()
        if re.search("|".join(map(re.escape, (secret, base64.b64encode(secret.encode()).decode()))), output)
    ]
