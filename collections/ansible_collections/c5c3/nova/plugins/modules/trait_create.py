#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Create custom traits in Placement."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: trait_create
short_description: Create custom traits in Placement
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Creates each trait, and says which ones this call created. Only that answer tells whose a trait is.
  - In check mode Placement is asked which of them it knows.
  - Stops at the first call that fails and returns it in RV(errors), with what was created before.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.nova]
options:
  pool:
    description: The whole NovaCompute object, which the events are recorded for.
    type: dict
    required: true
  names:
    description: The traits.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Create the traits that a node desires and does not carry yet
  c5c3.nova.trait_create:
    pool: "{{ novacompute }}"
    nova: "{{ nova }}"
    names: [CUSTOM_GPU]
  register: traits_made
"""

RETURN = r"""
created:
  description: The traits that did not exist before.
  returned: success
  type: list
  elements: str
  sample: [CUSTOM_PAGES]
errors:
  description: The call that failed (trait, system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - trait: CUSTOM_PAGES
      system: placement
      kind: Trait
      call: PUT /traits/CUSTOM_PAGES
      status: 503
      detail: Service Unavailable
"""

from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    "pool": {"type": "dict", "required": True},
    **entry.NOVA_ARGUMENT,
    "names": {"type": "list", "elements": "str", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    names = task.params["names"]
    if not names:
        return {"created": [], "errors": []}
    cluster = task.cluster()
    created: list[str] = []
    try:
        placement = nova_client.open_placement(cluster, task.params["nova"])
    except errors.CallError as error:
        return {"created": [], "errors": [{**error.as_data(), "kind": error.kind or "Token"}]}
    for name in names:
        try:
            is_new = not placement.has_trait(name) if task.check_mode else placement.create_trait(name)
        except errors.CallError as error:
            return {
                "changed": bool(created),
                "created": created,
                "diff": _differences(created),
                "errors": [{"trait": name, **error.as_data(), "kind": "Trait"}],
            }
        if is_new:
            created.append(name)
            if not task.check_mode:
                cluster.record_event(task.params["pool"], "Normal", "TraitCreated", f"Created the trait {name}")
    return {"changed": bool(created), "created": created, "errors": [], "diff": _differences(created)}


def _differences(names: list[str]) -> list[dict[str, Any]]:
    return [entry.difference("trait in Placement", "", f"{name}\n") for name in names]


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
