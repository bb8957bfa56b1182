# SPDX-License-Identifier: Apache-2.0
"""Serves `/metrics`, `/healthz` and `/readyz`.

`/healthz` can fail: an answer of 500 names what is wrong, and the kubelet starts the process anew. `/readyz` fails
until everything that the operator watches has been listed once.
"""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Callable, Mapping

import prometheus_client

from nova_compute_operator import settings

# A page is a function that returns the HTTP status, the content type and the body.
Page = Callable[[], tuple[int, str, bytes]]

_REQUEST_TIMEOUT = 10.0


def check_page(failing: Callable[[], list[str]]) -> Page:
    """A page that answers 200, or 500 with the names of what is failing."""

    def page() -> tuple[int, str, bytes]:
        names = failing()
        text = "".join(f"[-] {name}\n" for name in names) if names else "ok\n"
        return 500 if names else 200, "text/plain; charset=utf-8", text.encode()

    return page


def metrics_page(registry: prometheus_client.CollectorRegistry) -> Page:
    """The numbers of a registry in Prometheus' text format."""
    return lambda: (200, prometheus_client.CONTENT_TYPE_LATEST, prometheus_client.generate_latest(registry))


class Server:
    """Serves pages on one address until it is closed."""

    def __init__(self, address: settings.Address, pages: Mapping[str, Page]) -> None:
        """Begin to listen. Raises OSError, with the address in its text, when that is not possible."""

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = _REQUEST_TIMEOUT

            def do_GET(self) -> None:
                page = pages.get(self.path.partition("?")[0])
                status, kind, body = page() if page else (404, "text/plain; charset=utf-8", b"not found\n")
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Probes come every few seconds: no line for each."""

        try:
            self._server = _server_class(address.host)((address.host, address.port), Handler)
        except OSError as error:
            shown = f"{address.host or '*'}:{address.port}"
            raise OSError(error.errno, f"cannot listen on {shown}: {error.strerror}; choose another address") from error
        self._thread = threading.Thread(target=self._server.serve_forever, name=f"http-{self.port}", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port in use, also when the address asked for any free one."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _server_class(host: str) -> type[http.server.ThreadingHTTPServer]:
    """A server for IPv4, for IPv6, or for both when the host is every address and the machine has both."""
    both = not host and socket.has_dualstack_ipv6()

    class Listener(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
        daemon_threads = True

        def server_bind(self) -> None:
            if both:
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            super().server_bind()

    return Listener
