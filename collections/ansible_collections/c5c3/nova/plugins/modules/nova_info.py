#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the Nova that a pool joins."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: nova_info
short_description: Read the Nova that a pool joins, and where both live
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the Nova, and whether the Secret of its service user holds a password.
  - The password itself is neither returned nor kept.
  - A pool or a Nova may live on a target cluster. Its registration is read, and the cluster has to give a sign of life.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.pool]
options:
  clusters_namespace:
    description: The namespace of the Secrets that register target clusters. Empty, none is served.
    type: str
    default: c5c3-clusters
  process_started:
    description:
      - When the process that runs the passes started, in RFC 3339. What an earlier one saw does not count for giving up
        the children on a target cluster. Empty, everything counts.
    type: str
    default: ""
  poll_scale:
    description: Stretches or shortens the time after which they are given up. Only for tests.
    type: float
    default: 1.0
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
    name: {description: Its name., type: str, sample: controlplane-nova}
    namespace: {description: Its namespace., type: str, sample: openstack}
    uid: {description: Its uid., type: str, sample: 5d0d7c1a-22f4-4f0e-9b55-7c6a8f3f0e19}
    keystone_endpoint:
      description: "Keystone's address, ending in /v3."
      type: str
      sample: "http://keystone.openstack.svc.cluster.local:5000/v3"
    region: {description: "The region of its catalog rows, or empty.", type: str, sample: RegionOne}
    compute_endpoint:
      description: "The Nova API's address, ending in /v2.1."
      type: str
      sample: "http://controlplane-nova.openstack.svc.cluster.local:8774/v2.1"
    placement_override: {description: "Placement's address when the Nova names one.", type: str, sample: ""}
    username: {description: The service user., type: str, sample: nova}
    project_name: {description: The project of the token., type: str, sample: service}
    user_domain_name: {description: The domain of the user., type: str, sample: Default}
    project_domain_name: {description: The domain of the project., type: str, sample: Default}
    secret:
      description: Name and key of the Secret with the password.
      type: dict
      sample: {name: controlplane-nova-service-user, key: password}
    installed_release: {description: "The release that is installed, for example 2026.1.", type: str, sample: "2026.1"}
    contract_secret:
      description: The name of the compute contract Secret.
      type: str
      sample: controlplane-nova-compute-config
    target:
      description: "Where it lives, as I(target) is where the pool's children go."
      type: dict
      sample: {cluster: "", registered_in: c5c3-clusters, namespace: openstack}
target:
  description: Where the children of the pool go, for every module that has to do with them.
  returned: success
  type: dict
  contains:
    cluster: {description: "The target cluster, empty for the cluster of the pool itself.", type: str, sample: edge}
    registered_in: {description: The namespace of the Secret that registers it., type: str, sample: c5c3-clusters}
    namespace: {description: The namespace of the children., type: str, sample: openstack}
reached:
  description: Whether the cluster of the pool's children answered.
  returned: success
  type: bool
  sample: true
abandoned:
  description: Whether the children of a pool that is being deleted are given up, because their cluster stayed away.
  returned: success
  type: bool
  sample: false
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: NovaReady
      status: "True"
      reason: NovaResolved
      message: Nova controlplane-nova has installed release 2026.1
    goes_on: true
    look: null
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import target_clusters as clusters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import nova as rules
from ansible_collections.c5c3.nova.plugins.module_utils.rules import target_clusters

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.POOL_ARGUMENT,
    "clusters_namespace": {"type": "str", "default": "c5c3-clusters"},
    "process_started": {"type": "str", "default": ""},
    "poll_scale": {"type": "float", "default": 1.0},
}


def run(task: entry.Task) -> dict[str, Any]:
    pool, cluster, registered_in = task.params["pool"], task.cluster(), task.params["clusters_namespace"]
    target = target_clusters.target(pool, registered_in)
    missing = _unavailable(task, target)
    if missing is not None:
        return {"nova": {}, "target": target, "reached": False, **missing}
    result: dict[str, Any] = {"nova": {}, "target": target, "reached": True, "abandoned": False}
    name = pool["spec"]["novaRef"]["name"]
    found = cluster.find("Nova", name, pool["metadata"]["namespace"])
    if found is None:
        return {**result, "outcome": rules.judge(name, None)}
    resolved = rules.resolve(found, registered_in)
    missing = _unavailable(task, resolved["target"]) if resolved["target"] != target else None
    if missing is not None:
        # An unreachable Nova holds a deletion, wherever it lives; only the pool's own children are ever given up.
        return {**result, "outcome": missing["outcome"]}
    outcome = rules.judge(name, resolved, has_password=_has_password(cluster, resolved))
    return {**result, "nova": resolved, "outcome": outcome}


def _unavailable(task: entry.Task, target: dict[str, str]) -> dict[str, Any] | None:
    """Return `{outcome, abandoned}` where the target cluster cannot be used, else None."""
    try:
        clusters.reach(task.cluster(), target)
    except errors.CallError as error:
        if error.kind != clusters.KIND:
            raise
        pool, now = task.params["pool"], kubernetes.timestamp()
        since = target_clusters.unavailable_since(pool, target["cluster"], now=now)
        return {
            "outcome": target_clusters.judge(target["cluster"], str(error), since=since),
            "abandoned": target_clusters.is_abandoned(
                pool, since=since, now=now, started=task.params["process_started"], scale=task.params["poll_scale"]
            ),
        }
    return None


def _has_password(cluster: kubernetes.Cluster, nova: dict[str, Any]) -> bool:
    if not nova["secret"]["name"]:
        return False
    secret = cluster.find("Secret", nova["secret"]["name"], nova["namespace"])
    return bool(((secret or {}).get("data") or {}).get(nova["secret"]["key"]))


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
