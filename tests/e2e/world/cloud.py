# SPDX-License-Identifier: Apache-2.0
"""The lab's Nova, Placement and Glance as their administrator sees them, by HTTP at their public addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import v3

Row = dict[str, Any]

_INTERFACE = "public"
_COMPUTE = "2.90"
_PLACEMENT = "1.39"


class Cloud:
    """OpenStack with the variables that a person exports (``OS_*``)."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        auth = v3.Password(
            auth_url=environment["OS_AUTH_URL"],
            username=environment["OS_USERNAME"],
            password=environment["OS_PASSWORD"],
            project_name=environment["OS_PROJECT_NAME"],
            user_domain_name=environment["OS_USER_DOMAIN_NAME"],
            project_domain_name=environment["OS_PROJECT_DOMAIN_NAME"],
        )
        self._session = keystone_session.Session(auth=auth, user_agent="e2e")
        # The addresses exist on this machine alone: no proxy of the user's shell knows a way to them.
        self._session.session.trust_env = False

    # --- Nova

    def services(self) -> dict[str, Row]:
        """The nova-compute services by host."""
        rows = self._compute("GET", "/os-services?binary=nova-compute")["services"]
        return {row["host"]: row for row in rows}

    def enable_service(self, host: str) -> None:
        """What a person does by hand after a drain was called off; the operator never does."""
        self._compute("PUT", f"/os-services/{self.services()[host]['id']}", {"status": "enabled"})

    def hypervisors(self) -> set[str]:
        """The hosts whose hypervisor Nova lists: only a host with a host mapping is among them.

        Not their details: for those Nova asks each nova-compute, and answers 500 while one is being restarted.
        """
        rows = self._compute("GET", "/os-hypervisors")["hypervisors"]
        return {row["hypervisor_hostname"] for row in rows}

    def aggregates(self) -> dict[str, Row]:
        """The host aggregates by name."""
        return {row["name"]: row for row in self._compute("GET", "/os-aggregates")["aggregates"]}

    def add_host(self, aggregate: str, host: str) -> None:
        """Put a host into an aggregate, as the hypervisor operator or a person would."""
        which = self.aggregates()[aggregate]["id"]
        self._compute("POST", f"/os-aggregates/{which}/action", {"add_host": {"host": host}})

    def servers(self, host: str = "") -> list[Row]:
        """The servers of all projects, of one host when it is given."""
        query = f"&host={host}" if host else ""
        return list(self._compute("GET", f"/servers/detail?all_tenants=1{query}")["servers"])

    def server(self, server: str) -> Row:
        return dict(self._compute("GET", f"/servers/{server}")["server"])

    def boot(self, name: str, *, host: str, flavor: str, image: str) -> str:
        """Ask for a server without a network on one host; returns its id while it is being built."""
        wanted = {"name": name, "flavorRef": flavor, "imageRef": image, "networks": "none", "host": host}
        return str(self._compute("POST", "/servers", {"server": wanted})["server"]["id"])

    def delete_server(self, server: str) -> None:
        self._compute("DELETE", f"/servers/{server}")

    def create_flavor(self, name: str) -> str:
        """The id of a flavor as small as the guide's."""
        wanted = {"name": name, "vcpus": 1, "ram": 128, "disk": 1}
        return str(self._compute("POST", "/flavors", {"flavor": wanted})["flavor"]["id"])

    def delete_flavor(self, flavor: str) -> None:
        self._compute("DELETE", f"/flavors/{flavor}")

    def flavors(self) -> dict[str, str]:
        """Flavor name to id."""
        return {row["name"]: row["id"] for row in self._compute("GET", "/flavors")["flavors"]}

    # --- Placement

    def providers(self) -> dict[str, str]:
        """Resource provider name, which is the host's hypervisor, to its id."""
        rows = self._call("placement", "GET", "/resource_providers", microversion=_PLACEMENT)["resource_providers"]
        return {row["name"]: row["uuid"] for row in rows}

    def traits(self) -> list[str]:
        """The custom traits that Placement knows, whoever created them."""
        return sorted(
            self._call("placement", "GET", "/traits?name=startswith:CUSTOM_", microversion=_PLACEMENT)["traits"]
        )

    # --- Glance

    def create_image(self, name: str, data: bytes) -> str:
        """The id of a raw image that holds ``data``."""
        wanted = {"name": name, "disk_format": "raw", "container_format": "bare"}
        image = str(self._call("image", "POST", "/v2/images", wanted)["id"])
        self._send(image, data)
        return image

    def images(self) -> dict[str, Row]:
        """The images by name."""
        return {row["name"]: row for row in self._call("image", "GET", "/v2/images")["images"]}

    def delete_image(self, image: str) -> None:
        self._call("image", "DELETE", f"/v2/images/{image}")

    # --- the calls themselves

    def _send(self, image: str, data: bytes) -> None:
        address = self._address("image") + f"/v2/images/{image}/file"
        self._session.put(address, data=data, headers={"Content-Type": "application/octet-stream"})

    def _compute(self, method: str, path: str, body: Row | None = None) -> Row:
        return self._call("compute", method, path, body, microversion=_COMPUTE)

    def _call(self, service: str, method: str, path: str, body: Row | None = None, *, microversion: str = "") -> Row:
        headers = {"Accept": "application/json"}
        if microversion:
            headers["OpenStack-API-Version"] = f"{service} {microversion}"
        answer = self._session.request(
            self._address(service) + path,
            method,
            json=body,
            headers=headers,
            connect_retries=0,
            # Nova itself waits a minute for a nova-compute that is being restarted.
            timeout=90,
        )
        return dict(answer.json()) if answer.content else {}

    def _address(self, service: str) -> str:
        address = self._session.get_endpoint(service_type=service, interface=_INTERFACE)
        assert address, f"the catalog has no {_INTERFACE} address of {service}"
        return str(address).rstrip("/")
