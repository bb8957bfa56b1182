# SPDX-License-Identifier: Apache-2.0
"""Which tolerations keep a pod on a node that is being taken out of service, and which no pod may carry.

openstack-hypervisor-operator taints such a node and waits for its agent pods to leave. A nova-compute that stays
would register its compute service again after it was deleted, so a pool may not carry a toleration that lets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import labels, violations

TAINT_KEY: Final = "kvm.cloud.sap/offboarding"
TAINT_EFFECT: Final = "NoExecute"
TOLERATES: Final = (
    f"tolerates {TAINT_KEY}:{TAINT_EFFECT}; openstack-hypervisor-operator deletes the compute service only after every "
    "agent pod on the node is gone, and a nova-compute that stays re-registers it"
)

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")


def tolerates_offboarding(toleration: Mapping[str, Any]) -> bool:
    """Whether openstack-hypervisor-operator takes a pod with this toleration for one that stays on the node.

    It asks for no tolerationSeconds, whatever their number, and then for Kubernetes' own match with a taint that has no
    value; texts are compared as they are, and the numeric operators are off.
    """
    if toleration.get("tolerationSeconds") is not None:
        return False
    if toleration.get("effect") not in (None, "", TAINT_EFFECT) or toleration.get("key") not in (None, "", TAINT_KEY):
        return False
    operator = toleration.get("operator") or "Equal"
    return operator == "Exists" or (operator == "Equal" and not toleration.get("value"))


def admissible(tolerations: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tolerations that a pod may carry; one that got past admission must not keep a nova-compute on the node."""
    return [dict(toleration) for toleration in tolerations if not tolerates_offboarding(toleration)]


def left_out(tolerations: Iterable[Mapping[str, Any]], field: str) -> list[str]:
    """What to tell the owner of tolerations, found at the path ``field``, that :func:`admissible` leaves out."""
    return [
        f"{field}[{index}] is left out of the pods: it {TOLERATES}"
        for index, toleration in enumerate(tolerations)
        if tolerates_offboarding(toleration)
    ]


def judge(toleration: Mapping[str, Any], field: str) -> Iterator[violations.Violation]:
    """What is wrong with one toleration: that it keeps the pod, and what the API server refuses in a pod."""
    if tolerates_offboarding(toleration):
        yield violations.forbidden(field, TOLERATES)
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        yield from (violations.invalid(f"{field}.key", key, problem) for problem in labels.key_problems(key))
    elif operator != "Exists":
        yield violations.invalid(
            f"{field}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield violations.invalid(
            f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator in ("", "Equal"):
        problems = labels.value_problems(value)
        yield from (violations.invalid(f"{field}.value", value, problem) for problem in problems)
    elif operator == "Exists":
        if value:
            yield violations.invalid(f"{field}.value", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield violations.not_supported(f"{field}.operator", operator, _OPERATORS)
    if effect and effect not in _EFFECTS:
        yield violations.not_supported(f"{field}.effect", effect, _EFFECTS)
