# SPDX-License-Identifier: Apache-2.0
"""A target cluster that cannot be used: what the pool says, and when its children there are given up ("The drain").

A cluster that stays away must not hold a deletion for ever, and one that is away for a moment must not cost a pool its
orderly drain. So a deleting pool waits out two windows: one since its deletion, one since its cluster was first found
unavailable. The second is kept where every pass finds it again, in the message of NovaReady: a pass remembers nothing,
and the condition's own transition time may be that of another reason.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, ownership

WINDOW_SECONDS: Final = 300.0
UNAVAILABLE: Final = "TargetClusterUnavailable"

_SAID: Final = re.compile(r"Target cluster (\S+) is unavailable since (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ): ")


def target(placed: Mapping[str, Any], clusters_namespace: str) -> dict[str, str]:
    """Where the children of a NovaCompute or a Nova go: ``{cluster, registered_in, namespace}``.

    ``cluster`` is empty for the cluster of the object itself; ``registered_in`` is the namespace of the registration.
    """
    return {
        "cluster": ownership.target_cluster(placed),
        "registered_in": clusters_namespace,
        "namespace": placed["metadata"]["namespace"],
    }


def judge(cluster: str, reason: str, *, since: str) -> dict[str, Any]:
    """The NovaReady outcome while a target cluster cannot be used; ``since`` is RFC 3339 in UTC, to the second."""
    return conditions.outcome(
        conditions.NOVA, UNAVAILABLE, f"Target cluster {cluster} is unavailable since {since}: {reason}"
    )


def unavailable_since(pool: Mapping[str, Any], cluster: str, *, now: str) -> str:
    """Since when the status of the pool says without a break that the cluster is unavailable, else ``now``."""
    for condition in pool.get("status", {}).get("conditions", []):
        if (condition["type"], condition["reason"]) == (conditions.NOVA, UNAVAILABLE):
            said = _SAID.match(condition["message"])
            if said is not None and said[1] == cluster:
                return said[2]
    return now


def is_abandoned(pool: Mapping[str, Any], *, since: str, now: str, started: str = "", scale: float = 1.0) -> bool:
    """Whether the children of a pool on an unavailable target cluster are given up.

    Five minutes after its deletion began, and after the cluster was first found unavailable by a process that runs
    still: ``started`` is when that process did, or empty. ``scale`` stretches or shortens both windows.
    """
    deleted = pool["metadata"].get("deletionTimestamp")
    if not deleted:
        return False
    began = max(_instant(text) for text in (deleted, since, started) if text)
    return (_instant(now) - began).total_seconds() >= WINDOW_SECONDS * scale


def _instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)
