# SPDX-License-Identifier: Apache-2.0
"""What of each watched object says that a pool is due, and which pools that are.

Pure. A watch reduces every object to a *view* the moment it arrives and keeps nothing else, so memory does not grow
with the size of objects, and an update that leaves the view as it was wakes nobody: a pool's own status writes are
such updates. The rules follow the pools' documentation, "Wakes" and "Reaching Nova".
"""

from __future__ import annotations

import collections
import dataclasses
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import ownership, registration, vocabulary

from nova_compute_operator import queue

Object = Mapping[str, Any]
# The target clusters of a pool and of its Nova: pools that share both wait for the same clusters.
Place = tuple[str, str]
LOCAL: Place = ("", "")

GROUP = "apis/nova.openstack.c5c3.io/v1alpha1"
ZONE_LABEL = "topology.kubernetes.io/zone"
CONTRACT_SUFFIX = "-compute-config"
DISCOVERY_SUFFIX = "-discover-hosts"
# On a pool: what its passes print becomes lines of the operator's log, as with that many times -v ("0" to "3").
OUTPUT_ANNOTATION = "nova.openstack.c5c3.io/log-output"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What of an object matters. Two equal views are one and the same to every pool."""

    # A change here concerns the pools that the object belongs to, or the pool itself when the object is one.
    own: Any
    # Of a pool: its spec and its deletion, a change of which concerns the other pools of the same Nova.
    lifetime: Any = None
    # Of a pool: "node phase node phase ...", one text, because pools have thousands of nodes. The change of a node's
    # phase concerns the other pools of the same Nova that have the node, too.
    nodes: str = ""
    # `namespace/name` of the pool or of the Nova that the object belongs to.
    pool: str = ""
    nova: str = ""
    # Of a pool: the target cluster that its nodes and its children are on; of a Nova: the one that it runs on.
    cluster: str = ""
    # Of a pool: the labels that make a Node one of its own; of a Node: those that it has.
    labels: frozenset[tuple[str, str]] = frozenset()
    # False while no pass has looked at the object as it is now.
    seen: bool = True
    # How verbose the output of the pool's passes is to be that goes into the log; None keeps it out.
    verbosity: int | None = None

    @property
    def ledger(self) -> dict[str, str]:
        """Of a pool: node to phase."""
        words = self.nodes.split()
        return dict(zip(words[::2], words[1::2], strict=True))

    def selects(self, node: View | None) -> bool:
        """Of a pool: whether it selects the Node, which may be none."""
        return node is not None and bool(self.labels) and self.labels <= node.labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """One object whose view is another than before; None stands for no object. `initial`: met in a first list."""

    kind: str
    namespace: str
    name: str
    before: View | None
    after: View | None
    initial: bool = False
    # The target cluster that the object is on; empty for the operator's own.
    cluster: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """What to list and watch. `view` returns None for an object that concerns no pool, whatever happens to it."""

    name: str
    path: str
    plural: str
    view: Callable[[Object], View | None]
    namespaced: bool = True
    metadata_only: bool = False
    label_selector: str = ""
    # Without this kind there is nothing to do; the others only make a pass come sooner than its poll would.
    required: bool = False


def _metadata(item: Object) -> Mapping[str, Any]:
    return item.get("metadata") or {}


def _pairs(mapping: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    # Thousands of nodes carry the same few dozen keys and values: one copy of each is kept.
    return tuple(sorted((sys.intern(str(key)), sys.intern(str(value))) for key, value in (mapping or {}).items()))


def _identity(item: Object) -> str:
    return f"{_metadata(item).get('namespace', '')}/{_metadata(item).get('name', '')}"


def _owner(item: Object, kind: str) -> str:
    """`namespace/name` of the owner of that kind, or nothing."""
    for owner in _metadata(item).get("ownerReferences") or ():
        if owner.get("kind") == kind and str(owner.get("apiVersion", "")).startswith("nova.openstack.c5c3.io/"):
            return f"{_metadata(item).get('namespace', '')}/{owner.get('name', '')}"
    return ""


def _lifetime(item: Object) -> tuple[Any, ...]:
    metadata = _metadata(item)
    return metadata.get("uid"), metadata.get("generation"), metadata.get("deletionTimestamp")


def view_novacompute(item: Object) -> View:
    """A pool: its generation, labels, annotations and deletion; for its siblings what it holds and in which phase."""
    metadata, spec, status = _metadata(item), item.get("spec") or {}, item.get("status") or {}
    nodes = sorted(f"{node.get('name')} {node.get('phase')}" for node in status.get("nodes") or ())
    wanted = (metadata.get("annotations") or {}).get(OUTPUT_ANNOTATION)
    return View(
        own=(*_lifetime(item), _pairs(metadata.get("labels")), _pairs(metadata.get("annotations"))),
        lifetime=_lifetime(item),
        # No Node has a name of two words, or of none, whatever somebody wrote into the status.
        nodes=" ".join(pair for pair in nodes if len(pair.split()) == 2),
        verbosity=int(wanted) if wanted in ("0", "1", "2", "3") else None,
        pool=_identity(item),
        nova=f"{metadata.get('namespace', '')}/{(spec.get('novaRef') or {}).get('name', '')}",
        cluster=ownership.target_cluster(item),
        labels=frozenset(_pairs(spec.get("nodeSelector"))),
        seen=not metadata.get("deletionTimestamp") and status.get("observedGeneration") == metadata.get("generation"),
    )


def view_nova(item: Object) -> View:
    """A Nova: its generation, the release it has installed and the contract it has published."""
    status = item.get("status") or {}
    contract = (status.get("computeConfigSecretRef") or {}).get("name")
    own = (*_lifetime(item), status.get("installedRelease"), contract)
    return View(own=own, nova=_identity(item), cluster=ownership.target_cluster(item))


def view_daemonset(item: Object) -> View | None:
    """A DaemonSet of a pool: its template's generation, its metadata and the counts of its status."""
    return _view_daemonset(item, _owner(item, "NovaCompute"))


