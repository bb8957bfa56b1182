# SPDX-License-Identifier: Apache-2.0
"""Placement's custom traits: who created one is known only from the status of its creation."""

from __future__ import annotations

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
        return self._call("PUT", name, frozenset({201, 204})) == 201

    def delete_trait(self, name: str) -> Literal["deleted", "gone", "in_use"]:
        """Return what became of the trait: deleted, gone before (404), or kept since a resource provider carries it
        (409).
        """
        status = self._call("DELETE", name, frozenset({204, 404, 409}))
        if status == 204:
            return "deleted"
        return "gone" if status == 404 else "in_use"

    def _call(self, method: str, name: str, accept: frozenset[int]) -> int:
        url = f"{self._endpoint}/traits/{parse.quote(name, safe='')}"
        return self._identity.call(method, url, system="placement", microversion=MICROVERSION, accept=accept).status
