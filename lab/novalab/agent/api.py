# SPDX-License-Identifier: Apache-2.0
"""The API server as the agent talks to it: plain REST over one pool of connections, and watches that heal."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import kubernetes.client
import kubernetes.config
import urllib3

_STRATEGIC_MERGE = "application/strategic-merge-patch+json"
_MERGE = "application/merge-patch+json"
_WATCH_SECONDS = 300


class ApiError(Exception):
    """An answer of the API server that is no success; ``status`` is the HTTP status."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status
        self.message = message


class Api:
    """The API server of a kubeconfig's current context."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        configuration = kubernetes.client.Configuration()
        load: Callable[..., None] = kubernetes.config.load_kube_config
        load(config_file=str(kubeconfig), client_configuration=configuration)
        self.host: str = configuration.host
        self.certificate: str | None = configuration.cert_file
        self.key: str | None = configuration.key_file
        token = configuration.get_api_key_with_prefix("authorization")
        self._headers = {"User-Agent": "novalab-agent", **({"Authorization": token} if token else {})}
        self._pool = urllib3.PoolManager(
            cert_file=configuration.cert_file,
            key_file=configuration.key_file,
            ca_certs=configuration.ssl_ca_cert,
            cert_reqs="CERT_REQUIRED" if configuration.verify_ssl else "CERT_NONE",
            maxsize=32,
            retries=False,
        )

    def call(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> Any:
        """The decoded answer. Raises ApiError, or urllib3's HTTPError when there is none."""
        answer = self._pool.request(
            method,
            self.host + path,
            body=None if body is None else json.dumps(body),
            headers={**self._headers, "Content-Type": kind},
            timeout=urllib3.Timeout(connect=5, read=30),
        )
        if answer.status >= 300:
            raise ApiError(method, path, answer.status, _message(answer.data))
        return json.loads(answer.data)

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self.call("POST", path, body)

    def patch(self, path: str, body: Any) -> Any:
        return self.call("PATCH", path, body, kind=_STRATEGIC_MERGE)

    def merge(self, path: str, body: Any) -> Any:
        return self.call("PATCH", path, body, kind=_MERGE)

    def delete(self, path: str, options: Any) -> Any:
        return self.call("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options})

    def watch(self, path: str, query: str, version: str) -> Iterator[dict[str, Any]]:
        """Events since ``version`` until the server ends the watch. Raises ApiError when the version is too old."""
        answer = self._pool.request(
            "GET",
            f"{self.host}{path}?{query}&watch=1&allowWatchBookmarks=true&timeoutSeconds={_WATCH_SECONDS}"
            f"&resourceVersion={version}",
            headers=self._headers,
            preload_content=False,
            # A single number would be the total, and end each watch after that time.
            timeout=urllib3.Timeout(connect=5, read=_WATCH_SECONDS + 10),
        )
        try:
            if answer.status >= 300:
                raise ApiError("WATCH", path, answer.status, _message(answer.read()))
            pending = b""
            for chunk in answer.stream(65536):
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ApiError(
                            "WATCH", path, event["object"].get("code", 0), event["object"].get("message", "")
                        )
                    yield event
        finally:
            answer.close()


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")
