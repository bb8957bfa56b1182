# SPDX-License-Identifier: Apache-2.0
"""Which pods stay on a node in spite of the offboarding taint, by the operator's reading of Kubernetes' own rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from novalab.hypervisor_operator import names
from novalab.hypervisor_operator.cluster import Object

_TAINT = {"key": names.TAINT, "effect": names.NO_EXECUTE}


def is_tainted(node: Object) -> bool:
    """Whether the Node carries the offboarding taint."""
    return any(
        (taint.get("key"), taint.get("effect")) == (names.TAINT, names.NO_EXECUTE)
        for taint in node["spec"].get("taints") or []
    )


def with_taint(node: Object) -> list[Mapping[str, Any]]:
    """The Node's taints with the offboarding one. It has no value."""
    return [*(node["spec"].get("taints") or []), _TAINT]


def tolerates_for_ever(pod: Mapping[str, Any]) -> bool:
    """Whether any single toleration of the pod matches the taint and sets no time."""
    return any(each.get("tolerationSeconds") is None and matches(each) for each in pod["spec"].get("tolerations") or [])


def matches(toleration: Mapping[str, Any]) -> bool:
    """Whether a toleration matches the taint; every text is compared as it is."""
    if (toleration.get("effect") or names.NO_EXECUTE) != names.NO_EXECUTE:
        return False
    if (toleration.get("key") or names.TAINT) != names.TAINT:
        return False
    operator = toleration.get("operator") or "Equal"
    return operator == "Exists" or (operator == "Equal" and not toleration.get("value"))
