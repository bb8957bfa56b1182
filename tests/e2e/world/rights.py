# SPDX-License-Identifier: Apache-2.0
"""Rights as RBAC names them: what roles grant, and what an API server noted of the calls of one account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_FORBIDDEN = "forbid"
#: Where an API server notes the pod that a token was made for.
_POD = "authentication.kubernetes.io/pod-name"

#: (API group, resource with its subresource, verb).
Right = tuple[str, str, str]
#: One line of an audit log.
Entry = Mapping[str, Any]

#: Rights that the life of a pool has no use for wherever its children are, and what uses them.
OTHERWISE_USED: Mapping[Right, str] = {
    ("", "configmaps", "get"): "a configuration that another pass has just created",
    ("apps", "daemonsets", "create"): "an apply that makes the object, which is noted as a patch",
    ("batch", "jobs", "delete"): "a discovery Job that has ended, when another is needed",
}
#: Of them, those that a life may come to use: it depends on the moment in which a Job ends.
BY_THE_MOMENT = {("batch", "jobs", "delete")}


def granted(objects: Iterable[Mapping[str, Any]]) -> set[Right]:
    """What the roles among these objects allow."""
    return {
        (group, resource, verb)
        for item in objects
        if item["kind"] in ("Role", "ClusterRole")
        for rule in item["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(calls: Iterable[Entry]) -> set[Right]:
    """What was asked for with these calls, and was allowed."""
    return {_right(entry) for entry in calls if "objectRef" in entry and not _is_refused(entry)}


def refused(calls: Iterable[Entry]) -> list[str]:
    """Those of the calls that no right allowed: verb and address."""
    return [f"{entry['verb']} {entry['requestURI']}" for entry in calls if _is_refused(entry)]


def by(account: str, entries: Iterable[Entry], *, pod: str = "") -> list[Entry]:
    """The calls of a service account, given as ``namespace:name``, and only of one pod of it if there is one named."""
    return [
        entry
        for entry in entries
        if entry["user"]["username"] == f"system:serviceaccount:{account}"
        and (not pod or pod in (entry["user"].get("extra") or {}).get(_POD, ()))
    ]


def _right(entry: Entry) -> Right:
    about = entry["objectRef"]
    subresource = f"/{about['subresource']}" if about.get("subresource") else ""
    return about.get("apiGroup", ""), about["resource"] + subresource, entry["verb"]


def _is_refused(entry: Entry) -> bool:
    return (entry.get("annotations") or {}).get("authorization.k8s.io/decision") == _FORBIDDEN
