# SPDX-License-Identifier: Apache-2.0
"""What Nova needs of Neutron for a server without a network: every list of the Networking API is there, and empty.

Nova asks for ports, networks, security groups and extensions even then, and answers 500 for a server when nobody is
there to say that it has none.
"""

import json
from collections.abc import Callable
from typing import Any


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    """The WSGI application."""
    path = environ["PATH_INFO"].rstrip("/").removesuffix(".json")
    parts = path.strip("/").split("/")
    body: dict[str, Any]
    if path == "":
        url = f"{environ['wsgi.url_scheme']}://{environ['HTTP_HOST']}/v2.0/"
        version = {"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": url}]}
        status, body = "200 OK", {"versions": [version]}
    elif parts[0] != "v2.0":
        status, body = "404 Not Found", _error("HTTPNotFound", "The resource could not be found.")
    elif "HTTP_X_AUTH_TOKEN" not in environ:
        status, body = "401 Unauthorized", {"error": {"code": 401, "title": "Unauthorized", "message": "No token."}}
    elif environ["REQUEST_METHOD"] != "GET":
        status, body = "403 Forbidden", _error("NotSupported", "This network service is read-only.")
    elif len(parts) == 2:
        status, body = "200 OK", {parts[1].replace("-", "_"): []}
    else:
        status, body = "404 Not Found", _error(f"{parts[1].title()}NotFound", f"{parts[1]} {parts[2]} not found.")
    content = json.dumps(body).encode()
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(content)))])
    return [content]


def _error(kind: str, message: str) -> dict[str, dict[str, str]]:
    return {"NeutronError": {"type": kind, "message": message, "detail": ""}}
