# SPDX-License-Identifier: Apache-2.0
"""What the validating webhook answers: every rule that a NovaCompute breaks, in one answer ("Webhook rules").

The rules of the schema are not repeated here, but for those that the specification asks for twice. What the API server
would later refuse in a child of the pool is refused here already, where its owner sees it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    extra_config,
    labels,
    resources,
    tolerations,
    violations,
)

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
MAX_NAME_LENGTH: Final = 63
NAME_TOO_LONG: Final = (
    f"name must be at most {MAX_NAME_LENGTH} characters: "
    "it is the app.kubernetes.io/instance label value of every child"
)
_LARGEST_INTEGER: Final = 2**31 - 1
_CPU_MODELS: Final = "cpuModels is required when cpuMode is custom and must be empty otherwise"
_IMAGE: Final = "exactly one of image.tag or image.digest must be set"

Pool = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is wrong, in the order of the fields, and what the owner should know although nothing is wrong with it."""

    violations: tuple[violations.Violation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.violations


def is_exempt(operation: str, new: Pool, old: Pool | None) -> bool:
    """Whether an update is admitted unseen: the pool is being deleted and its spec stays as it is.

    That is how its finalizer leaves. A spec that an earlier version admitted may break a rule of today, and a refusal
    would hold the pool in Terminating with nothing left to edit.
    """
    deleting = bool((new.get("metadata") or {}).get("deletionTimestamp"))
    return operation == UPDATE and old is not None and deleting and new.get("spec") == old.get("spec")


def needs_nova(operation: str, new: Pool, old: Pool | None) -> bool:
    """Whether the verdict depends on the Nova: an extraConfig is new or has changed."""
    if is_exempt(operation, new, old):
        return False
    extra = _extra_config(new)
    return bool(extra) and (operation != UPDATE or old is None or extra != _extra_config(old))


def nova_of(pool: Pool) -> tuple[str, str]:
    """The namespace and the name of the Nova that the pool names."""
    return (pool.get("metadata") or {}).get("namespace") or "", _name(_spec(pool), "novaRef")


def review(operation: str, new: Pool, old: Pool | None = None, *, nova: extra_config.Nova | None = None) -> Verdict:
    """The verdict on a NovaCompute as it is to be stored.

    ``operation`` is CREATE or UPDATE, ``old`` what an update replaces. ``nova`` is asked for by :func:`needs_nova`;
    without it the option catalog is not checked.
    """
    if is_exempt(operation, new, old):
        return Verdict()
    before = old if operation == UPDATE else None
    found = [*_judge_name(operation, new), *standing(new), *(_judge_change(new, before) if before else ())]
    warnings: list[str] = []
    if nova is not None and needs_nova(operation, new, old):
        extra = _extra_config(new)
        found += extra_config.judge_options(extra, nova)
        warnings += extra_config.warn_of_options(extra, nova)
    order = {field: number for number, field in enumerate(_ORDER)}
    found.sort(key=lambda one: order[next(field for field in _ORDER if _is_below(one.field, field))])
    return Verdict(violations=tuple(found), warnings=tuple(warnings))


def standing(pool: Pool) -> list[violations.Violation]:
    """What is wrong with the spec as it stands, whoever wrote it when; without the option catalog of its Nova."""
    spec = _spec(pool)
    judges = (
        _judge_references(spec),
        _judge_selector(spec.get("nodeSelector") or {}),
        _judge_tolerations(spec),
        _judge_image(spec.get("image")),
        _judge_libvirt(spec.get("libvirt") or {}),
        _judge_strategy(spec.get("updateStrategy") or {}),
        resources.judge(spec.get("resources") or {}, "spec.resources"),
        resources.judge_bounds(spec.get("verticalAutoscaling") or {}, "spec.verticalAutoscaling"),
        extra_config.judge(_extra_config(pool)),
    )
    return list(itertools.chain.from_iterable(judges))


# The order in which a refusal names fields: that of the schema.
_ORDER: Final = (
    "metadata.name",
    "spec.novaRef",
    "spec.nodeSelector",
    "spec.tolerations",
    "spec.image",
    "spec.libvirt",
    "spec.updateStrategy",
    "spec.resources",
    "spec.verticalAutoscaling",
    "spec.extraConfig",
    "spec.targetClusterRef",
)


def _is_below(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))