def view_remote_daemonset(item: Object) -> View | None:
    """A DaemonSet of a pool on a target cluster, where labels tell the owner, and only that of its own namespace."""
    labels = _metadata(item).get("labels") or {}
    if labels.get(ownership.KIND_LABEL) != "NovaCompute":
        return None
    namespace, name = labels.get(ownership.NAMESPACE_LABEL, ""), labels.get(ownership.NAME_LABEL, "")
    own = bool(name) and namespace == _metadata(item).get("namespace")
    return _view_daemonset(item, f"{namespace}/{name}" if own else "")


def _view_daemonset(item: Object, pool: str) -> View | None:
    if not pool:
        return None
    metadata, status = _metadata(item), item.get("status") or {}
    counts = tuple((key, value) for key, value in sorted(status.items()) if isinstance(value, int))
    own = (*_lifetime(item), _pairs(metadata.get("labels")), _pairs(metadata.get("annotations")), counts)
    return View(own=own, pool=pool)


def view_configmap(item: Object) -> View | None:
    """A ConfigMap of a pool, of which only metadata is known: it is immutable, so its life is all that can change."""
    pool = _owner(item, "NovaCompute")
    return View(own=(*_lifetime(item), _pairs(_metadata(item).get("labels"))), pool=pool) if pool else None


def view_contract(item: Object) -> View | None:
    """The contract Secret of a Nova, of which only metadata is known: each write gives it another resourceVersion."""
    identity = _identity(item)
    if not identity.endswith(CONTRACT_SUFFIX):
        return None
    own = (_metadata(item).get("uid"), _metadata(item).get("resourceVersion"))
    return View(own=own, nova=identity.removesuffix(CONTRACT_SUFFIX))


def view_discovery(item: Object) -> View | None:
    """A host discovery Job: nothing but whether it has completed or failed."""
    nova = _owner(item, "Nova")
    if not nova or not str(_metadata(item).get("name", "")).endswith(DISCOVERY_SUFFIX):
        return None
    conditions = (item.get("status") or {}).get("conditions") or ()
    ends = tuple(sorted(one["type"] for one in conditions if one.get("status") == "True" and one.get("type") in _ENDS))
    return View(own=(_metadata(item).get("uid"), ends) if ends else None, nova=nova)


