# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module of this collection in the process that runs the task.

Every module of the collection is routed here (`meta/runtime.yml`). An ordinary module is a Python program of its own,
and for a call of some milliseconds it would spend half a second on importing the Kubernetes and OpenStack clients. A
task for another machine, another user or the background is an ordinary module all the same.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common import arg_spec, parameters
from ansible.module_utils.common import json as ansible_json
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova

MODULES = "ansible_collections.c5c3.nova.plugins.modules"
#: This plugin is loaded once in the process of the play, and the process of each task inherits what it imports.
INHERITED = (nova,)

display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    """The one action of the collection; which module it is, the task's action says."""

    _supports_check_mode = True
    _supports_async = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        environment: dict[str, Any] = {}
        self._compute_environment_string(environment)
        if self._is_for_this_process():
            with _environment(environment):
                result.update(self._run_here())
        else:
            in_background = self._task.async_val and not self._connection.has_native_async
            result.update(self._execute_module(task_vars=task_vars, wrap_async=in_background))
            if not in_background:
                self._remove_tmp_path(self._connection._shell.tmpdir)  # noqa: SLF001
        return result

    def _is_for_this_process(self) -> bool:
        return (
            self._connection.transport == "local"
            and not self._task.async_val
            and not (self._connection.become or self._play_context.become)
        )

    def _run_here(self) -> dict[str, Any]:
        # Not `resolved_action`: where a file of the collection was routed to this plugin, that is the plugin itself.
        name = self._task.action
        module = _module(name)
        arguments = _plain(self._task.args)
        validated = arg_spec.ModuleArgumentSpecValidator(dict(module.ARGUMENTS)).validate(arguments)
        secrets: set[str] = validated._no_log_values  # noqa: SLF001 - what AnsibleModule does; there is no other way
        task = entry.Task(
            params=validated.validated_parameters,
            check_mode=bool(self._task.check_mode),
            diff_mode=bool(self._task.diff),
        )
        if validated.error_messages:
            result: dict[str, Any] = {"failed": True, "msg": _refusal(name, validated.errors)}
        else:
            result = entry.outcome(module.run, task, module=name, verbosity=display.verbosity)
        if display.verbosity >= entry.TRACEBACK_VERBOSITY:
            result["invocation"] = {"module_args": _plain(task.params)}
        return dict(parameters.remove_values(result, secrets)) if secrets else result


def _module(name: str) -> Any:
    """Return the module file's Python module: `ARGUMENTS` and `run`."""
    short = name.rpartition(".")[2]
    if short == "in_process":
        raise AnsibleActionFail("c5c3.nova.in_process is how modules of the collection run; call one of the modules")
    return importlib.import_module(f"{MODULES}.{short}")


def _refusal(name: str, found: Any) -> str:
    """Return what AnsibleModule says of arguments that it refuses, word for word."""
    message: str = found.msg
    if isinstance(found[0], UnsupportedError):
        return f"Unsupported parameters for ({name}) module: {message}"
    return message


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in plain JSON types, as a module of its own process would get them.

    The encoder is the one that writes the arguments of such a module: it decrypts what a vault holds and drops whatever
    Ansible attached to a value, so that no template, however it got in, can reach a client as anything but text.
    """
    encoder = ansible_json.get_module_encoder("legacy", ansible_json.Direction.CONTROLLER_TO_MODULE)
    plain: dict[str, Any] = json.loads(json.dumps(arguments, cls=encoder))
    return plain


@contextlib.contextmanager
def _environment(wanted: Mapping[str, Any]) -> Iterator[None]:
    """Have the task's `environment` in this process for as long as the module runs, as a process of its own would."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update({name: str(value) for name, value in wanted.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
