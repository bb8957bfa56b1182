# SPDX-License-Identifier: Apache-2.0
"""The API server, as the wrapper needs it: plain data in and out, time-outs on everything, streams line by line.

The address, the trust and the credentials come from the kubernetes library, in the order that kubectl users expect;
objects stay the dictionaries that the server sent, because models of the library would cost their whole size in memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import kubernetes
import urllib3
from ansible_collections.c5c3.nova.plugins.module_utils.clients import api_server
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes as kubernetes_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration

from nova_compute_operator import log, triggers

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 30.0
PAGE_SIZE = 500

_JSON = "application/json"

# Asks for metadata and takes nothing else, so that the data of a Secret is never even sent.
_METADATA = "application/json;as=PartialObjectMetadata{list};g=meta.k8s.io;v=v1"


class ApiError(Exception):
    """A call that failed; `status` is None when there was no answer. Its text never carries a body or a credential."""

    def __init__(self, *, call: str, status: int | None, detail: str) -> None:
        super().__init__(f"{call}: HTTP {status}: {detail}" if status else f"{call}: {detail}")
        self.status = status


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """Some of the objects of a list, and the version that a watch goes on from."""

    items: list[dict[str, Any]]
    resource_version: str


class ApiServer:
    """Calls to one API server. Safe to use from several threads."""

    def __init__(self, configuration: Any) -> None:
        self._client = kubernetes.client.ApiClient(configuration)
        # Told of each call: its method (or WATCH) and the HTTP status, None when there was no answer.
        self.on_call: Callable[[str, int | None], None] = lambda _method, _status: None

    @classmethod
    def connect(cls) -> ApiServer:
        """By $KUBECONFIG, else ~/.kube/config, else the service account of the pod. Raises ConfigException."""
        configuration = kubernetes.client.Configuration()
        load: Any = kubernetes.config
        if os.environ.get("KUBECONFIG") or pathlib.Path("~/.kube/config").expanduser().is_file():
            # Named: the library itself has read the variable when it was imported.
            load.load_kube_config(os.environ.get("KUBECONFIG"), client_configuration=configuration)
        else:
            load.load_incluster_config(client_configuration=configuration)
        if not configuration.verify_ssl:
            logger.warning("The API server's certificate is not checked", extra=log.fields(server=configuration.host))
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        # A failed call is repeated by whoever knows whether it still matters.
        configuration.retries = False
        return cls(configuration)

    @classmethod
    def of(cls, credentials: registration.Credentials) -> ApiServer:
        """By credentials that are all there is to know. Raises RefusedError where a certificate is none."""
        there = api_server.ApiServer.of(credentials)
        there.configuration.retries = False
        made = cls(there.configuration)
        # Its TLS context holds what the library would look for in files.
        made._client.rest_client.pool_manager = there.pool
        return made

    @property
    def client(self) -> Any:
        """The library's client, for the parts of the library that want one."""
        return self._client

    def pages(self, kind: triggers.Kind, namespace: str) -> Iterator[Page]:
        """Every object of the kind, page by page, of one namespace or (empty) of all."""
        query = {"limit": str(PAGE_SIZE), "labelSelector": kind.label_selector, "continue": ""}
        while True:
            answer = self._json("GET", _path(kind, namespace), query, accept=_accept(kind, "List"))
            metadata = answer.get("metadata") or {}
            yield Page(items=answer.get("items") or [], resource_version=metadata.get("resourceVersion", ""))
            query["continue"] = metadata.get("continue", "")
            if not query["continue"]:
                return

    @contextlib.contextmanager
    def watch(
        self, kind: triggers.Kind, namespace: str, resource_version: str, *, server_timeout: int, read_timeout: float
    ) -> Iterator[Iterator[dict[str, Any]]]:
        """An open stream of watch events from that version on, bookmarks included, until the server ends it.

        Raises ApiError, also when not one byte came for `read_timeout` seconds.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(server_timeout),
            "labelSelector": kind.label_selector,
        }
        path = _path(kind, namespace)
        call = f"WATCH {path}"
        with _failures(call), self._open("GET", path, query, _accept(kind, ""), read_timeout=read_timeout) as response:
            _expect(call, response)
            yield (json.loads(line) for line in _lines(response))

    def secret(self, namespace: str, name: str) -> dict[str, Any]:
        """The Secret with its data. Raises ApiError."""
        return self._json("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")

    def pool(self, pool: str) -> dict[str, Any]:
        """The NovaCompute `namespace/name`. Raises ApiError."""
        return self._json("GET", _path_of(*pool.split("/")))

    def replace_status(self, item: Mapping[str, Any]) -> None:
        """Write the status of a NovaCompute that was read. Raises ApiError, with 409 when it was written meanwhile."""
        metadata = item["metadata"]
        path = f"{_path_of(metadata['namespace'], metadata['name'])}/status"
        self._json("PUT", path, {"fieldManager": kubernetes_client.FIELD_MANAGER}, body=item)

    def record_event(self, item: Mapping[str, Any], *, kind: str, reason: str, message: str) -> None:
        """A core/v1 Event about a NovaCompute that was read, of the kind `Normal` or `Warning`. Raises ApiError."""
        namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
        now = kubernetes_client.timestamp()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{name}.", "namespace": namespace},
            "involvedObject": {
                "apiVersion": item["apiVersion"],
                "kind": item["kind"],
                "namespace": namespace,
                "name": name,
                "uid": item["metadata"]["uid"],
                "resourceVersion": item["metadata"]["resourceVersion"],
            },
            "type": kind,
            "reason": reason,
            "message": message[:1024],
            "source": {"component": "novacompute-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._json("POST", f"/api/v1/namespaces/{namespace}/events", body=event)

    def _json(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, accept: str = _JSON, body: Any = None
    ) -> dict[str, Any]:
        call = f"{method} {path}"
        with _failures(call), self._open(method, path, query or {}, accept, body=body) as response:
            _expect(call, response)
            answer: dict[str, Any] = json.loads(response.data)
            return answer

    @contextlib.contextmanager
    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        accept: str,
        *,
        body: Any = None,
        read_timeout: float = READ_TIMEOUT,
    ) -> Iterator[urllib3.HTTPResponse]:
        serialized = self._client.param_serialize(
            method=method,
            resource_path=path,
            query_params=[(key, value) for key, value in query.items() if value],
            header_params={"Accept": accept, **({"Content-Type": "application/json"} if body else {})},
            body=body,
            auth_settings=["BearerToken"],
        )
        verb = "WATCH" if "watch" in query else method
        try:
            answer = self._client.call_api(*serialized, _request_timeout=(CONNECT_TIMEOUT, read_timeout))
        except Exception:
            self.on_call(verb, None)
            raise
        response: urllib3.HTTPResponse = answer.response
        self.on_call(verb, response.status)
        try:
            yield response
        finally:
            # A stream that was not read to its end cannot be used for another call.
            response.close()
            response.release_conn()


def _path_of(namespace: str, name: str) -> str:
    return f"/{triggers.GROUP}/namespaces/{namespace}/novacomputes/{name}"


def _path(kind: triggers.Kind, namespace: str) -> str:
    scope = f"/namespaces/{namespace}" if namespace and kind.namespaced else ""
    return f"/{kind.path}{scope}/{kind.plural}"


def _accept(kind: triggers.Kind, suffix: str) -> str:
    return _METADATA.format(list=suffix) if kind.metadata_only else _JSON


def _expect(call: str, response: urllib3.HTTPResponse) -> None:
    if response.status >= 300:
        raise ApiError(call=call, status=response.status, detail=str(response.reason))


@contextlib.contextmanager
def _failures(call: str) -> Iterator[None]:
    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise ApiError(call=call, status=None, detail=f"no answer ({type(error).__name__})") from error
    except ValueError as error:
        raise ApiError(call=call, status=None, detail="the answer is not JSON") from error


def _lines(response: urllib3.HTTPResponse) -> Iterator[bytes]:
    rest = b""
    for part in response.stream(amt=None, decode_content=False):
        *whole, rest = (rest + part).split(b"\n")
        yield from (line for line in whole if line.strip())
