# SPDX-License-Identifier: Apache-2.0
"""Watches target clusters: their registrations, and on each cluster the Nodes and the DaemonSets of pools.

All of it only makes a pass come sooner than its poll would, so nothing waits for it: each watch has a thread of its
own, a cluster that hangs or is gone holds up these alone, and what is wrong with it the passes find out themselves.

The operator's rights on a target cluster end at the namespaces that pools run in. So these are watched, each by
itself, and which they are the pools say; a cluster without a pool is left alone.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import threading
from collections.abc import Callable

from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration

from nova_compute_operator import api, log, queue, triggers, watches

logger = logging.getLogger(__name__)


@dataclasses.dataclass(kw_only=True, eq=False)
class _Engagement:
    """What is watched on a cluster by one version of its registration."""

    registered: triggers.View
    server: api.ApiServer | None = None
    # The namespaces that the registration allows; None for every one.
    allowed: list[str] | None = None
    # By kind and namespace.
    watches: dict[tuple[str, str], watches.Watch] = dataclasses.field(default_factory=dict)
    failures: int = 0
    # When the registration is to be read, by the clock; None where that is done, or only another one can help.
    due: float | None = None
    # A watch ended for good.
    broken: threading.Event = dataclasses.field(default_factory=threading.Event)


class TargetWatches:
    """Calls `on_change` for changes of registrations, and for those on the registered clusters that pools are on."""

    def __init__(
        self,
        server: api.ApiServer,
        *,
        clusters_namespace: str,
        clock: Callable[[], float],
        on_change: Callable[[triggers.Change], None],
        on_death: Callable[[str], None],
    ) -> None:
        """Without a `clusters_namespace` nothing is watched. `on_death`: no registration is heard of any more."""
        self._server = server
        self._clusters_namespace = clusters_namespace
        self._clock = clock
        self._on_change = on_change
        self._on_death = on_death
        self._registrations = watches.Watch(
            server,
            triggers.REGISTRATION,
            namespace=clusters_namespace,
            clock=clock,
            on_change=self._registration_changed,
            on_death=on_death,
        )
        # Guards the two below: the registration of each cluster, and the cluster and the namespace of each pool.
        self._lock = threading.Lock()
        self._registered: dict[str, triggers.View] = {}
        self._placed: dict[str, tuple[str, str]] = {}
        self._news = threading.Event()
        self._stopping = threading.Event()
        # Touched by the thread alone.
        self._engaged: dict[str, _Engagement] = {}
        self._thread = threading.Thread(target=self._work, name="target-watches", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        if self._clusters_namespace:
            self._registrations.start()
            self._thread.start()

    def stop(self) -> None:
        """Report nothing from now on."""
        self._stopping.set()
        self._registrations.stop()
        self._news.set()

    def take(self, change: triggers.Change) -> None:
        """Learn where a pool is; any other change is none of ours."""
        if change.kind != "NovaCompute":
            return
        pool = f"{change.namespace}/{change.name}"
        with self._lock:
            if change.after is not None and change.after.cluster:
                self._placed[pool] = (change.after.cluster, change.namespace)
            else:
                self._placed.pop(pool, None)
        self._news.set()

    def _registration_changed(self, change: triggers.Change) -> None:
        with self._lock:
            if change.after is not None:
                self._registered[change.name] = change.after
            else:
                self._registered.pop(change.name, None)
        self._news.set()
        self._on_change(change)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                due = [one.due for one in self._engaged.values() if one.due is not None]
                self._news.wait(max(0.0, min(due) - self._clock()) if due else None)
                self._news.clear()
                self._settle()
        except Exception:
            logger.exception("The watching of target clusters failed")
            self._on_death("the watching of target clusters failed")
        finally:
            for name in list(self._engaged):
                self._disengage(name)

    def _settle(self) -> None:
        """Watch what is to be watched, and nothing else."""
        with self._lock:
            registered, placed = dict(self._registered), set(self._placed.values())
        for name in list(self._engaged):
            if registered.get(name) != self._engaged[name].registered or not any(name == at for at, _ in placed):
                self._disengage(name)
        for name in sorted({name for name, _ in placed} & registered.keys()):
            fresh = _Engagement(registered=registered[name], due=self._clock())
            engaged = self._engaged.setdefault(name, fresh)
            self._engage(name, engaged)
            self._watch(name, engaged, {namespace for at, namespace in placed if at == name})

    def _disengage(self, name: str) -> None:
        for watch in self._engaged.pop(name).watches.values():
            watch.stop()
        logger.info("A target cluster is watched no more", extra=log.fields(cluster=name))

    def _engage(self, name: str, engaged: _Engagement) -> None:
        """Connect to the cluster as its registration says, if that is due."""
        if engaged.broken.is_set():
            engaged.broken.clear()
            self._put_off(engaged)
        if engaged.due is None or engaged.due > self._clock():
            return
        engaged.due = None
        try:
            secret = self._server.secret(self._clusters_namespace, name)
            kubeconfig = registration.kubeconfig_of(secret, namespace=None)
            engaged.allowed = registration.namespaces_of(secret)
            engaged.server = api.ApiServer.of(registration.credentials_of(kubeconfig))
        except (api.ApiError, registration.RefusedError) as error:
            # What is refused stays so until it is written anew.
            if isinstance(error, api.ApiError):
                self._put_off(engaged)
            logger.warning("A target cluster is not watched", extra=log.fields(cluster=name, error=str(error)))
        else:
            logger.info("A target cluster is watched", extra=log.fields(cluster=name))

    def _put_off(self, engaged: _Engagement) -> None:
        for watch in engaged.watches.values():
            watch.stop()
        engaged.watches.clear()
        engaged.server = None
        engaged.failures += 1
        engaged.due = self._clock() + queue.backoff(engaged.failures)

    def _watch(self, name: str, engaged: _Engagement, namespaces: set[str]) -> None:
        """Watch the Nodes of the cluster, and the DaemonSets in those of the namespaces that are allowed."""
        if engaged.server is None:
            return
        inside = namespaces if engaged.allowed is None else namespaces & set(engaged.allowed)
        wanted = {
            (kind.name, namespace): kind
            for kind in triggers.TARGET_KINDS
            for namespace in (inside if kind.namespaced else {""})
        }
        for key in engaged.watches.keys() - wanted.keys():
            engaged.watches.pop(key).stop()
        for key in wanted.keys() - engaged.watches.keys():
            engaged.watches[key] = watches.Watch(
                engaged.server,
                wanted[key],
                namespace=key[1],
                clock=self._clock,
                on_change=self._report,
                on_death=functools.partial(self._lose, name, engaged),
                cluster=name,
            )
            engaged.watches[key].start()

    def _report(self, change: triggers.Change) -> None:
        # These watches may begin long after the pools' passes: what their first list brings is news, too.
        if not self._stopping.is_set():
            self._on_change(dataclasses.replace(change, initial=False))

    def _lose(self, name: str, engaged: _Engagement, reason: str) -> None:
        logger.error("A watch of a target cluster ended", extra=log.fields(cluster=name, reason=reason))
        engaged.broken.set()
        self._news.set()
