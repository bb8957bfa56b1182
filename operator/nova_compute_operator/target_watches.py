# SPDX-License-Identifier: Apache-2.0
"""Watches target clusters: their registrations, and on each cluster the Nodes and the DaemonSets of pools.

All of it only makes a pass come sooner than its poll would, so nothing waits for it: each watch has a thread of its
own, a cluster that hangs or is gone holds up these alone, and what is wrong with it the passes find out themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration

from nova_compute_operator import api, log, triggers, watches

logger = logging.getLogger(__name__)


class TargetWatches:
    """Calls `on_change` for changes of registrations, and for those on the clusters that are registered."""

    def __init__(
        self,
        server: api.ApiServer,
        *,
        clusters_namespace: str,
        namespace: str,
        clock: Callable[[], float],
        on_change: Callable[[triggers.Change], None],
    ) -> None:
        """`namespace` is where the pools are, empty for all; without a `clusters_namespace` nothing is watched."""
        self._server = server
        self._clusters_namespace = clusters_namespace
        self._namespace = namespace
        self._clock = clock
        self._on_change = on_change
        # Touched by the thread of the registrations alone.
        self._engaged: dict[str, list[watches.Watch]] = {}
        self._registrations = watches.Watch(
            server,
            triggers.REGISTRATION,
            namespace=clusters_namespace,
            clock=clock,
            on_change=self._registration_changed,
            on_death=_say,
        )

    def start(self) -> None:
        """Begin to watch."""
        if self._clusters_namespace:
            self._registrations.start()

    def stop(self) -> None:
        """Report nothing from now on."""
        self._registrations.stop()
        for each in list(self._engaged.values()):
            _stop(each)

    def _registration_changed(self, change: triggers.Change) -> None:
        _stop(self._engaged.pop(change.name, []))
        if change.after is not None:
            self._engaged[change.name] = self._engage(change.name)
        self._on_change(change)

    def _engage(self, name: str) -> list[watches.Watch]:
        """Watch the cluster that is registered under the name; none where its registration cannot be used."""
        try:
            secret = self._server.secret(self._clusters_namespace, name)
            server = api.ApiServer.of(registration.credentials_of(registration.kubeconfig_of(secret, namespace=None)))
            listed = registration.namespaces_of(secret)
        except (api.ApiError, registration.RefusedError) as error:
            logger.warning("A target cluster is not watched", extra=log.fields(cluster=name, error=str(error)))
            return []
        # A registration that lists namespaces allows nothing beyond them.
        namespaces = [self._namespace] if self._namespace else listed or [""]
        engaged = [
            watches.Watch(
                server,
                kind,
                namespace=namespace,
                clock=self._clock,
                on_change=self._on_change,
                on_death=_say,
                cluster=name,
            )
            for kind in triggers.TARGET_KINDS
            for namespace in (namespaces if kind.namespaced else [""])
        ]
        for each in engaged:
            each.start()
        logger.info("A target cluster is watched", extra=log.fields(cluster=name))
        return engaged


def _stop(engaged: list[watches.Watch]) -> None:
    for each in engaged:
        each.stop()


def _say(reason: str) -> None:
    # The next change of the registration starts it anew; until then pools are looked at when they asked for it.
    logger.error("A watch of a target cluster ended", extra=log.fields(reason=reason))