_ENDS = ("Complete", "Failed")


def view_node(item: Object) -> View:
    """A Node: its labels and its deletion. Its status and its heartbeats are not part of metadata."""
    labels = frozenset(_pairs(_metadata(item).get("labels")))
    return View(own=(_metadata(item).get("uid"), _metadata(item).get("deletionTimestamp"), labels), labels=labels)


KINDS = (
    Kind(name="NovaCompute", path=GROUP, plural="novacomputes", view=view_novacompute, required=True),
    Kind(name="Nova", path=GROUP, plural="novas", view=view_nova),
    Kind(
        name="DaemonSet",
        path="apis/apps/v1",
        plural="daemonsets",
        view=view_daemonset,
        label_selector="app.kubernetes.io/name=novacompute",
    ),
    Kind(
        name="ConfigMap",
        path="api/v1",
        plural="configmaps",
        view=view_configmap,
        metadata_only=True,
        label_selector="cobaltcore.c5c3.io/config-base",
    ),
    Kind(name="Secret", path="api/v1", plural="secrets", view=view_contract, metadata_only=True),
    Kind(name="Job", path="apis/batch/v1", plural="jobs", view=view_discovery),
    Kind(name="Node", path="api/v1", plural="nodes", view=view_node, namespaced=False, metadata_only=True),
)


def view_registration(item: Object) -> View:
    """The registration of a target cluster, of which only metadata is known: each write gives it another version."""
    return View(own=(_metadata(item).get("uid"), _metadata(item).get("resourceVersion")))


