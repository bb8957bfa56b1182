# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that tells what reached it."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors

DOCUMENTATION = """
module: probe
short_description: Tells what reached it
"""

ARGUMENTS = {
    **entry.CLUSTER_ARGUMENTS,
    "tag": {"type": "str", "required": True},
    "data": {"type": "raw"},
    "items": {"type": "list", "elements": "str"},
    "mapping": {"type": "dict"},
    "number": {"type": "int"},
    "flag": {"type": "bool", "default": False},
    "choice": {"type": "str", "choices": ["one", "two"]},
    "password": {"type": "str", "no_log": True},
    "fail": {"type": "str", "choices": ["call", "bug", "result"]},
}


def run(task: entry.Task) -> dict[str, Any]:
    password = task.params["password"]
    line = {
        "params": dict(task.params),
        "check_mode": task.check_mode,
        "diff_mode": task.diff_mode,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "variable": os.environ.get("PROBE_VARIABLE"),
        "types": sorted({type(value).__name__ for value in _all_values(dict(task.params))}),
    }
    with pathlib.Path(os.environ["PROBE_FILE"]).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")
    if task.params["fail"] == "call":
        raise errors.CallError(system="nova", call="GET /v2.1/os-services", status=403, detail=f"password={password}")
    if task.params["fail"] == "bug":
        raise RuntimeError(f"https://nova:{password}@nova/ is wrong, says {password}")
    if task.params["fail"] == "result":
        return {"failed": True, "msg": "as the module says", "more": (1, 2)}
    result = {"changed": task.params["flag"], "echo": task.params["data"], "said": f"the password is {password}"}
    return {**result, "diff": {"before": "old\n", "after": "new\n"}} if task.params["flag"] else result


def _all_values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(each for item in value.items() for part in item for each in _all_values(part))]
    if isinstance(value, list):
        return [value, *(each for item in value for each in _all_values(item))]
    return [value]


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
