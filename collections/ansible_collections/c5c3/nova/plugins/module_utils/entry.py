# SPDX-License-Identifier: Apache-2.0
"""How a module of the collection is written once and runs two ways.

A module file has its documentation, `ARGUMENTS` (an argument_spec), `run(task) -> result` and

    def main() -> None:
        entry.run_module(ARGUMENTS, run)

The action plugin `in_process` calls `run` in the process that runs the play, because starting a Python with the
Kubernetes and OpenStack clients for each task would be nearly all that a pass costs. Anywhere else, `main` runs as an
ordinary module. Both ways give the same result for the same arguments; what they share is here, and it needs no
Ansible.
"""

from __future__ import annotations

import dataclasses
import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import absent, packing
from ansible_collections.c5c3.nova.plugins.module_utils.clients import calls, errors, kubernetes, target_clusters

Result = dict[str, Any]

CLUSTER_ARGUMENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
}
"""How a module finds its cluster. Documented by the fragment `c5c3.nova.cluster`."""

TARGET_ARGUMENT: Final[Mapping[str, Mapping[str, Any]]] = {"target": {"type": "dict", "required": True}}
"""Where the children of a pool go. Documented by the fragment `c5c3.nova.target`."""

POOL_ARGUMENT: Final[Mapping[str, Mapping[str, Any]]] = {"pool": {"type": "dict", "required": True}}
"""The pool that a module is about. Documented by the fragment `c5c3.nova.pool`."""

NOVA_ARGUMENT: Final[Mapping[str, Mapping[str, Any]]] = {"nova": {"type": "dict", "required": True}}
"""The Nova that a module talks to. Documented by the fragment `c5c3.nova.nova`."""

LEDGER_ARGUMENT: Final[Mapping[str, Mapping[str, Any]]] = {
    "ledger": {"type": "list", "elements": "dict", "required": True}
}
"""The ledger that a module works on. Documented by the fragment `c5c3.nova.ledger`."""

TRACEBACK_VERBOSITY: Final = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """What a module is asked to do: its validated arguments, in plain JSON types, and how it shall go about it."""

    params: Mapping[str, Any]
    check_mode: bool = False
    diff_mode: bool = False

    def cluster(self) -> kubernetes.Cluster:
        """Return the cluster that the shared arguments name; one connection per process."""
        return kubernetes.shared(self.params.get("kubeconfig"), self.params.get("context"))

    def target_cluster(self) -> kubernetes.Cluster:
        """Return the cluster of the argument `target`, which may be that of `cluster()`."""
        return target_clusters.cluster_at(self.cluster(), self.params["target"])


Run = Callable[[Task], Result]


def difference(what: str, before: Any, after: Any, *, was: str | None = None) -> Result:
    """Return one entry of a result's `diff`, as `--diff` shows it; the empty text is a thing that is not there.

    ``was`` is what the side before is called, where it is another thing than ``what``.
    """
    return {"before_header": was or what, "after_header": what, "before": before, "after": after}


def outcome(run: Run, task: Task, *, module: str, verbosity: int = 0) -> Result:
    """Return the module's result in plain JSON types, or a failed one; never raises.

    A failed call carries `error: {system, call, status, detail}`, from which a rule makes the condition of its step.
    What is large in it is text, see `packing`. Where calls were made, `api_calls` counts them, as a list of `{system,
    method, status, count}`.
    """
    with calls.counted() as made:
        result = _outcome(run, task, module=module, verbosity=verbosity)
    return {**result, "api_calls": calls.as_data(made)} if made else result


def _outcome(run: Run, task: Task, *, module: str, verbosity: int) -> Result:
    if complaint := absent.complaint():
        return {"failed": True, "changed": False, "msg": complaint}
    try:
        given = dataclasses.replace(task, params=packing.unpacked(task.params))
        return _plain(packing.packed({"changed": False, **run(given)}))
    except errors.CallError as error:
        trace = traceback.format_exc()
        failure: Result = {"failed": True, "changed": False, "msg": str(error), "error": error.as_data()}
    except Exception as error:  # noqa: BLE001 - whatever it was, it fails this task and not the run
        trace = traceback.format_exc()
        failure = {"failed": True, "changed": False, "msg": f"{module}: {type(error).__name__}: {errors.scrub(error)}"}
    if verbosity >= TRACEBACK_VERBOSITY:
        # Under a name of its own: Ansible replaces `exception`, and shows it only when its configuration says so.
        failure["traceback"] = errors.without_secrets(trace).splitlines()
    return failure


def run_module(arguments: Mapping[str, Any], run: Run) -> None:
    """Run as an ordinary module: arguments from Ansible's wrapper, the result to standard output."""
    # Only here: neither a unit test of a module nor the action plugin needs it.
    from ansible.module_utils import basic

    module = basic.AnsibleModule(argument_spec=dict(arguments), supports_check_mode=True)
    # As plain as in the other way: what Ansible attaches to values is nothing for a client library.
    task = Task(params=_plain(module.params), check_mode=module.check_mode, diff_mode=bool(module._diff))  # noqa: SLF001
    result = outcome(run, task, module=module._name, verbosity=module._verbosity)  # noqa: SLF001
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(value))
    return plain