REGISTRATION = Kind(
    name="Registration",
    path="api/v1",
    plural="secrets",
    view=view_registration,
    metadata_only=True,
    label_selector=f"{registration.LABEL}=true",
)
TARGET_KINDS = (
    Kind(name="Node", path="api/v1", plural="nodes", view=view_node, namespaced=False, metadata_only=True),
    Kind(
        name="DaemonSet",
        path="apis/apps/v1",
        plural="daemonsets",
        view=view_remote_daemonset,
        label_selector=f"{ownership.KIND_LABEL}=NovaCompute",
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wake:
    """A pool that is due, or, without an urgency, one that is gone."""

    pool: str
    urgency: queue.Urgency | None


class Triggers:
    """The pools there are, and the rule that says whom a change concerns. The caller holds a lock around it."""

    def __init__(self) -> None:
        self._pools: dict[str, View] = {}
        # Where the Novas on target clusters are.
        self._novas: dict[str, str] = {}

    @property
    def pools(self) -> frozenset[str]:
        """`namespace/name` of every pool."""
        return frozenset(self._pools)

    def place(self, pool: str) -> Place:
        """The target clusters that passes over the pool wait for, LOCAL where there is none."""
        view = self._pools.get(pool)
        return (view.cluster, self._novas.get(view.nova, "")) if view else LOCAL

    @property
    def places(self) -> set[Place]:
        """Where there are pools."""
        return {self.place(pool) for pool in self._pools}

    def at(self, places: Collection[Place]) -> set[str]:
        """The pools at one of these places; those that wait for no target cluster share none."""
        return {pool for pool in self._pools if (place := self.place(pool)) in places and place != LOCAL}

    def verbosity(self, pool: str) -> int | None:
        """How verbose the output of the pool's passes is to be that goes into the log; None keeps it out."""
        return self._pools[pool].verbosity if pool in self._pools else None

    def phases(self) -> list[tuple[str, str, int]]:
        """Pool, phase and how many of the pool's nodes are in it."""
        return [
            (pool, phase, nodes)
            for pool, view in sorted(self._pools.items())
            for phase, nodes in sorted(collections.Counter(view.ledger.values()).items())
        ]

    def wakes(self, change: Change) -> list[Wake]:
        """The pools that the change concerns, each once, in the order of their names."""
        if change.kind == "NovaCompute":
            return self._pool_changed(change)
        if change.kind == "Nova":
            self._nova_changed(change)
        # A first list is met while every pool is due anyway.
        if change.initial:
            return []
        # A Node's labels are its owner's word, as a pool's spec is: it does not wait behind what passes stir up.
        urgency = queue.Urgency.MOVED if change.kind == "Node" else queue.Urgency.WOKEN
        return [Wake(pool=pool, urgency=urgency) for pool in sorted(self._concerned(change))]

    def _pool_changed(self, change: Change) -> list[Wake]:
        pool = f"{change.namespace}/{change.name}"
        before, after = change.before, change.after
        wakes = []
        if after is None:
            self._pools.pop(pool, None)
            wakes.append(Wake(pool=pool, urgency=None))
        else:
            self._pools[pool] = after
            if change.initial:
                unseen = queue.Urgency.LOOK if after.seen else queue.Urgency.CHANGED
                wakes.append(Wake(pool=pool, urgency=unseen))
            elif before is None or before.own != after.own:
                wakes.append(Wake(pool=pool, urgency=queue.Urgency.CHANGED))
        if not change.initial:
            concerned = self._beside(pool, before, after)
            wakes += [Wake(pool=other, urgency=queue.Urgency.WOKEN) for other in sorted(concerned)]
        return wakes

    def _beside(self, pool: str, before: View | None, after: View | None) -> set[str]:
        """The pools of the same Nova that a change of a pool concerns.

        All of them when it is about what the pool is; when it is about nodes, only those that have such a node, too, or
        a drain among two hundred pools would cost two hundred passes at each of its steps. Two pools that both hold a
        node include the pool itself: one of them wrote before it could know of the other.
        """
        view = after or before
        if view is None:
            return set()
        siblings = self._of_nova(view.nova) - {pool}
        if before is None or after is None or before.lifetime != after.lifetime:
            return siblings
        if before.nodes == after.nodes:
            return set()
        now = after.ledger
        moved = {name for name, _ in before.ledger.items() ^ now.items()}
        concerned = set()
        for sibling in siblings:
            theirs = self._pools[sibling].ledger
            common = moved & theirs.keys()
            if common:
                concerned.add(sibling)
            if any(vocabulary.CONFLICT not in (theirs[name], now.get(name, vocabulary.CONFLICT)) for name in common):
                concerned.add(pool)
        return concerned

    def _nova_changed(self, change: Change) -> None:
        nova = f"{change.namespace}/{change.name}"
        if change.after is not None and change.after.cluster:
            self._novas[nova] = change.after.cluster
        else:
            self._novas.pop(nova, None)

    def _concerned(self, change: Change) -> Iterable[str]:
        before, after = change.before, change.after
        if before is not None and after is not None and before.own == after.own:
            return ()
        view = after or before
        # Of a discovery only its end is news, to those who wait for it.
        if view is None or (change.kind == "Job" and (after is None or after.own is None)):
            return ()
        if change.kind == "Registration":
            return self._on_cluster(change.name)
        if change.kind == "Node":
            return self._selecting(change)
        if view.pool:
            return {view.pool} & self._on_cluster(change.cluster)
        of_nova = self._of_nova(view.nova)
        if change.kind == "Job":
            of_nova = {pool for pool in of_nova if vocabulary.PENDING in self._pools[pool].ledger.values()}
        return of_nova

    def _on_cluster(self, cluster: str) -> set[str]:
        return {pool for pool, view in self._pools.items() if view.cluster == cluster}

    def _of_nova(self, nova: str) -> set[str]:
        return {pool for pool, view in self._pools.items() if view.nova == nova}

    def _selecting(self, change: Change) -> set[str]:
        """The pools that count the Node in or out, and where it was exchanged or moved, those that have it.

        Not those that only select by the same key: with two hundred of them each label would cost two hundred passes.
        """
        before, after = change.before, change.after
        moved = (
            before is None
            or after is None
            or before.own[:2] != after.own[:2]
            or any(key == ZONE_LABEL for key, _ in before.labels ^ after.labels)
        )
        concerned = set()
        for name in self._on_cluster(change.cluster):
            pool = self._pools[name]
            selected = pool.selects(after)
            has = selected or f" {change.name} " in f" {pool.nodes} "
            if selected != pool.selects(before) or (moved and has):
                concerned.add(name)
        return concerned
