# SPDX-License-Identifier: Apache-2.0
"""The state of a pool in Kubernetes, Nova and Placement without what differs from one life to the next."""

from __future__ import annotations

from typing import Any

from e2e.world import cluster, stand

Snapshot = dict[str, Any]

#: Fields of a ledger entry that name one life's own service, or how it happens to feel at the moment.
_PASSING = ("serviceID", "serviceState")


def of_pool(the_stand: stand.Stand, name: str) -> Snapshot:
    """The pool as a person would describe it; the values of two equal pools are equal."""
    pool = the_stand.cluster.get("NovaCompute", name)
    services = the_stand.cloud.services()
    aggregates = the_stand.cloud.aggregates()
    return {
        "finalizers": pool and pool["metadata"].get("finalizers"),
        "conditions": {one: cluster.verdict(pool, one) for one in sorted(cluster.conditions(pool))},
        "ledger": {
            node: {key: value for key, value in entry.items() if key not in _PASSING}
            for node, entry in cluster.ledger(pool).items()
        },
        "children": the_stand.cluster.children(name),
        "pods": sorted((cluster.node_of(pod), cluster.is_ready(pod)) for pod in the_stand.cluster.pods(name)),
        "services": {host: (row["status"], row.get("disabled_reason")) for host, row in services.items()},
        "aggregates": {
            aggregate: (row["availability_zone"], row["metadata"], row["hosts"])
            for aggregate, row in aggregates.items()
        },
        "hypervisors": sorted(the_stand.cloud.hypervisors()),
        "host mappings": sorted(the_stand.host_mappings()),
        "providers": sorted(the_stand.cloud.providers()),
    }


def differences(seen: Snapshot, wanted: Snapshot) -> dict[str, tuple[Any, Any]]:
    """What of ``seen`` is not as in ``wanted``, each with both values."""
    return {key: (seen[key], wanted[key]) for key in wanted if seen[key] != wanted[key]}