def _judge_name(operation: str, pool: Pool) -> Iterator[violations.Violation]:
    name = (pool.get("metadata") or {}).get("name") or ""
    if operation == CREATE and len(name.encode()) > MAX_NAME_LENGTH:
        yield violations.invalid("metadata.name", name, NAME_TOO_LONG)


def _judge_references(spec: Mapping[str, Any]) -> Iterator[violations.Violation]:
    if not _name(spec, "novaRef"):
        yield violations.required("spec.novaRef.name", "novaRef.name must be set (the Nova this node pool joins)")
    if spec.get("targetClusterRef") is not None and not _name(spec, "targetClusterRef"):
        yield violations.required("spec.targetClusterRef.name", "target cluster name must be set")


def _judge_change(new: Pool, old: Pool) -> Iterator[violations.Violation]:
    spec, before = _spec(new), _spec(old)
    if _name(spec, "novaRef") != _name(before, "novaRef"):
        yield violations.invalid("spec.novaRef.name", _name(spec, "novaRef"), "novaRef is immutable")
    placed, was_placed = (one.get("targetClusterRef") is not None for one in (spec, before))
    cluster = _name(spec, "targetClusterRef")
    if placed != was_placed:
        yield violations.forbidden(
            "spec.targetClusterRef",
            "targetClusterRef is immutable (adding or removing it after creation is not permitted)",
        )
    elif cluster != _name(before, "targetClusterRef"):
        yield violations.invalid(
            "spec.targetClusterRef.name",
            cluster,
            "targetClusterRef is immutable (the children already exist on the previously named cluster)",
        )


def _judge_selector(selector: Mapping[str, str]) -> Iterator[violations.Violation]:
    if not selector:
        yield violations.required("spec.nodeSelector", "nodeSelector must carry at least one label")
    for key, value in sorted(selector.items()):
        field = violations.key("spec.nodeSelector", key)
        yield from (violations.invalid(field, key, problem) for problem in labels.key_problems(key))
        yield from (violations.invalid(field, value, problem) for problem in labels.value_problems(value))


def _judge_tolerations(spec: Mapping[str, Any]) -> Iterator[violations.Violation]:
    for index, toleration in enumerate(spec.get("tolerations") or []):
        yield from tolerations.judge(toleration, f"spec.tolerations[{index}]")


def _judge_image(image: Mapping[str, str] | None) -> Iterator[violations.Violation]:
    if image is None:
        return
    if bool(image.get("tag")) == bool(image.get("digest")):
        yield violations.invalid("spec.image", image, _IMAGE)
    if not image.get("repository"):
        yield violations.required("spec.image.repository", "repository must be set")


def _judge_libvirt(libvirt: Mapping[str, Any]) -> Iterator[violations.Violation]:
    models = libvirt.get("cpuModels") or []
    if (libvirt.get("cpuMode") == "custom") != bool(models):
        yield violations.invalid("spec.libvirt.cpuModels", models, _CPU_MODELS)


def _judge_strategy(strategy: Mapping[str, Any]) -> Iterator[violations.Violation]:
    field, value = "spec.updateStrategy.maxUnavailable", strategy.get("maxUnavailable")
    if value is None:
        return
    if strategy.get("type") == "OnDelete":
        yield violations.forbidden(field, "maxUnavailable applies to RollingUpdate only")
        return
    nodes = max_unavailable_of_100(value)
    if nodes is None:
        yield violations.invalid(field, value, 'maxUnavailable must be an integer or a percentage such as "25%"')
    elif nodes < 1:
        yield violations.invalid(field, value, "maxUnavailable must resolve to at least 1 for RollingUpdate")
    elif isinstance(value, str) and nodes > 100:
        yield violations.invalid(field, value, "must not be greater than 100%")


def max_unavailable_of_100(value: Any) -> int | None:
    """How many of 100 nodes a maxUnavailable stands for, rounded up; None when it is malformed.

    A number in quotes is malformed, as it is in a DaemonSet.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= _LARGEST_INTEGER else None
    match = re.fullmatch(r"(-?[0-9]{1,18})%", value) if isinstance(value, str) else None
    return math.ceil(int(match[1]) * 100 / 100) if match else None


def _spec(pool: Pool) -> Mapping[str, Any]:
    return pool.get("spec") or {}


def _name(spec: Mapping[str, Any], reference: str) -> str:
    return (spec.get(reference) or {}).get("name") or ""


def _extra_config(pool: Pool) -> Mapping[str, Mapping[str, str]]:
    extra = _spec(pool).get("extraConfig") or {}
    return {section: keys or {} for section, keys in extra.items()}
