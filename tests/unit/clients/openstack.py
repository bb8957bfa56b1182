# SPDX-License-Identifier: Apache-2.0
"""An OpenStack of one server, which answers as Keystone, Nova and Placement word their answers."""

from __future__ import annotations

import dataclasses
from typing import Any

from unit.clients import answering

PASSWORD = "hunter2hunter2"
REGION = "RegionOne"


def fault(status: int, name: str, message: str) -> answering.Reply:
    """An error as Nova words it."""
    return answering.Reply(status=status, body={name: {"code": status, "message": message}})


def service(host: str, **fields: Any) -> dict[str, Any]:
    """A row of the service list."""
    row = {
        "id": f"id-{host}",
        "binary": "nova-compute",
        "host": host,
        "zone": "nova",
        "status": "enabled",
        "state": "up",
        "updated_at": "2026-11-29T19:00:00.000000",
        "disabled_reason": None,
        "forced_down": False,
    }
    return {**row, **fields}


def hypervisor(host: str) -> dict[str, Any]:
    return {
        "id": f"hypervisor-{host}",
        "hypervisor_hostname": host,
        "state": "up",
        "status": "enabled",
        "service": {"id": f"id-{host}", "host": host, "disabled_reason": None},
        "uptime": None,
    }


@dataclasses.dataclass(kw_only=True)
class OpenStack:
    """Its server, and the answers of Nova and Placement that a test sets, by `<method> <path>`."""

    server: answering.Server = dataclasses.field(init=False)
    answers: dict[str, answering.Answer | answering.Reply] = dataclasses.field(default_factory=dict)
    tokens: int = 0
    revoked: set[str] = dataclasses.field(default_factory=set)
    catalog: list[dict[str, Any]] | None = None
    #: When the tokens end, RFC 3339.
    expires_at: str = "2099-01-01T00:00:00.000000Z"

    def __post_init__(self) -> None:
        self.server = answering.Server(self._answer)

    def asked(self, path: str) -> list[answering.Request]:
        """Return the requests for a path, in order."""
        return [request for request in self.server.requests if request.path == path]

    def nova(self, **overrides: str) -> dict[str, Any]:
        """Return the resolved reference to this Nova."""
        reference = {
            "namespace": "openstack",
            "name": "nova",
            "keystone_endpoint": f"{self.server.url}/v3",
            "region": REGION,
            "compute_endpoint": f"{self.server.url}/v2.1",
            "username": "nova",
            "project_name": "service",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
            "placement_override": "",
            "secret": {"name": "nova-service-user", "key": "password"},
            "target": {"cluster": "", "registered_in": "c5c3-clusters", "namespace": "openstack"},
        }
        return {**reference, **overrides}

    def _answer(self, request: answering.Request) -> answering.Reply:
        if (request.method, request.path) == ("POST", "/v3/auth/tokens"):
            return self._token(request)
        if request.headers.get("X-Auth-Token") in {None, *self.revoked}:
            return answering.Reply(status=401, body={"error": {"code": 401, "message": "Unauthorized"}})
        answer = self.answers.get(f"{request.method} {request.path}")
        if answer is None:
            return fault(404, "itemNotFound", "Resource not found.")
        return answer(request) if callable(answer) else answer

    def _token(self, request: answering.Request) -> answering.Reply:
        auth = request.document["auth"]
        user = auth["identity"]["password"]["user"]
        if user["password"] != PASSWORD:
            message = "The request you have made requires authentication."
            return answering.Reply(
                status=401, body={"error": {"code": 401, "message": message, "title": "Unauthorized"}}
            )
        self.tokens += 1
        body = {
            "token": {
                "methods": ["password"],
                "user": {"id": "u", "name": user["name"], "domain": {"id": "default", "name": user["domain"]["name"]}},
                "project": {"id": "p", **auth["scope"]["project"]},
                "roles": [{"id": "r", "name": "admin"}],
                "issued_at": "2026-11-29T19:00:00.000000Z",
                "expires_at": self.expires_at,
                "audit_ids": ["a"],
                "catalog": self.catalog or [],
            }
        }
        return answering.Reply(status=201, body=body, headers={"X-Subject-Token": f"token-{self.tokens}"})


def catalog_row(service_type: str, interface: str, region: str, url: str) -> dict[str, Any]:
    endpoint = {"id": "e", "interface": interface, "region": region, "region_id": region, "url": url}
    return {"id": "s", "type": service_type, "name": service_type, "endpoints": [endpoint]}
