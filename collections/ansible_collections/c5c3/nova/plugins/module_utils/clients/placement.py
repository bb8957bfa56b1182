# SPDX-License-Identifier: Apache-2.0
"""Placement: its custom traits, whose creator is known only from the status of the creation, and who still provides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal
from urllib import parse

from ansible_collections.c5c3.nova.plugins.module_utils.clients import keystone

MICROVERSION: Final = ("placement", "1.6")


class Placement:
    """Placement's API at one address. Every method raises `errors.CallError` for an answer that it does not name."""

    def __init__(self, identity: keystone.Identity, endpoint: str) -> None:
        self._identity = identity
        self._endpoint = endpoint.rstrip("/")

    def create_trait(self, name: str) -> bool:
        """Return whether this call created the trait (201), and not somebody before it (204)."""
        return self._trait("PUT", name, frozenset({201, 204})) == 201

    def delete_trait(self, name: str) -> Literal["deleted", "gone", "in_use"]:
        """Return what became of the trait: deleted, gone before (404), or kept since a resource provider carries it
        (409).
        """
        status = self._trait("DELETE", name, frozenset({204, 404, 409}))
        if status == 204:
            return "deleted"
        return "gone" if status == 404 else "in_use"

    def has_trait(self, name: str) -> bool:
        """Return whether there is such a trait, whoever created it."""
        return self._trait("GET", name, frozenset({204, 404})) == 204

    def foresee_deletion(self, name: str) -> Literal["deleted", "gone", "in_use"]:
        """Return what `delete_trait` would return now; nothing is deleted."""
        if not self.has_trait(name):
            return "gone"
        query = {"name": f"in:{name}", "associated": "true"}
        carried = self._call("GET", "/traits", frozenset({200}), query=query).rows("traits")
        return "in_use" if carried else "deleted"

    def provider(self, name: str) -> str | None:
        """Return the UUID of the resource provider of this name, a compute's hypervisor host name; None without one."""
        answer = self._call("GET", "/resource_providers", frozenset({200}), query={"name": name})
        rows = answer.rows("resource_providers")
        return next((str(row.get("uuid")) for row in rows if row.get("name") == name), None)

    def _trait(self, method: str, name: str, accept: frozenset[int]) -> int:
        return self._call(method, f"/traits/{parse.quote(name, safe='')}", accept).status

    def _call(
        self, method: str, path: str, accept: frozenset[int], *, query: Mapping[str, str] | None = None
    ) -> keystone.Answer:
        return self._identity.call(
            method,
            f"{self._endpoint}{path}",
            system="placement",
            microversion=MICROVERSION,
            accept=accept,
            query=query,
        )
