#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the ConfigMap with a pool's compute-pool.conf."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_config
short_description: Keep the ConfigMap with a pool's compute-pool.conf beside a whole compute contract
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the compute contract, the Secret that the nova-computes of a Nova need, and leaves everything as it is until
    that is whole.
  - Creates the immutable ConfigMap that is named by the hash of its content, and prunes all but the three
    newest others.
  - Fails when the rendered text does not read back as the options it was made of.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
options:
  contract_secret:
    description: The name of the Secret with the compute contract, in the pool's namespace.
    type: str
    required: true
  text:
    description: The rendered compute-pool.conf.
    type: str
    required: true
  options:
    description: What the text was rendered from, section to key to value.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Keep compute-pool.conf in its ConfigMap
  c5c3.nova.pool_config:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
    contract_secret: "{{ nova_resolve_nova.contract_secret }}"
    text: "{{ lookup('ansible.builtin.template', 'compute-pool.conf.j2') }}"
    options: "{{ novacompute.spec | c5c3.nova.pool_options }}"
  register: config_render_result
"""

RETURN = r"""
name:
  description: The name of the ConfigMap; empty while the contract is not whole.
  returned: success
  type: str
  sample: pool-a-config-5c1f09ab
created:
  description: Whether the ConfigMap was not there before, and its difference is among those of this task.
  returned: success
  type: bool
  sample: false
digest:
  description: A digest of the contract; empty where there is none.
  returned: success
  type: str
  sample: e4d2a7c6
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
  sample:
    condition:
      type: ConfigReady
      status: "True"
      reason: ConfigRendered
      message: compute-pool.conf is rendered into ConfigMap pool-a-config-5c1f09ab
    goes_on: true
    look: null
extra_outcome:
  description: The condition of what C(spec.extraConfig) sets.
  returned: success
  type: dict
  sample:
    condition:
      type: ExtraConfigHealthy
      status: "True"
      reason: NoOwnedKeysOverridden
      message: spec.extraConfig overrides no operator-owned key
    goes_on: true
    look: null
"""

import base64
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, ownership, vocabulary, workload

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    **entry.POOL_ARGUMENT,
    "contract_secret": {"type": "str", "required": True, "no_log": False},
    "text": {"type": "str", "required": True},
    "options": {"type": "dict", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    digest, problem = _contract(task)
    kept = {"name": "", "created": False, "outcome": problem} if problem else _keep(task)
    extra = compute_config.judge_extra_config(task.params["pool"]["spec"].get("extraConfig"))
    return {**kept, "digest": digest, "extra_outcome": extra}


def _contract(task: entry.Task) -> tuple[str, dict[str, Any] | None]:
    """Return the digest of the compute contract, and the outcome that an absent or incomplete one gives."""
    name = task.params["contract_secret"]
    secret = task.target_cluster().find("Secret", name, task.params["pool"]["metadata"]["namespace"])
    if secret is None:
        return "", compute_config.judge_contract(name, None)
    # Latin-1 maps every byte to a character, so that a key that is no text has a digest too.
    data = {key: base64.b64decode(value).decode("latin-1") for key, value in (secret.get("data") or {}).items()}
    problem = compute_config.judge_contract(name, compute_config.missing_contract_keys(data))
    return compute_config.content_hash(data), problem


def _keep(task: entry.Task) -> dict[str, Any]:
    pool, text, cluster = task.params["pool"], task.params["text"], task.target_cluster()
    compute_config.check_rendered(text, task.params["options"])
    metadata, owner = pool["metadata"], ownership.of_pool(pool)
    name, base = (
        compute_config.config_map_name(metadata["name"], text),
        compute_config.config_map_base(metadata["name"]),
    )
    existing = cluster.list("ConfigMap", metadata["namespace"], {vocabulary.CONFIG_BASE_LABEL: base})
    # One that an earlier pool of this name left is about to be collected: it does not count.
    created = not any(item["metadata"]["name"] == name and owner.owns(item) for item in existing)
    if created:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": compute_config.config_map_labels(pool),
                "ownerReferences": owner.marks()["ownerReferences"],
            },
            "immutable": True,
            "data": {compute_config.FILE: text},
        }
        _create(task, body)
    pruned = compute_config.config_maps_to_prune(existing, current=name, owner=owner)
    for old in pruned:
        cluster.delete("ConfigMap", old, metadata["namespace"], dry_run=task.check_mode)
    return {
        "changed": created or bool(pruned),
        "name": name,
        "created": created,
        "outcome": compute_config.judge_rendered(name),
        "diff": [
            *([_difference(task, existing, name)] if created and task.diff_mode else []),
            *(entry.difference(f"ConfigMap {metadata['namespace']}/{old}", f"{old}\n", "") for old in pruned),
        ],
    }


def _difference(task: entry.Task, existing: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """What changes in compute-pool.conf: the file that the pods mount, and the new one."""
    pool = task.params["pool"]
    namespace = pool["metadata"]["namespace"]
    daemon_set = task.target_cluster().find("DaemonSet", workload.name(pool["metadata"]["name"]), namespace)
    before = compute_config.mounted(existing, workload.config_map(daemon_set), owner=ownership.of_pool(pool))
    return entry.difference(
        f"ConfigMap {namespace}/{name}",
        compute_config.text_of(before) if before else "",
        task.params["text"],
        was=f"ConfigMap {namespace}/{before['metadata']['name']}" if before else None,
    )


def _create(task: entry.Task, body: dict[str, Any]) -> None:
    """Create the ConfigMap; one of that name that somebody else made is an error unless this pool owns it."""
    cluster, metadata = task.target_cluster(), body["metadata"]
    try:
        cluster.create(body, dry_run=task.check_mode)
    except errors.CallError as error:
        if error.status != 409:
            raise
        there = cluster.find("ConfigMap", metadata["name"], metadata["namespace"])
        if there is None:
            raise
        ownership.of_pool(task.params["pool"]).refuse_foreign(there, "ConfigMap")


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
