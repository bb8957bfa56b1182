# SPDX-License-Identifier: Apache-2.0
"""Counts the writes to Kubernetes, Nova and Placement since a moment, from what these servers note themselves."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import pathlib
import re
from typing import Any
from urllib import parse

from e2e.world import cluster, stand

#: A line of the request logs of Nova and Placement: `2026-01-01 10:00:00.000 1 INFO ... "PUT /v2.1/..." status: 200`.
_REQUEST = re.compile(
    r'^(?P<at>\S+ \S+) .*requestlog .*"(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" status: (?P<status>[0-9]+)', re.MULTILINE
)
#: Asking for a token changes nothing, though it is a POST.
_TOKEN = "/v3/auth/tokens"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """One request that a web application of OpenStack answered."""

    at: dt.datetime
    method: str
    path: str
    status: int


class Count:
    """What was written since this object was made."""

    def __init__(self, the_stand: stand.Stand) -> None:
        self._stand = the_stand
        self._versions = the_stand.cluster.versions()
        self._sizes = {path: path.stat().st_size for path in self._logs()}
        self.since = dt.datetime.now(dt.UTC)

    def changed_objects(self) -> list[str]:
        """The objects of the namespace, of every kind, that are new, gone, or have another resourceVersion."""
        now = self._stand.cluster.versions()
        return sorted(path for path in now.keys() | self._versions.keys() if now.get(path) != self._versions.get(path))

    def kubernetes_writes(self, *, agent: str = "") -> list[str]:
        """The writes to objects of the namespace, to nodes' metadata and to the Nova API group: verb and address.

        With ``agent`` only those of programs that call themselves that.
        """
        return [
            f"{entry['verb']} {entry['requestURI']}"
            for entry in audit_entries(self._stand, since=self._sizes)
            if _concerns_pools(entry) and entry.get("userAgent", "").startswith(agent)
        ]

    def nova_writes(self) -> list[str]:
        """The requests to Nova's API that are no GET."""
        return self._writes(stand.NOVA)

    def placement_writes(self) -> list[str]:
        """The requests to Placement that are no GET."""
        return self._writes("placement")

    def everything(self) -> dict[str, list[str]]:
        """All of it by where it was written; empty lists where nothing was."""
        return {
            "objects": self.changed_objects(),
            "kubernetes": self.kubernetes_writes(),
            "nova": self.nova_writes(),
            "placement": self.placement_writes(),
        }

    def _writes(self, application: str) -> list[str]:
        return [
            f"{request.method} {request.path}"
            for request in requests(self._stand, application, since=self._sizes)
            if request.method not in ("GET", "HEAD")
        ]

    def _logs(self) -> list[pathlib.Path]:
        logs = [self._stand.access_logs(application) for application in (stand.NOVA, "placement")]
        return [self._stand.audit_log(), *logs[0], *logs[1]]


NOTHING: dict[str, list[str]] = {"objects": [], "kubernetes": [], "nova": [], "placement": []}


def requests(
    the_stand: stand.Stand, application: str, *, since: dict[pathlib.Path, int] | None = None
) -> list[Request]:
    """The requests that the pods of an application answered, oldest first."""
    found = [
        Request(
            # The pods log in the machine's own time, which the lab leaves at UTC.
            at=dt.datetime.fromisoformat(match["at"]).astimezone(dt.UTC),
            method=match["method"],
            path=match["path"],
            status=int(match["status"]),
        )
        for path in the_stand.access_logs(application)
        for match in _REQUEST.finditer(_text_after(path, since))
    ]
    return sorted(found, key=lambda request: request.at)


def audit_entries(the_stand: stand.Stand, *, since: dict[pathlib.Path, int] | None = None) -> list[dict[str, Any]]:
    """The API server's notes of writes, oldest first; those of Events and Leases are left out."""
    return [
        entry
        for entry in all_entries(the_stand, since=since)
        if entry["verb"] not in ("get", "list", "watch")
        and (entry.get("objectRef") or {}).get("resource") not in ("events", "leases")
    ]


def all_entries(the_stand: stand.Stand, *, since: dict[pathlib.Path, int] | None = None) -> list[dict[str, Any]]:
    """The API server's notes, oldest first: of writes, and of every call by an account of the lab's namespace."""
    return [json.loads(line) for line in _text_after(the_stand.audit_log(), since).splitlines()]


def _concerns_pools(entry: dict[str, Any]) -> bool:
    about = entry.get("objectRef") or {}
    address = parse.urlsplit(entry["requestURI"])
    # A dry run has the API server validate a write and forget it.
    if address.path.endswith(_TOKEN) or "All" in parse.parse_qs(address.query).get("dryRun", []):
        return False
    if about.get("resource") == "nodes":
        # The kubelet of a node reports its health all the time.
        return about.get("subresource") != "status"
    if about.get("namespace") == cluster.NAMESPACE:
        return True
    # Kubernetes asks every kind of a namespace that is being deleted to empty itself, whether it had objects or not.
    emptied = entry["verb"] == "deletecollection" and "namespace-controller" in entry.get("userAgent", "")
    return about.get("apiGroup") == "nova.openstack.c5c3.io" and not emptied


def _text_after(path: pathlib.Path, since: dict[pathlib.Path, int] | None) -> str:
    with path.open("rb") as file:
        file.seek((since or {}).get(path, 0))
        # A line that is being written now counts next time.
        return file.read().rpartition(b"\n")[0].decode(errors="replace")
