#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the ConfigMap with a pool's compute-pool.conf."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: pool_config
short_description: Keep the ConfigMap with a pool's compute-pool.conf
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Creates the immutable ConfigMap that is named by the hash of its content, and prunes all but the three
    newest others.
  - Fails when the rendered text does not read back as the options it was made of.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
options:
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
    text: "{{ lookup('ansible.builtin.template', 'compute-pool.conf.j2') }}"
    options: "{{ novacompute.spec | c5c3.nova.pool_options }}"
  register: config_render_result
"""

RETURN = r"""
name:
  description: The name of the ConfigMap.
  returned: success
  type: str
outcome:
  description: The condition, whether later steps run, and when to look again.
  returned: success
  type: dict
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, ownership, vocabulary, workload

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    **entry.POOL_ARGUMENT,
    "text": {"type": "str", "required": True},
    "options": {"type": "dict", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
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
                "labels": {
                    **workload.labels(metadata["name"]),
                    vocabulary.CONFIG_BASE_LABEL: base,
                    **owner.marks()["labels"],
                },
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
        "outcome": compute_config.judge_rendered(name),
        "diff": [
            *([_difference(pool, existing, name, text)] if created else []),
            *(entry.difference(f"ConfigMap {metadata['namespace']}/{old}", f"{old}\n", "") for old in pruned),
        ],
    }


def _difference(pool: dict[str, Any], existing: list[dict[str, Any]], name: str, text: str) -> dict[str, Any]:
    """What changes in compute-pool.conf: the newest file that the pool has, and the new one."""
    namespace = pool["metadata"]["namespace"]
    before = compute_config.newest(existing, owner=ownership.of_pool(pool))
    return {
        "before_header": f"ConfigMap {namespace}/{before['metadata']['name'] if before else name}",
        "after_header": f"ConfigMap {namespace}/{name}",
        "before": ((before or {}).get("data") or {}).get(compute_config.FILE, ""),
        "after": text,
    }


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
