#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the Nova that a pool joins."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: nova_info
short_description: Read the Nova that a pool joins
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the Nova, and whether the Secret of its service user holds a password.
  - The password itself is neither returned nor kept.
extends_documentation_fragment: c5c3.nova.cluster
options:
  pool:
    description: The whole NovaCompute object.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read the Nova that the pool joins
  c5c3.nova.nova_info:
    pool: "{{ novacompute }}"
  register: nova_resolve_result
"""

RETURN = r"""
nova:
  description: The resolved Nova, defaults filled in. Empty when there is none.
  returned: success
  type: dict
  contains:
    name: {description: Its name., type: str}
    namespace: {description: Its namespace., type: str}
    uid: {description: Its uid., type: str}
    keystone_endpoint: {description: "Keystone's address, ending in /v3.", type: str}
    region: {description: "The region of its catalog rows, or empty.", type: str}
    compute_endpoint: {description: "The Nova API's address, ending in /v2.1.", type: str}
    placement_override: {description: "Placement's address when the Nova names one.", type: str}
    username: {description: The service user., type: str}
    project_name: {description: The project of the token., type: str}
    user_domain_name: {description: The domain of the user., type: str}
    project_domain_name: {description: The domain of the project., type: str}
    secret: {description: Name and key of the Secret with the password., type: dict}
    installed_release: {description: "The release that is installed, for example 2026.1.", type: str}
    contract_secret: {description: The name of the compute contract Secret., type: str}
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import nova as rules

ARGUMENTS: Final = {**entry.CLUSTER_ARGUMENTS, "pool": {"type": "dict", "required": True}}


def run(task: entry.Task) -> dict[str, Any]:
    pool, cluster = task.params["pool"], task.cluster()
    namespace, name = pool["metadata"]["namespace"], pool["spec"]["novaRef"]["name"]
    if placed := rules.target_cluster(pool):
        return {"nova": {}, "outcome": rules.judge_target_cluster(placed)}
    found = cluster.find("Nova", name, namespace)
    if found is None:
        return {"nova": {}, "outcome": rules.judge(name, None)}
    if placed := rules.target_cluster(found):
        return {"nova": {}, "outcome": rules.judge_target_cluster(placed)}
    resolved = rules.resolve(found)
    return {
        "nova": resolved,
        "outcome": rules.judge(name, resolved, has_password=_has_password(cluster, resolved)),
    }


def _has_password(cluster: kubernetes.Cluster, nova: dict[str, Any]) -> bool:
    if not nova["secret"]["name"]:
        return False
    secret = cluster.find("Secret", nova["secret"]["name"], nova["namespace"])
    return bool(((secret or {}).get("data") or {}).get(nova["secret"]["key"]))


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
