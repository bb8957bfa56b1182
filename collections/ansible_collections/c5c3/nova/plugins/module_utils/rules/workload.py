# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet of a pool: image, resources, affinity, update strategy, and how a rollout is judged ("The pod")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, phases, vocabulary

#: Requests and limits where spec.resources names neither ("Resources"); a CPU gets no limit.
_DEFAULTS: Final = {"cpu": ("150m", None), "memory": ("768Mi", "768Mi")}

CONFIG_VOLUME: Final = "pool-config"
"""The volume that mounts compute-pool.conf, as the template of the DaemonSet calls it."""


def name(pool: str) -> str:
    """The name of the pool's DaemonSet."""
    return f"{pool}-{vocabulary.COMPONENT}"


def labels(pool: str) -> dict[str, str]:
    """The labels that the DaemonSet selects its pods by."""
    return {
        "app.kubernetes.io/name": vocabulary.APPLICATION,
        "app.kubernetes.io/instance": pool,
        "app.kubernetes.io/component": vocabulary.COMPONENT,
    }


def image(spec_image: Mapping[str, Any] | None, installed_release: str) -> str:
    """The image reference: spec.image as given, else the release that the Nova has installed."""
    if not spec_image:
        return f"{vocabulary.DEFAULT_IMAGE_REPOSITORY}:{installed_release}"
    if spec_image.get("digest"):
        return f"{spec_image['repository']}@{spec_image['digest']}"
    return f"{spec_image['repository']}:{spec_image['tag']}"


def pull_policy(spec_image: Mapping[str, Any] | None, default: str) -> str:
    """The image's own pull policy, else the operator's ``default``, else IfNotPresent by digest and Always by tag."""
    own = (spec_image or {}).get("pullPolicy")
    if own or default:
        return str(own or default)
    return "IfNotPresent" if (spec_image or {}).get("digest") else "Always"


def resources(block: Mapping[str, Any] | None) -> dict[str, Any]:
    """What all three containers carry, resolved per resource; a quantity of zero counts as named."""
    resolved: dict[str, Any] = {**(block or {})}
    requests, limits = dict(resolved.get("requests") or {}), dict(resolved.get("limits") or {})
    for resource, (request, limit) in _DEFAULTS.items():
        if resource not in requests and resource not in limits:
            requests[resource] = request
            if limit is not None:
                limits[resource] = limit
    for key, quantities in (("requests", requests), ("limits", limits)):
        if quantities:
            resolved[key] = dict(sorted(quantities.items()))
    return resolved


def affinity_terms(pool: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The OR-ed terms of the required node affinity, in a stable order; empty when no pod is left to run.

    One term selects the pool less the nodes in Conflict, one more keeps the pod of each Draining node.
    """
    terms = []
    described = phases.pool_of(pool)
    if not described.deleting:
        term: dict[str, Any] = {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]} for key, value in sorted(described.selector.items())
            ]
        }
        conflicts = sorted(entry["name"] for entry in ledger if entry["phase"] == vocabulary.CONFLICT)
        if conflicts:
            term["matchFields"] = [_node("NotIn", conflict) for conflict in conflicts]
        terms.append(term)
    draining = sorted(phases.held(ledger, vocabulary.DRAINING))
    return terms + [{"matchFields": [_node("In", node)]} for node in draining]


def _node(operator: str, node: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": operator, "values": [node]}


def update_strategy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The DaemonSet's updateStrategy; one node at a time unless maxUnavailable says otherwise."""
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return {"type": "OnDelete"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": strategy.get("maxUnavailable", 1)}}


def config_map(daemon_set: Mapping[str, Any] | None) -> str | None:
    """The name of the ConfigMap with compute-pool.conf that a DaemonSet mounts; None without one.

    The DaemonSet may be one that a stranger made.
    """
    volumes = daemon_set["spec"]["template"]["spec"].get("volumes") or [] if daemon_set else []
    names = (volume.get("configMap", {}).get("name") for volume in volumes if volume["name"] == CONFIG_VOLUME)
    return next(names, None)


def is_observed(daemon_set: Mapping[str, Any]) -> bool:
    """Whether the DaemonSet controller has seen the current template and affinity."""
    status: Mapping[str, Any] = daemon_set.get("status", {})
    return bool(status.get("observedGeneration", 0) >= daemon_set["metadata"]["generation"])


def is_rolled_out(daemon_set: Mapping[str, Any]) -> bool:
    """Whether every node that the DaemonSet selects runs a ready pod of the current template."""
    status = daemon_set.get("status", {})
    desired = status.get("desiredNumberScheduled", 0)
    return is_observed(daemon_set) and status.get("numberReady", 0) == desired == status.get(
        "updatedNumberScheduled", 0
    )


def judge(daemon_set: Mapping[str, Any] | None) -> dict[str, Any]:
    """The DaemonSetReady outcome; None is a pool that runs no pod any more."""
    if daemon_set is None:
        return conditions.outcome(
            conditions.DAEMON_SET, "DaemonSetReady", "The pool holds no node and the DaemonSet was removed"
        )
    status = daemon_set.get("status", {})
    ready, desired = status.get("numberReady", 0), status.get("desiredNumberScheduled", 0)
    if is_rolled_out(daemon_set):
        return conditions.outcome(
            conditions.DAEMON_SET, "DaemonSetReady", f"{ready} of {desired} nodes run a ready pod"
        )
    return conditions.outcome(
        conditions.DAEMON_SET,
        "DaemonSetProgressing",
        f"Waiting for the nova-compute DaemonSet: {ready} of {desired} nodes run a ready pod",
    )


def status_fields(daemon_set: Mapping[str, Any] | None, reference: str) -> dict[str, Any]:
    """The fields of the pool's status that mirror the DaemonSet.

    ``reference`` is the image of the applied template; it is recorded once every node runs a ready pod of it.
    """
    status = (daemon_set or {}).get("status", {})
    fields: dict[str, Any] = {
        "desiredNumberScheduled": status.get("desiredNumberScheduled", 0),
        "numberReady": status.get("numberReady", 0),
    }
    if daemon_set is not None and fields["desiredNumberScheduled"] and is_rolled_out(daemon_set):
        fields["installedImage"] = reference
    return fields


def pod_labels() -> dict[str, str]:
    """The labels that the pods of every pool carry."""
    return {key: value for key, value in labels("").items() if value}


def pods_by_node(
    pods: Iterable[Mapping[str, Any]],
    pool: Mapping[str, Any],
    siblings: Iterable[Mapping[str, Any]] = (),
    handed_over: Collection[str] = (),
) -> dict[str, str]:
    """Node to the pod that keeps its compute service from being deleted, whatever the pod's phase.

    That is the pool's own pod, and the pod of another pool of the same Nova and cluster: for a moment two pools can
    hold a node, and what one deletes the other's pod would register anew. On a node that is handed over the other
    pool's pod is meant to stay, so only the own one counts.
    """
    own = pool["metadata"]["name"]
    rivals = {
        other["metadata"]["name"] for other in phases.siblings(pool, siblings) if phases.same_cluster(pool, other)
    }
    handed_over, found = frozenset(handed_over), {}
    for pod in pods:
        node = pod.get("spec", {}).get("nodeName")
        instance = (pod["metadata"].get("labels") or {}).get("app.kubernetes.io/instance")
        if node and (instance == own or (instance in rivals and node not in handed_over)):
            found[node] = pod["metadata"]["name"]
    return found
