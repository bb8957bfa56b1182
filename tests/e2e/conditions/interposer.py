# SPDX-License-Identifier: Apache-2.0
"""Stands between a pass and its API server, and meddles with chosen requests.

OpenStack is reached through the API server's service proxy, so that requests to Keystone, Nova and Placement come by
here too. What no rule wants is forwarded as it is, with the credentials of the lab's administrator.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import pathlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import kubernetes.client
import kubernetes.config
import yaml


@dataclasses.dataclass(frozen=True)
class Reply:
    """What the client gets instead of the server's answer."""

    status: int
    body: Mapping[str, Any]

    @classmethod
    def of_kubernetes(cls, status: int, message: str) -> Reply:
        """An error of the API server's own."""
        return cls(status, {"kind": "Status", "apiVersion": "v1", "code": status, "message": message})

    @classmethod
    def of_openstack(cls, status: int, message: str) -> Reply:
        """An error of Keystone, Nova or Placement."""
        return cls(status, {"error": {"code": status, "message": message}})


#: Called before a request is forwarded; what it returns is the answer, None lets the request through.
Meddle = Callable[[], Reply | None]


@dataclasses.dataclass(frozen=True)
class _Rule:
    method: str
    path: re.Pattern[str]
    meddle: Meddle


class Interposer:
    """A server on this machine; :attr:`kubeconfig` leads to it."""

    def __init__(self, upstream: pathlib.Path, folder: pathlib.Path) -> None:
        load: Any = kubernetes.config.new_client_from_config
        client: kubernetes.client.ApiClient = load(config_file=str(upstream))
        self._pool = client.rest_client.pool_manager
        self._url = str(client.configuration.host).rstrip("/")
        self._rules: list[_Rule] = []
        self._seen: list[str] = []
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.kubeconfig = folder / "interposed"
        self.kubeconfig.write_text(_kubeconfig(f"http://127.0.0.1:{self._server.server_address[1]}"))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextlib.contextmanager
    def meddling(self, method: str, path: str, meddle: Meddle) -> Iterator[None]:
        """Have ``meddle`` asked about each request whose path matches ``path`` somewhere. The newest rule is first."""
        rule = _Rule(method, re.compile(path), meddle)
        self._rules.insert(0, rule)
        try:
            yield
        finally:
            self._rules.remove(rule)

    def refusing(self, method: str, path: str, reply: Reply) -> contextlib.AbstractContextManager[None]:
        """Have such requests answered with ``reply``."""
        return self.meddling(method, path, lambda: reply)

    def take_requests(self) -> list[str]:
        """``METHOD /path`` of the requests since the last call, in their order."""
        with self._lock:
            seen, self._seen = self._seen, []
        return seen

    def _answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path = handler.path.partition("?")[0]
        with self._lock:
            self._seen.append(f"{handler.command} {path}")
        for rule in list(self._rules):
            if rule.method == handler.command and rule.path.search(path):
                reply = rule.meddle()
                if reply is not None:
                    _send(handler, reply.status, json.dumps(reply.body).encode(), {"Content-Type": "application/json"})
                    return
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in _OF_THIS_HOP}
        answer = self._pool.request(
            handler.command,
            self._url + handler.path,
            headers=headers,
            body=body or None,
            redirect=False,
            retries=False,
            decode_content=False,
        )
        _send(handler, answer.status, answer.data, answer.headers)

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        interposer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                # A client that is gone is no news.
                with contextlib.suppress(ConnectionError):
                    super().handle_one_request()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
                """Say nothing."""

            def answer(self) -> None:
                interposer._answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the base class looks for these

        return Handler


_OF_THIS_HOP = frozenset({"host", "connection", "content-length", "accept-encoding"})
_NOT_SENT_ON = frozenset({"connection", "content-length", "transfer-encoding"})


def _send(handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        if name.lower() not in _NOT_SENT_ON:
            handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _kubeconfig(server: str) -> str:
    return str(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "interposed", "cluster": {"server": server}}],
                "users": [{"name": "nobody", "user": {}}],
                "contexts": [{"name": "interposed", "context": {"cluster": "interposed", "user": "nobody"}}],
                "current-context": "interposed",
            }
        )
    )
