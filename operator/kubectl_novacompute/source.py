# SPDX-License-Identifier: Apache-2.0
"""Where what is shown comes from: the modules of the collection, called as a task would call them."""

from __future__ import annotations

from typing import Any

import kubernetes.config
from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import api_server
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes as kubernetes_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import report, vocabulary
from ansible_collections.c5c3.nova.plugins.modules import drain_info, nova_info, pool_info

Object = dict[str, Any]

CLUSTERS_NAMESPACE = str(nova_info.ARGUMENTS["clusters_namespace"]["default"])
"""Where target clusters are registered unless somebody says otherwise."""


class NotFoundError(LookupError):
    """What was asked for is not there."""


class Source:
    """The pools that the command line means."""

    def __init__(self, *, kubeconfig: str | None, context: str | None, namespace: str | None, everywhere: bool) -> None:
        self._where = {"kubeconfig": kubeconfig, "context": context}
        self._cluster = kubernetes_client.shared(kubeconfig, context)
        self.namespace = None if everywhere else namespace or _namespace_of(kubeconfig, context)

    def pools(self, name: str | None = None) -> list[Object]:
        """Return the pools, or the one of that name. Raises NotFoundError, or CallError for a failed call."""
        named = self._named(name)
        if name is not None and not named:
            where = f"namespace {self.namespace}" if self.namespace else "any namespace"
            raise NotFoundError(f"there is no NovaCompute {name} in {where}")
        return named

    def exists(self, name: str) -> bool:
        """Whether there is a pool of that name."""
        return bool(self._named(name))

    def _named(self, name: str | None) -> list[Object]:
        found = self._cluster.list(vocabulary.KIND, self.namespace)
        return [pool for pool in found if name in (None, pool["metadata"]["name"], report.name_of(pool))]

    def events(self, pool: Object) -> list[Object]:
        """Return the events about the pool, as `report.event` tells them, the oldest first."""
        return list(pool_info.run(self._task(pool_info, pool=pool))["events"])

    def explain(self, pool: Object, node: str, *, clusters_namespace: str) -> Object:
        """Return what holds the node, see `stuck.explain`; target clusters are registered in the namespace."""
        shared = {"pool": pool, "clusters_namespace": clusters_namespace}
        # A Nova that cannot be read is a finding like the others, and so is handed on whole.
        resolved = entry.outcome(nova_info.run, self._task(nova_info, **shared), module="nova_info")
        asked = self._task(drain_info, **shared, resolved=resolved, nodes=[node])
        return dict(drain_info.run(asked)["nodes"][0])

    def _task(self, module: Any, **arguments: Any) -> entry.Task:
        defaults = {name: argument.get("default") for name, argument in module.ARGUMENTS.items()}
        return entry.Task(params={**defaults, **self._where, **arguments})


def _namespace_of(kubeconfig: str | None, context: str | None) -> str:
    """The namespace of the context that is meant, as kubectl has it."""
    try:
        contexts, active = kubernetes.config.list_kube_config_contexts(  # type: ignore[no-untyped-call]
            config_file=api_server.kubeconfig_path(kubeconfig)
        )
    except kubernetes.config.ConfigException:
        return "default"
    meant = active if context is None else next((each for each in contexts if each["name"] == context), {})
    return str((meant.get("context") or {}).get("namespace") or "default")
