# SPDX-License-Identifier: Apache-2.0
"""The ways to do what one settled pass does, each to be measured beside the others."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import time
from collections.abc import Iterator
from typing import Any

import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.clients import calls, kubernetes, nova
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, workload
from ansible_collections.c5c3.nova.plugins.module_utils.rules import nova as nova_rules
from nova_compute_operator import folders, outcomes, passes

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAYBOOK = ROOT / "playbooks" / "reconcile.yml"
_COLLECTION = pathlib.Path("collections") / "ansible_collections" / "c5c3" / "nova"
_TIMEOUT = 600.0


class Play:
    """Passes of the playbook, as the operator runs them; with ``warm`` by its engine."""

    def __init__(self, store: folders.Folders, playbook: pathlib.Path = PLAYBOOK, *, warm: bool) -> None:
        self.engine = passes.warm_engine(playbook, store) if warm else None
        self._passes = passes.Passes(playbook=playbook, store=store, timeout=_TIMEOUT, engine=self.engine)

    def run(self, pool: str) -> outcomes.Outcome:
        """One pass that went well. Raises AssertionError for any other, and for one that should be warm and was not."""
        outcome = self._passes.run(f"openstack/{pool}", passes.Cancel())
        assert outcome.verdict is outcomes.Verdict.DONE, outcome
        assert self.engine is None or not self.engine.cold_runs, "the engine ran a pass the plain way"
        return outcome

    def settle(self, pool: str, *, tries: int = 20) -> outcomes.Outcome:
        """Run passes until one changes nothing, and return that one's outcome."""
        for _ in range(tries):
            outcome = self.run(pool)
            if not outcome.changed and not outcome.rescued:
                return outcome
        raise AssertionError(f"the pool {pool} did not settle: {outcome}")

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()


def plain_tree(folder: pathlib.Path) -> pathlib.Path:
    """A copy of the product whose modules are ordinary ones, each in a Python of its own; returns its playbook."""
    for name in ("playbooks", "roles", "collections", "inventory"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "ansible.cfg", folder)
    runtime = folder / _COLLECTION / "meta" / "runtime.yml"
    meta = yaml.safe_load(runtime.read_text())
    del meta["plugin_routing"]["action"]
    runtime.write_text(yaml.safe_dump(meta))
    return folder / "playbooks" / "reconcile.yml"


class BareLoop:
    """The API calls of a settled pass from a loop, with connections and a token of its own each time, as a pass has."""

    def __init__(self, kubeconfig: str, pool: str) -> None:
        self._kubeconfig = kubeconfig
        self._pool = pool
        # Of the last round: how many calls, and the seconds in which an API was waited for.
        self.made: calls.Calls = calls.Calls()
        self.api_seconds = 0.0

    def run(self) -> None:
        """One round."""
        cluster = kubernetes.Cluster.connect(self._kubeconfig)
        with calls.counted() as made, self._timed(cluster):
            self._round(cluster)
        self.made = made

    def _round(self, cluster: kubernetes.Cluster) -> None:
        pool = cluster.get("NovaCompute", self._pool, "openstack")
        namespace, name = "openstack", self._pool
        found = nova_rules.resolve(cluster.get("Nova", pool["spec"]["novaRef"]["name"], namespace), "")
        cluster.get("Secret", found["secret"]["name"], namespace)
        cluster.list("NovaCompute", namespace)
        cluster.list("Node", labels=pool["spec"]["nodeSelector"], metadata_only=True)
        cluster.get("Secret", found["contract_secret"], namespace)
        cluster.list("ConfigMap", namespace, {"cobaltcore.c5c3.io/config-base": compute_config.config_map_base(name)})
        cluster.get("DaemonSet", workload.name(name), namespace)
        cluster.serves("VerticalPodAutoscaler")
        # A new session with each round: a pass asks for a token of its own.
        nova._sessions.clear()
        nova.open_nova_from_cluster(cluster, found).list_aggregates()
        nova.open_nova_from_cluster(cluster, found).list_services()

    @contextlib.contextmanager
    def _timed(self, cluster: kubernetes.Cluster) -> Iterator[None]:
        send, waited = cluster.server.send, 0.0

        def timed(*arguments: Any, **options: Any) -> Any:
            nonlocal waited
            began = time.monotonic()
            try:
                return send(*arguments, **options)
            finally:
                waited += time.monotonic() - began

        cluster.server.send = timed  # type: ignore[method-assign]
        yield
        self.api_seconds = waited
