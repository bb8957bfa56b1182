# SPDX-License-Identifier: Apache-2.0
"""Renders what a role's task renders, with Ansible's own engine, in a process of its own.

Reads ``{"role": ..., "task": ..., "argument": ..., "variables": [{...}, ...]}`` from the standard input and writes one
result for each of the variables, as ``{"value": ...}`` or ``{"error": ...}``. The variables are data, as what an
inventory plugin sets; the expressions are those of the role's tasks.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from ansible import errors, template
from ansible.parsing import dataloader
from ansible.plugins import loader

ROOT = pathlib.Path(__file__).parents[3]


def tasks(found: list[Any]) -> Iterator[Mapping[str, Any]]:
    for task in found:
        yield task
        yield from tasks(task.get("block", []))


def main() -> None:
    request = json.load(sys.stdin)
    loader.init_plugin_loader([str(ROOT / "collections")])
    role = ROOT / "roles" / request["role"]
    written = yaml.safe_load((role / "tasks" / "main.yml").read_text(encoding="utf-8"))
    (task,) = [task for task in tasks(written) if task["name"] == request["task"]]
    (module,) = [key for key in task if key.startswith("c5c3.nova.")]
    expression = template.trust_as_template(task[module][request["argument"]])
    own = {name: template.trust_as_template(text) for name, text in task.get("vars", {}).items()}
    results = []
    for variables in request["variables"]:
        context = {**variables, **own, "ansible_search_path": [str(role)]}
        templar = template.Templar(loader=dataloader.DataLoader(), variables=context)
        try:
            results.append({"value": templar.template(expression)})
        except errors.AnsibleError as error:
            results.append({"error": str(error)})
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
