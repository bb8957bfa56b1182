# SPDX-License-Identifier: Apache-2.0
"""What the API server would refuse in the resources of the pods, and an autoscaler in its bounds.

Judged is what the containers will carry, that is spec.resources with the defaults of a pool; only fields that stand in
the spec are named. Source: Kubernetes, ``ValidateContainerResourceRequirements``; the autoscaler's own admission.
"""

from __future__ import annotations

import fractions
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import labels, quantities, violations, workload

_CONTAINER_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
_NO_CLAIMS: Final = "must be one of the names in pod.spec.resourceClaims which is empty"


def judge(block: Mapping[str, Any], field: str) -> Iterator[violations.Violation]:
    """What is wrong with spec.resources, which is found at the path ``field``."""
    limits, requests = block.get("limits") or {}, block.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, value in sorted(amounts.items()):
            yield from _judge_amount(name, value, violations.key(f"{field}.{part}", name))
    resolved = workload.resources(block)
    for name, value in sorted(requests.items()):
        yield from _judge_pair(name, value, (resolved.get("limits") or {}).get(name), field)
    for index, claim in enumerate(block.get("claims") or []):
        yield violations.not_found(f"{field}.claims[{index}]", claim.get("name"), _NO_CLAIMS)


def judge_bounds(scaling: Mapping[str, Any], field: str) -> Iterator[violations.Violation]:
    """What is wrong with the minAllowed and maxAllowed of spec.verticalAutoscaling, found at the path ``field``."""
    least, most = scaling.get("minAllowed") or {}, scaling.get("maxAllowed") or {}
    for part, amounts in (("minAllowed", least), ("maxAllowed", most)):
        for name, value in sorted(amounts.items()):
            path = violations.key(f"{field}.{part}", name)
            amount, problem = _amount(value)
            if amount is None:
                yield violations.invalid(path, value, problem)
                continue
            if name == "cpu" and (amount * 1000).denominator != 1:
                yield violations.invalid(path, value, "must be a whole number of milli CPUs")
            if name == "memory" and amount.denominator != 1:
                yield violations.invalid(path, value, "must be a whole number of bytes")
            bound = _amount(most.get(name))[0] if part == "minAllowed" and name in most else None
            if bound is not None and amount > bound:
                yield violations.invalid(path, value, "must not exceed maxAllowed")


def _judge_amount(name: str, value: Any, field: str) -> Iterator[violations.Violation]:
    problems = labels.key_problems(name)
    yield from (violations.invalid(field, name, problem) for problem in problems)
    if not problems and "/" not in name and name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
        yield violations.invalid(field, name, "must be a standard resource for containers")
    if not problems and not _is_native(name) and not _is_extended(name):
        yield violations.invalid(field, name, "doesn't follow extended resource name standard")
    amount, problem = _amount(value, quantities.parse_for_pod)
    if amount is None:
        yield violations.invalid(field, value, problem)
        return
    if amount < 0:
        yield violations.invalid(field, value, "must be greater than or equal to 0")
    if _is_extended(name) and amount.denominator != 1:
        yield violations.invalid(field, value, "must be an integer")
    if name.startswith(_HUGE_PAGES) and not _is_whole_pages(name, amount):
        yield violations.invalid(field, value, f"{value} is not positive integer multiple of {name}")


def _judge_pair(name: str, request: Any, limit: Any, field: str) -> Iterator[violations.Violation]:
    path = f"{field}.requests"
    may_overcommit = _is_native(name) and not name.startswith(_HUGE_PAGES)
    if limit is None:
        if not may_overcommit:
            yield violations.required(f"{field}.limits", "Limit must be set for non overcommitable resources")
        return
    wanted, most = (_amount(one, quantities.parse_for_pod)[0] for one in (request, limit))
    if wanted is None or most is None:
        return
    if wanted != most and not may_overcommit:
        yield violations.invalid(path, request, f"must be equal to {name} limit of {limit}")
    elif wanted > most:
        yield violations.invalid(path, request, f"must be less than or equal to {name} limit of {limit}")


def _amount(
    value: Any, parse: Callable[[Any], fractions.Fraction] = quantities.parse
) -> tuple[fractions.Fraction | None, str]:
    """The amount, or None and what is wrong with the quantity."""
    try:
        return parse(value), ""
    except ValueError as error:
        return None, str(error)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    # A quota names it with this prefix, and that must be a name too.
    return not _is_native(name) and not name.startswith("requests.") and not labels.key_problems(f"requests.{name}")


def _is_whole_pages(name: str, amount: fractions.Fraction) -> bool:
    size = _amount(name.removeprefix(_HUGE_PAGES))[0]
    return size is not None and size > 0 and size.denominator == 1 and math.ceil(amount) % size == 0
