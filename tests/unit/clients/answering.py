# SPDX-License-Identifier: Apache-2.0
"""An HTTP server in a thread that answers as a test says and remembers what it was asked."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib import parse


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return parse.urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse.parse_qsl(parse.urlsplit(self.target).query, keep_blank_values=True))

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What goes back; `hang_up` closes the connection instead."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    hang_up: bool = False


Answer = Callable[[Request], Reply]


class Server:
    """The server's address, what it was asked, and the function that answers."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def asked(self) -> list[str]:
        """Return `<method> <path>` of every request, in order."""
        return [f"{request.method} {request.path}" for request in self.requests]

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            thread.join()
            self._http.server_close()


def _handler(server: Server) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Request(method=self.command, target=self.path, headers=dict(self.headers.items()), body=body)
            server.requests.append(request)
            reply = server.answer(request)
            if reply.hang_up:
                self.close_connection = True
                return
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            if reply.body is None:
                content = b""
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            if reply.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if reply.status != 204:
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one  # noqa: N815

        def log_message(self, *arguments: Any) -> None:
            pass

    return Handler
