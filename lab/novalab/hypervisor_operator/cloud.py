# SPDX-License-Identifier: Apache-2.0
"""The calls to Nova and Placement, as the hypervisor operator makes them and at the versions it asks for."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import v3

Row = dict[str, Any]

_COMPUTE = "2.90"
_PLACEMENT = "1.39"
_SECONDS = 60
_LONGEST_TEXT = 600


class CloudError(Exception):
    """An answer that is none of success. ``status`` is its HTTP status; the text holds what the server said."""

    def __init__(self, call: str, status: int, text: str) -> None:
        super().__init__(f"{call}: HTTP {status}: {text.strip()[:_LONGEST_TEXT]}")
        self.status = status


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProviderTraits:
    """The traits of a resource provider, and the generation that a write of them must name."""

    traits: list[str]
    generation: int


class Cloud:
    """OpenStack as the user of the ``OS_...`` variables, at the catalog's addresses of the interface they name."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        auth = v3.Password(
            auth_url=environment["OS_AUTH_URL"],
            username=environment["OS_USERNAME"],
            password=environment["OS_PASSWORD"],
            project_name=environment["OS_PROJECT_NAME"],
            user_domain_name=environment["OS_USER_DOMAIN_NAME"],
            project_domain_name=environment["OS_PROJECT_DOMAIN_NAME"],
        )
        self._session = keystone_session.Session(auth=auth, user_agent="lab-hypervisor-operator")
        # The addresses exist on this machine alone: no proxy of the user's shell knows a way to them.
        self._session.session.trust_env = False
        self._where = {"interface": environment["OS_INTERFACE"], "region_name": environment["OS_REGION_NAME"]}

    # --- services and hypervisors

    def enable_service(self, service: str) -> None:
        """Enable the service, and say that its host is not dead."""
        self._compute("PUT", f"/os-services/{service}", {"status": "enabled", "forced_down": False})

    def disable_service(self, service: str, reason: str) -> None:
        self._compute("PUT", f"/os-services/{service}", {"status": "disabled", "disabled_reason": reason})

    def delete_service(self, service: str) -> None:
        """Delete the service if it is there."""
        self._tolerating_404("compute", "DELETE", f"/os-services/{service}")

    def hypervisors(self, pattern: str) -> list[Row]:
        """The hypervisors whose name holds ``pattern``, with the service of each."""
        query = urllib.parse.urlencode({"hypervisor_hostname_pattern": pattern})
        found = self._tolerating_404("compute", "GET", f"/os-hypervisors/detail?{query}")
        return [] if found is None else list(found["hypervisors"])

    def servers_of(self, hypervisor: str) -> list[str] | None:
        """The ids of the servers on a hypervisor, or None when there is no such hypervisor."""
        found = self._tolerating_404("compute", "GET", f"/os-hypervisors/{hypervisor}?with_servers=true")
        return None if found is None else [row["uuid"] for row in found["hypervisor"].get("servers") or []]

    # --- servers

    def server(self, server: str) -> Row | None:
        """The server, or None when it is gone."""
        found = self._tolerating_404("compute", "GET", f"/servers/{server}")
        return None if found is None else dict(found["server"])

    def live_migrate(self, server: str) -> None:
        """Move a running server wherever the scheduler wants it. It is never copied with its disks."""
        self._action(server, {"os-migrateLive": {"host": None, "block_migration": False}})

    def cold_migrate(self, server: str) -> None:
        self._action(server, {"migrate": None})

    def confirm_resize(self, server: str) -> None:
        self._action(server, {"confirmResize": None})

    # --- aggregates

    def aggregates(self) -> list[Row]:
        return list(self._compute("GET", "/os-aggregates")["aggregates"])

    def add_host(self, aggregate: int, host: str) -> None:
        self._compute("POST", f"/os-aggregates/{aggregate}/action", {"add_host": {"host": host}})

    def remove_host(self, aggregate: int, host: str) -> None:
        self._compute("POST", f"/os-aggregates/{aggregate}/action", {"remove_host": {"host": host}})

    # --- resource providers

    def provider_traits(self, provider: str) -> ProviderTraits:
        found = self._call("placement", "GET", f"/resource_providers/{provider}/traits")
        return ProviderTraits(traits=list(found["traits"]), generation=found["resource_provider_generation"])

    def set_provider_traits(self, provider: str, traits: Sequence[str] | None, generation: int) -> None:
        body = {"traits": traits, "resource_provider_generation": generation}
        self._call("placement", "PUT", f"/resource_providers/{provider}/traits", body)

    def consumers_of(self, provider: str) -> dict[str, Row]:
        """Consumer to what it holds of the provider; empty without such a provider."""
        found = self._tolerating_404("placement", "GET", f"/resource_providers/{provider}/allocations")
        return {} if found is None else {name: each["resources"] for name, each in found["allocations"].items()}

    def drop_consumer(self, consumer: str) -> None:
        self._tolerating_404("placement", "DELETE", f"/allocations/{consumer}")

    def delete_provider(self, provider: str) -> None:
        """Delete the resource provider if it is there."""
        self._tolerating_404("placement", "DELETE", f"/resource_providers/{provider}")

    # --- the calls themselves

    def _action(self, server: str, body: Row) -> None:
        self._compute("POST", f"/servers/{server}/action", body)

    def _compute(self, method: str, path: str, body: Row | None = None) -> Row:
        return self._call("compute", method, path, body)

    def _tolerating_404(self, service: str, method: str, path: str) -> Row | None:
        try:
            return self._call(service, method, path)
        except CloudError as error:
            if error.status == 404:
                return None
            raise

    def _call(self, service: str, method: str, path: str, body: Row | None = None) -> Row:
        version = _COMPUTE if service == "compute" else _PLACEMENT
        answer = self._session.request(
            path,
            method,
            json=body,
            headers={"Accept": "application/json", "OpenStack-API-Version": f"{service} {version}"},
            endpoint_filter={"service_type": service, **self._where},
            raise_exc=False,
            connect_retries=0,
            timeout=_SECONDS,
        )
        if answer.status_code >= 300:
            raise CloudError(f"{method} {path}", answer.status_code, answer.text)
        return dict(answer.json()) if answer.content else {}
