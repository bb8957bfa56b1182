# SPDX-License-Identifier: Apache-2.0
"""Pools and Novas as admission sees them, with nothing in them but what a test names."""

from __future__ import annotations

from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission, extra_config

Data = dict[str, Any]

CATALOG: Data = {
    "service": "nova",
    "release": "2026.1",
    "sections": {
        "DEFAULT": {"opts": ["debug", "host", "cpu_allocation_ratio"], "deprecated": {"old_debug": "[DEFAULT] debug"}},
        "libvirt": {"opts": ["virt_type", "live_migration_bandwidth"], "deprecated": {"gone": ""}},
    },
}
NOVA = extra_config.Nova(namespace="openstack", name="nova", release="2026.1", catalog=CATALOG)


def pool(name: str = "pool-a", *, deleting: bool = False, **spec: Any) -> Data:
    metadata: Data = {"name": name, "namespace": "openstack"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"novaRef": {"name": "nova"}, "nodeSelector": {"pool": "a"}, **spec}}


def created(*, nova: extra_config.Nova | None = None, **spec: Any) -> list[str]:
    """What is said against the creation of a pool with this spec."""
    return [str(one) for one in admission.review("CREATE", pool(**spec), nova=nova).violations]


def updated(old: Data, new: Data, *, nova: extra_config.Nova | None = None) -> list[str]:
    """What is said against the update of a pool."""
    return [str(one) for one in admission.review("UPDATE", new, old, nova=nova).violations]
