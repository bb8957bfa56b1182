#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look whether the compute contract of a pool is whole."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: contract_info
short_description: Look whether the compute contract of a pool is whole
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Reads the compute contract Secret in the pool's namespace on the pool's cluster.
  - Returns a digest of its pairs and no part of them.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.target, c5c3.nova.pool]
options:
  name:
    description: The name of the compute contract Secret.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Read the compute contract
  c5c3.nova.contract_info:
    target: "{{ nova_resolve_target }}"
    pool: "{{ novacompute }}"
    name: "{{ nova.contract_secret }}"
  register: config_render_contract
"""

RETURN = r"""
digest:
  description: A digest of all pairs of the Secret, for the pod template. Empty without a Secret.
  returned: success
  type: str
problem:
  description: The outcome that an absent or incomplete contract gives, or null.
  returned: success
  type: dict
"""

import base64
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    **entry.TARGET_ARGUMENT,
    **entry.POOL_ARGUMENT,
    "name": {"type": "str", "required": True},
}


def run(task: entry.Task) -> dict[str, Any]:
    name = task.params["name"]
    secret = task.target_cluster().find("Secret", name, task.params["pool"]["metadata"]["namespace"])
    if secret is None:
        return {"digest": "", "problem": compute_config.judge_contract(name, None)}
    # Latin-1 maps every byte to a character, so that a key that is no text has a digest too.
    data = {key: base64.b64decode(value).decode("latin-1") for key, value in (secret.get("data") or {}).items()}
    missing = compute_config.missing_contract_keys(data)
    return {
        "digest": compute_config.content_hash(data),
        "problem": compute_config.judge_contract(name, missing),
    }


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
