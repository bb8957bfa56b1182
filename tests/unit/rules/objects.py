# SPDX-License-Identifier: Apache-2.0
"""Pools, ledger entries and compute services as plain data, with nothing in them but what a test names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import phases

Data = dict[str, Any]
POOL_A: Data = {"pool": "a"}
POOL_B: Data = {"pool": "b"}


def novacompute(
    name: str = "pool-a",
    *,
    created: str = "2026-01-01T00:00:00Z",
    deleting: bool = False,
    nova: str = "nova",
    namespace: str = "openstack",
    status: Data | None = None,
    **spec: Any,
) -> Data:
    """A NovaCompute as the API serves it; its selector is ``pool: a`` unless ``nodeSelector`` says otherwise."""
    metadata: Data = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": created}
    if deleting:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    body: Data = {
        "metadata": metadata,
        "spec": {"novaRef": {"name": nova}, "nodeSelector": dict(POOL_A), **spec},
    }
    return body if status is None else {**body, "status": status}


def pool(
    name: str = "pool-a",
    *,
    created: str = "2026-01-01T00:00:00Z",
    deleting: bool = False,
    selector: Mapping[str, str] | None = None,
    held: Mapping[str, str] | None = None,
) -> phases.Pool:
    return phases.Pool(
        name=name,
        created=created,
        deleting=deleting,
        selector=POOL_A if selector is None else selector,
        held=held or {},
    )


def entry(phase: str, name: str = "node-1", **fields: Any) -> Data:
    return {"name": name, "phase": phase, **fields}


def service(host: str = "node-1", **fields: Any) -> Data:
    """One row of the service list, keyed by its host."""
    row = {"host": host, "id": f"id-{host}", "status": "enabled", "state": "up", "disabled_reason": None, **fields}
    return {host: row}
