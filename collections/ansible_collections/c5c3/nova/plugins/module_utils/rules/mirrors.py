# SPDX-License-Identifier: Apache-2.0
"""The Secrets that a ControlPlane mirrors for the pools of a Nova; the last pool takes them along ("The drain")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import phases, vocabulary


def names(nova: str) -> list[str]:
    """The compute contract and the hypervisor operator's credentials, as a ControlPlane names its mirrors."""
    return [f"{nova}-compute-config", f"{nova}-hypervisor-operator-auth"]


def is_mirror(secret: Mapping[str, Any]) -> bool:
    """Whether the Secret carries the mark of the ControlPlane's mirror; any other is somebody's own."""
    return (secret["metadata"].get("labels") or {}).get(vocabulary.MIRROR_LABEL) == "true"


def is_last(pool: Mapping[str, Any], pools: Iterable[Mapping[str, Any]], *, nova_gone: bool) -> bool:
    """Whether no other pool of the Nova on this cluster needs the mirrors any more."""
    others = [other for other in phases.siblings(pool, pools) if phases.same_cluster(pool, other)]
    return not any(_needs_contract(other, nova_gone=nova_gone) for other in others)


def _needs_contract(pool: Mapping[str, Any], *, nova_gone: bool) -> bool:
    """A pool being deleted counts while it drains a node, because the draining pod mounts the contract."""
    described = phases.pool_of(pool)
    if not described.deleting:
        return True
    drains = vocabulary.DRAIN_FINALIZER in pool["metadata"].get("finalizers", []) and not nova_gone
    return drains and bool(described.held)
