# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pools of a cluster as the hosts of an inventory, so that a pass over one pool is a play limited to one host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pools
short_description: The node pools (NovaComputes) of a cluster as hosts
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Lists the NovaComputes of a cluster. Each is a host named C(<namespace>/<name>), so that C(--limit openstack/pool-a)
    is one pool and C(--limit 'openstack/*') are those of a namespace.
  - The whole object is the host's variable C(novacompute). Nothing in it is ever evaluated as a template.
  - >-
    Groups: C(novacomputes) holds all of them, C(nova_<namespace>_<nova>) those of a Nova, C(namespace_<namespace>)
    those of a namespace, C(cluster_<name>) those of a target cluster and C(cluster_local) those of the cluster
    itself. Whatever a group name may not hold is an underscore.
  - Its file is named C(pools.yml) or ends in C(.pools.yml).
extends_documentation_fragment: c5c3.nova.cluster
options:
  plugin:
    description: Names this plugin.
    type: str
    required: true
    choices: [c5c3.nova.pools]
  namespace:
    description: Only the pools of this namespace.
    type: str
    env:
      - name: NOVA_COMPUTE_NAMESPACE
  pool:
    description:
      - Only this pool, as C(<namespace>/<name>). It alone is read; one that does not exist is an error.
    type: str
    env:
      - name: NOVA_COMPUTE_POOL
"""

EXAMPLES = r"""
# inventory/pools.yml: the pools of the cluster of KUBECONFIG
plugin: c5c3.nova.pools

# One namespace of the cluster that a context names
---
plugin: c5c3.nova.pools
context: management
namespace: openstack
"""

import re
import sys
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible_collections.c5c3.nova.plugins.module_utils import absent
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import ownership

ALL_POOLS = "novacomputes"


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]
    """Reads the pools; see the documentation above."""

    NAME = "c5c3.nova.pools"

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and re.search(r"(^|[/.])pools\.ya?ml$", path) is not None

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:  # noqa: FBT001, FBT002
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        if complaint := absent.complaint():
            raise AnsibleParserError(complaint)
        try:
            pools = self._pools()
        except errors.CallError as error:
            raise AnsibleParserError(f"The pools of the cluster cannot be read: {error}") from error
        self.inventory.add_group(ALL_POOLS)
        for pool in pools:
            self._add(pool)

    def _pools(self) -> list[kubernetes.Object]:
        cluster = kubernetes.shared(_text(self.get_option("kubeconfig")), _text(self.get_option("context")))
        only = _text(self.get_option("pool"))
        if only is None:
            return cluster.list("NovaCompute", _text(self.get_option("namespace")))
        namespace, _slash, name = only.partition("/")
        if not namespace or not name or "/" in name:
            raise AnsibleParserError(f"The pool {only!r} is not <namespace>/<name>")
        pool = cluster.find("NovaCompute", name, namespace)
        if pool is None:
            raise AnsibleParserError(f"There is no NovaCompute {only} at {cluster.host}")
        return [pool]

    def _add(self, pool: kubernetes.Object) -> None:
        namespace, name = pool["metadata"]["namespace"], pool["metadata"]["name"]
        spec = pool.get("spec") or {}
        nova = (spec.get("novaRef") or {}).get("name", "")
        target = ownership.target_cluster(pool) or "local"
        host = self.inventory.add_host(f"{namespace}/{name}", group=ALL_POOLS)
        for group in (f"nova_{namespace}_{nova}", f"namespace_{namespace}", f"cluster_{target}"):
            self.inventory.add_child(self.inventory.add_group(re.sub(r"\W", "_", group, flags=re.ASCII)), host)
        self.inventory.set_variable(host, "novacompute", pool)
        self.inventory.set_variable(host, "ansible_connection", "local")
        # The Python that has the clients, for what does not run in the process of the play.
        self.inventory.set_variable(host, "ansible_python_interpreter", sys.executable)


def _text(option: Any) -> str | None:
    """Return an option as plain text, free of what Ansible attaches to values; None when it is not set."""
    return "".join(map(str, option)) if option else None
