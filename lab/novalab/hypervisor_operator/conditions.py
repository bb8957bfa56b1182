# SPDX-License-Identifier: Apache-2.0
"""Conditions in a status: found, set and dropped by their type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

Status = dict[str, Any]


def find(status: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """The condition of that type, or None."""
    return next((one for one in status.get("conditions") or [] if one["type"] == kind), None)


def value(status: Mapping[str, Any], kind: str) -> str:
    """``True``, ``False``, ``Unknown``, or nothing without such a condition."""
    found = find(status, kind)
    return "" if found is None else str(found["status"])


def reads(status: Mapping[str, Any], kind: str, expected: str, reason: str) -> bool:
    """Whether the condition is there with this status and reason."""
    found = find(status, kind)
    return found is not None and (found["status"], found["reason"]) == (expected, reason)


def put(status: Status, kind: str, new: str, reason: str, message: str = "") -> None:
    """Set the condition in ``status``. Its time changes only with its status, as in every condition of Kubernetes."""
    known = find(status, kind)
    if known is not None and known["status"] == new:
        since = known["lastTransitionTime"]
    else:
        since = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": kind, "status": new, "reason": reason, "message": message, "lastTransitionTime": since}
    others = [one for one in status.get("conditions") or [] if one["type"] != kind]
    status["conditions"] = sorted([*others, condition], key=lambda one: str(one["type"]))


def drop(status: Status, kind: str) -> None:
    """Take the condition out of ``status``."""
    status["conditions"] = [one for one in status.get("conditions") or [] if one["type"] != kind]
