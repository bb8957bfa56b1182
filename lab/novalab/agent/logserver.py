# SPDX-License-Identifier: Apache-2.0
"""The part of a kubelet's own API that ``kubectl logs`` needs: one HTTPS server for each node's address."""

from __future__ import annotations

import http.server
import pathlib
import re
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any, BinaryIO

PORT = 10250

_PATH = re.compile(r"/containerLogs/([a-z0-9.-]+)/([a-z0-9.-]+)/([a-z0-9-]+)")
_FOLLOW_SECONDS = 0.2
#: Whether that container of that pod (namespace, name, container) runs now.
Running = Callable[[str, str, str], bool]


def serve(address: str, *, certificate: str, key: str, logs: pathlib.Path, running: Running) -> None:
    """Serve the logs below ``logs`` on the address, in the background. Raises OSError when the port is taken."""

    class Handler(_Handler):
        folder = logs
        is_running = staticmethod(running)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The API server does not check a kubelet's certificate unless it is told to: the lab's own will do.
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer((address, PORT), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, name=f"logs on {address}", daemon=True).start()


def newest(folder: pathlib.Path, container: str, *, previous: bool) -> pathlib.Path | None:
    """The log of the container's current run, or of the one before it; None when there is none."""
    prefix = f"{container}."
    runs = [path for path in folder.glob("*.log") if path.name.startswith(prefix)]
    runs = [path for path in runs if path.name[len(prefix) : -len(".log")].isdigit()]
    runs.sort(key=lambda path: int(path.name[len(prefix) : -len(".log")]))
    wanted = 2 if previous else 1
    return runs[-wanted] if len(runs) >= wanted else None


def skip_to_tail(file: BinaryIO, lines: int) -> None:
    """Move ``file`` to where its last ``lines`` lines begin."""
    content = file.read()
    begins = len(content)
    for _ in range(lines):
        begins = content.rfind(b"\n", 0, max(0, begins - 1)) + 1
        if begins == 0:
            break
    file.seek(begins if lines else len(content))


class _Handler(http.server.BaseHTTPRequestHandler):
    folder: pathlib.Path
    is_running: Running
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = {key: values[-1] for key, values in urllib.parse.parse_qs(url.query).items()}
        match = _PATH.fullmatch(url.path)
        if match is None:
            self.send_error(404, "this agent serves container logs only")
            return
        namespace, name, container = match.groups()
        path = newest(self.folder / f"{namespace}_{name}", container, previous=query.get("previous") == "true")
        if path is None:
            self.send_error(404, f"no log of container {container}")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with path.open("rb") as file:
            if query.get("tailLines", "").isdigit():
                skip_to_tail(file, int(query["tailLines"]))
            self._send(file, lambda: query.get("follow") == "true" and self.is_running(namespace, name, container))
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, file: BinaryIO, go_on: Callable[[], bool]) -> None:
        while True:
            more = go_on()
            while chunk := file.read(65536):
                self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
            if not more:
                return
            time.sleep(_FOLLOW_SECONDS)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: who reads a log is no news."""
