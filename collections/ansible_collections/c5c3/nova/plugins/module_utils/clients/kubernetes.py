# SPDX-License-Identifier: Apache-2.0
"""A cluster's API server, spoken to in plain dictionaries.

The `kubernetes` library finds the cluster and authenticates (kubeconfig, exec plug-ins, the service account of a pod,
their renewal). Its typed models and its discovery are left out: a pool's objects are a handful of known kinds, so one
table says where each lives, nothing is discovered, and no cache file is left on a small temporary disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import hashlib
import json
import os
import pathlib
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from ansible_collections.c5c3.nova.plugins.module_utils.clients import api_server, calls, errors

if TYPE_CHECKING:
    import urllib3

FIELD_MANAGER: Final = "cobaltcore-operator"
"""The one field manager of everything that the product writes."""

EVENT_SOURCE: Final = "novacompute-controller"
EVENT_MESSAGE_BYTES: Final = 1024
PAGE_SIZE: Final = 500
LIST_ATTEMPTS: Final = 3
"""How often a list starts anew when its pages expired under it."""

Object = dict[str, Any]
Objects = list[Object]
PatchType = Literal["merge", "json", "strategic"]
Propagation = Literal["Background", "Foreground", "Orphan"]

_PATCH_CONTENT: Final[Mapping[str, str]] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_APPLY_CONTENT: Final = "application/apply-patch+yaml"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_SERVER_METADATA: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resource:
    """Where the objects of a kind live."""

    api_version: str
    plural: str
    namespaced: bool = True

    @property
    def root(self) -> str:
        """The path of the group and version: `/api/v1`, `/apis/apps/v1`."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        parts = [self.root]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.plural)
        if name is not None:
            parts.append(_segment(name))
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)


RESOURCES: Final[Mapping[str, Resource]] = {
    "NovaCompute": Resource(api_version="nova.openstack.c5c3.io/v1alpha1", plural="novacomputes"),
    "Nova": Resource(api_version="nova.openstack.c5c3.io/v1alpha1", plural="novas"),
    "Hypervisor": Resource(api_version="kvm.cloud.sap/v1", plural="hypervisors", namespaced=False),
    "Eviction": Resource(api_version="kvm.cloud.sap/v1", plural="evictions", namespaced=False),
    "Secret": Resource(api_version="v1", plural="secrets"),
    "ConfigMap": Resource(api_version="v1", plural="configmaps"),
    "Pod": Resource(api_version="v1", plural="pods"),
    "Node": Resource(api_version="v1", plural="nodes", namespaced=False),
    "Namespace": Resource(api_version="v1", plural="namespaces", namespaced=False),
    "Event": Resource(api_version="v1", plural="events"),
    "DaemonSet": Resource(api_version="apps/v1", plural="daemonsets"),
    "Deployment": Resource(api_version="apps/v1", plural="deployments"),
    "Job": Resource(api_version="batch/v1", plural="jobs"),
    "Lease": Resource(api_version="coordination.k8s.io/v1", plural="leases"),
    "VerticalPodAutoscaler": Resource(api_version="autoscaling.k8s.io/v1", plural="verticalpodautoscalers"),
}


