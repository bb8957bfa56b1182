# SPDX-License-Identifier: Apache-2.0
"""What a person needs to see when something did not come about: the pool, its events, pods, services, and the log."""

from __future__ import annotations

from collections.abc import Callable

import yaml
from e2e.world import cluster, installed, operator_process, stand, waiting


def gather(
    the_stand: stand.Stand,
    operator: operator_process.OperatorProcess | installed.InstalledOperator | None,
    pools: list[str],
    *,
    pods_in: cluster.Cluster | None = None,
) -> str:
    """The evidence as text; the pods are in the lab's own cluster unless another is given.

    A source that cannot be read says so and hides no other.
    """
    parts = []
    for pool in pools:
        parts.append(_part(f"NovaCompute {pool}", lambda pool=pool: _pool(the_stand, pool)))  # type: ignore[misc]
        parts.append(_part(f"events of {pool}", lambda pool=pool: _events(the_stand, pool)))  # type: ignore[misc]
        parts.append(_part(f"pods of {pool}", lambda pool=pool: _pods(pods_in or the_stand.cluster, pool)))  # type: ignore[misc]
    parts.append(_part("compute services", lambda: _services(the_stand)))
    parts.append(_part("servers", lambda: _servers(the_stand)))
    parts.append(_part("aggregates", lambda: yaml.safe_dump(the_stand.cloud.aggregates())))
    if operator is not None:
        parts.append(_part("operator, end of its log", operator.tail))
    return "\n".join(parts)


def events_as_lines(events: list[cluster.Object]) -> list[str]:
    """One line for each event: time of day, type, reason, message."""
    return [
        f"{(event.get('lastTimestamp') or '')[11:19]}  {event['type']:<7}  {event['reason']}: {event['message']}"
        for event in events
    ]


def pod_state(pod: cluster.Object | None) -> str:
    """The state of a pod in a word or two, close to what ``kubectl get pods`` says."""
    if pod is None:
        return "-"
    if pod["metadata"].get("deletionTimestamp"):
        return "ending"
    if cluster.is_ready(pod):
        return "running"
    status = pod["status"]
    done = sum(1 for one in status.get("initContainerStatuses") or [] if (one["state"].get("terminated") or {}))
    total = len(pod["spec"].get("initContainers") or [])
    for one in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        reason = (one["state"].get("waiting") or {}).get("reason")
        if reason and reason not in ("PodInitializing", "ContainerCreating"):
            return str(reason)
    return f"init {done}/{total}" if status.get("phase") == "Pending" else str(status.get("phase", "?")).lower()


def _part(title: str, text: Callable[[], str]) -> str:
    try:
        body = text()
    except (*waiting.UNREACHABLE, AssertionError) as error:
        body = f"cannot be read: {type(error).__name__}: {error}"
    return f"--- {title}\n{body.rstrip() or '(none)'}"


def _pool(the_stand: stand.Stand, name: str) -> str:
    found = the_stand.cluster.get("NovaCompute", name)
    if found is None:
        return "(gone)"
    found["metadata"].pop("managedFields", None)
    return str(yaml.safe_dump(found, sort_keys=False))


def _events(the_stand: stand.Stand, pool: str) -> str:
    return "\n".join(events_as_lines(the_stand.cluster.events(pool)))


def _pods(the_cluster: cluster.Cluster, pool: str) -> str:
    return "\n".join(
        f"{pod['metadata']['name']}  {cluster.node_of(pod)}  {pod_state(pod)}" for pod in the_cluster.pods(pool)
    )


def _services(the_stand: stand.Stand) -> str:
    return "\n".join(
        f"{host}  {row['status']}  {row['state']}  {row.get('disabled_reason') or ''}"
        for host, row in sorted(the_stand.cloud.services().items())
    )


def _servers(the_stand: stand.Stand) -> str:
    return "\n".join(
        f"{row['id']}  {row.get('OS-EXT-SRV-ATTR:host')}  {row['status']}  {row.get('OS-EXT-STS:task_state') or ''}"
        f"  {(row.get('fault') or {}).get('message', '')}"
        for row in the_stand.cloud.servers()
    )