class Cluster:
    """One API server. Every method raises `errors.CallError` for an answer that is not a success, or for none."""

    def __init__(self, server: api_server.ApiServer) -> None:
        self.server = server

    @classmethod
    def connect(cls, kubeconfig: str | None = None, context: str | None = None) -> Cluster:
        """Return the cluster that is meant: the file given, `$KUBECONFIG`, `~/.kube/config`, or the one this pod runs
        in.
        """
        return cls(api_server.ApiServer.connect(kubeconfig, context))

    @property
    def in_cluster(self) -> bool:
        """Whether this process runs in a pod of the cluster and uses that pod's service account."""
        return self.server.in_cluster

    @property
    def host(self) -> str:
        """The API server's URL, without credentials."""
        return self.server.url

    # --- reading

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return the object; a missing one is an error with status 404."""
        return self._call("GET", _resource(kind).path(_required(kind, namespace), name))

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return the object, or None when the API server says that this very object does not exist.

        Any other 404, such as that of a kind that is not served, stays an error: it does not say that the object is
        gone.
        """
        path = _resource(kind).path(_required(kind, namespace), name)
        answer = self._send("GET", path)
        if _is_missing(answer, kind, name):
            return None
        return _success(answer, "GET", path)

    def list(
        self,
        kind: str,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        *,
        metadata_only: bool = False,
    ) -> Objects:
        """Return the objects of one namespace, or of all, that carry the labels and fields.

        Read in pages, each item with its kind and apiVersion. With `metadata_only` the items have nothing but those and
        their metadata. Pages that expire (410) start the list anew.
        """
        resource = _resource(kind)
        query: dict[str, str] = {"limit": str(PAGE_SIZE)}
        if labels:
            query["labelSelector"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        if fields:
            query["fieldSelector"] = ",".join(f"{key}={value}" for key, value in sorted(fields.items()))
        accept = _METADATA_LIST if metadata_only else "application/json"
        path = resource.path(namespace)
        for attempt in range(1, LIST_ATTEMPTS + 1):
            try:
                items = self._pages(path, query, accept)
            except errors.CallError as error:
                if error.status != 410 or attempt == LIST_ATTEMPTS:
                    raise
            else:
                break
        return [{**item, "kind": kind, "apiVersion": resource.api_version} for item in items]

    def serves(self, kind: str) -> bool:
        """Return whether the cluster serves the kind; only "no such group, version or resource" is a no."""
        resource = _resource(kind)
        answer = self._send("GET", resource.root)
        if answer.status == 404:
            return False
        served = _success(answer, "GET", resource.root)
        return any(each.get("name") == resource.plural for each in served.get("resources") or ())

    # --- writing

    def apply(self, body: Object, *, dry_run: bool = False) -> Object:
        """Return the object as it is after a forced server-side apply of the fields given.

        The status and the metadata that the server owns are left out, so that an object that was read can be applied.
        """
        kind, name, namespace = _identity(body)
        wanted = {key: value for key, value in body.items() if key != "status"}
        wanted["apiVersion"] = _resource(kind).api_version
        wanted["metadata"] = {key: value for key, value in body["metadata"].items() if key not in _SERVER_METADATA}
        query = {"fieldManager": FIELD_MANAGER, "force": "true", **_dry(dry_run)}
        return self._call(
            "PATCH", _resource(kind).path(namespace, name), query=query, body=wanted, content_type=_APPLY_CONTENT
        )

    def create(self, body: Object, *, dry_run: bool = False) -> Object:
        """Return the new object; an existing one is an error with status 409 and reason AlreadyExists."""
        kind, _name, namespace = _identity(body)
        query = {"fieldManager": FIELD_MANAGER, **_dry(dry_run)}
        wanted = {**body, "apiVersion": _resource(kind).api_version}
        return self._call("POST", _resource(kind).path(namespace), query=query, body=wanted)

    def replace_status(self, body: Object, *, dry_run: bool = False) -> Object:
        """Return the object after its status was replaced; one that changed since it was read is an error with status
        409.
        """
        kind, name, namespace = _identity(body)
        if not body["metadata"].get("resourceVersion"):
            message = f"the status of {kind} {name} may only be written with the resourceVersion that it was read at"
            raise ValueError(message)
        query = {"fieldManager": FIELD_MANAGER, **_dry(dry_run)}
        return self._call("PUT", _resource(kind).path(namespace, name, "status"), query=query, body=body)

    def patch(
        self,
        kind: str,
        name: str,
        namespace: str | None,
        body: Object | Sequence[Object],
        type: PatchType = "merge",  # noqa: A002 - the word of the API
        *,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Return the object after the patch; a failed `test` of a JSON patch is an error with status 422."""
        return self._call(
            "PATCH",
            _resource(kind).path(_required(kind, namespace), name, subresource),
            query={"fieldManager": FIELD_MANAGER, **_dry(dry_run)},
            body=body,
            content_type=_PATCH_CONTENT[type],
        )

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
        dry_run: bool = False,
    ) -> bool:
        """Ask for the deletion; return False when the object was gone already.

        With `uid` only that object is deleted: another of the same name counts as gone and stays.
        """
        path = _resource(kind).path(_required(kind, namespace), name)
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if dry_run:
            options["dryRun"] = ["All"]
        answer = self._send("DELETE", path, body=options)
        if _is_missing(answer, kind, name):
            return False
        if answer.status == 409 and uid is not None:
            there = self.find(kind, name, namespace)
            if there is None or there["metadata"]["uid"] != uid:
                return False
        _success(answer, "DELETE", path)
        return True

    def record_event(
        self,
        involved: Object,
        type: Literal["Normal", "Warning"],  # noqa: A002
        reason: str,
        message: str,
        *,
        once: bool = False,
    ) -> bool:
        """Record a core/v1 Event for the object, in its namespace (a cluster-scoped object's go to `default`).

        With `once`, the same reason and message are not recorded anew while the API server keeps the first. An event is
        a courtesy: one that cannot be written fails nothing, and False says so.
        """
        kind, name, namespace = _identity(involved)
        metadata = involved["metadata"]
        now = timestamp()
        reference = {
            "kind": kind,
            "apiVersion": _resource(kind).api_version,
            "name": name,
            "namespace": namespace,
            "uid": metadata.get("uid"),
            "resourceVersion": metadata.get("resourceVersion"),
        }
        event: Object = {
            "kind": "Event",
            "metadata": {"namespace": namespace or "default"},
            "involvedObject": {key: value for key, value in reference.items() if value},
            "type": type,
            "reason": reason,
            "message": message.encode()[:EVENT_MESSAGE_BYTES].decode(errors="ignore"),
            "source": {"component": EVENT_SOURCE},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        if once:
            digest = hashlib.sha256(f"{metadata.get('uid')} {reason} {message}".encode()).hexdigest()[:16]
            event["metadata"]["name"] = f"{name}.{digest}"
        else:
            event["metadata"]["generateName"] = f"{name}."
        try:
            self.create(event)
        except errors.CallError:
            return False
        return True

    def events_of(self, involved: Object) -> Objects:
        """Return the core/v1 Events about the object, whoever recorded them, in no order."""
        kind, name, namespace = _identity(involved)
        about = {"involvedObject.kind": kind, "involvedObject.name": name}
        return self.list("Event", namespace or "default", fields=about)

    # --- the calls themselves

    def _pages(self, path: str, query: Mapping[str, str], accept: str) -> Objects:
        items: Objects = []
        position = ""
        while True:
            page = self._call("GET", path, query={**query, "continue": position} if position else query, accept=accept)
            items += page.get("items") or []
            position = page.get("metadata", {}).get("continue") or ""
            if not position:
                return items

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | Sequence[Object] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Object:
        answer = self._send(method, path, query=query, body=body, content_type=content_type, accept=accept)
        return _success(answer, method, path)

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | Sequence[Object] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body).encode()
        try:
            answer = self.server.send(method, target, headers=headers, body=data)
        except errors.CallError as error:
            calls.count("kubernetes", method, None)
            error.kind = _kind_at(path)
            raise
        calls.count("kubernetes", method, answer.status)
        return answer


def timestamp() -> str:
    """Return the time as Kubernetes writes it: RFC 3339 in UTC, to the second."""
    return dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shared(kubeconfig: str | None = None, context: str | None = None) -> Cluster:
    """Return the process's one connection to the cluster that is meant (see `Cluster.connect`).

    A changed kubeconfig and a forked process get a connection of their own: two processes on one TLS stream break it.
    """
    path = api_server.kubeconfig_path(kubeconfig)
    stamp: tuple[int, int] | None = None
    with contextlib.suppress(OSError):
        found = pathlib.Path(path or "").stat()
        stamp = (found.st_mtime_ns, found.st_size)
    return _shared(path, context, stamp, os.getpid())


@functools.lru_cache(maxsize=8)
def _shared(path: str | None, context: str | None, _stamp: tuple[int, int] | None, _pid: int) -> Cluster:
    return Cluster.connect(path, context)


def _resource(kind: str) -> Resource:
    try:
        return RESOURCES[kind]
    except KeyError:
        message = f"no kind {kind!r} is known here; the kinds are {', '.join(sorted(RESOURCES))}"
        raise ValueError(message) from None


def _required(kind: str, namespace: str | None) -> str | None:
    if _resource(kind).namespaced and not namespace:
        message = f"a {kind} lives in a namespace, and none was named"
        raise ValueError(message)
    return namespace


def _identity(body: Object) -> tuple[str, str, str | None]:
    """Return kind, name ("" when the server shall choose it) and namespace of an object."""
    kind = body["kind"]
    metadata = body["metadata"]
    namespace = _required(kind, metadata.get("namespace"))
    return kind, metadata.get("name") or "", namespace if _resource(kind).namespaced else None


def _segment(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001
    return {"dryRun": "All"} if dry_run else {}


def _document(answer: urllib3.BaseHTTPResponse) -> Object:
    try:
        document = json.loads(answer.data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _success(answer: urllib3.BaseHTTPResponse, method: str, path: str) -> Object:
    document = _document(answer)
    if 200 <= answer.status < 300 and document:
        for each in (document, *(document.get("items") or ())):
            # Who owns which field is as long as the object itself, and nothing here asks for it.
            each.get("metadata", {}).pop("managedFields", None)
        return document
    detail = document.get("message") or answer.data.decode(errors="replace")
    if 200 <= answer.status < 300:
        # Not a word of it: it may be a Secret.
        detail = "the answer is not a JSON object"
    raise errors.CallError(
        system="kubernetes",
        call=f"{method} {path}",
        status=answer.status,
        detail=detail,
        reason=document.get("reason"),
        kind=_kind_at(path),
    )


def _kind_at(path: str) -> str | None:
    """Return the kind whose objects lie at a path, so that a failure can be told by what was asked for."""
    segments = path.split("/")
    for kind, resource in RESOURCES.items():
        if path.startswith(f"{resource.root}/") and resource.plural in segments:
            return kind
    return None


def _is_missing(answer: urllib3.BaseHTTPResponse, kind: str, name: str) -> bool:
    """Return whether the answer says that the object itself does not exist, not that its kind or namespace does not."""
    if answer.status != 404:
        return False
    status = _document(answer)
    details = status.get("details") or {}
    return (
        status.get("kind") == "Status"
        and status.get("reason") == "NotFound"
        and details.get("name") == name
        and details.get("kind") == _resource(kind).plural
    )
