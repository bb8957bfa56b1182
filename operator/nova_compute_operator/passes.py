# SPDX-License-Identifier: Apache-2.0
"""Runs the playbook over one pool through ansible-runner, as a user would by hand with `--limit`.

Each pass has a folder of its own, an inventory of one host, and a deadline. What it did is read from its events.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import ansible_runner
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes

from nova_compute_operator import folders, log, outcomes, processes
from nova_compute_operator.engine import engine as engines

logger = logging.getLogger(__name__)

# How often ansible-runner asks whether the pass is to be ended.
_ASK_SECONDS = 0.5


class Cancel:
    """Ends running passes early, for the end of the process."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """End every pass that looks at this."""
        self._event.set()

    @property
    def is_set(self) -> bool:
        """Whether passes are to end."""
        return self._event.is_set()


def warm_engine(playbook: pathlib.Path, store: folders.Folders) -> engines.Engine:
    """An engine for the passes of this playbook. Its processes carry a mark, and write nothing outside the store."""
    environment = {
        processes.MARK: processes.mark_of("engine"),
        "ANSIBLE_HOME": str(store.home),
        "ANSIBLE_LOCAL_TEMP": str(store.home / "tmp"),
        "TMPDIR": str(store.home),
    }
    return engines.Engine(project_of(playbook), environment=environment)


def pool_inventory(pool: str) -> dict[str, Any]:
    """The inventory of one pool, for the inventory plug-in of the collection."""
    return {"plugin": "c5c3.nova.pools", "pool": pool}


class Passes:
    """Knows what to run and how; one call of `run` is one pass. Safe to use from several threads."""

    def __init__(
        self,
        *,
        playbook: pathlib.Path,
        store: folders.Folders,
        timeout: float,
        default_image_pull_policy: str = "",
        clusters_namespace: str = "",
        engine: engines.Engine | None = None,
        inventory: Callable[[str], dict[str, Any]] = pool_inventory,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._playbook = playbook
        self._store = store
        self._timeout = timeout
        self._variables = {
            "nova_compute_default_image_pull_policy": default_image_pull_policy,
            "nova_compute_clusters_namespace": clusters_namespace,
            # What an earlier process saw of a target cluster is no reason to give up what lies there.
            "nova_compute_process_started": kubernetes.timestamp(),
        }
        self._engine = engine
        self._inventory = inventory
        self._clock = clock

    def run(self, pool: str, cancel: Cancel, *, verbosity: int | None = None) -> outcomes.Outcome:
        """Run one pass to its end, its deadline or its cancellation. Raises nothing that a pass can be blamed for.

        With a verbosity, the number of -v, what it prints is logged.
        """
        pass_id = uuid.uuid4().hex[:12]
        began = self._clock()
        folder = self._store.take(pool, pass_id)
        reader = outcomes.Reader(pool, on_output=None if verbosity is None else _output_log(pool, pass_id))
        try:
            verdict = self._run(pool, pass_id, folder, reader, cancel=cancel, verbosity=verbosity)
        except ansible_runner.exceptions.AnsibleRunnerException:
            logger.exception("A pass could not be run", extra=log.fields(pool=pool))
            verdict = outcomes.Verdict.FAILED
        finally:
            # Whatever way it ended, nothing of it may work on while the next pass runs.
            processes.end(processes.mark_of(pass_id))
            self._store.give_back(pool, folder)
        outcome = reader.outcome(verdict, self._clock() - began)
        _log(pool, pass_id, outcome)
        return outcome

    def _run(
        self,
        pool: str,
        pass_id: str,
        folder: pathlib.Path,
        reader: outcomes.Reader,
        *,
        cancel: Cancel,
        verbosity: int | None,
    ) -> outcomes.Verdict:
        _write(folder / "inventory" / "pools.yml", self._inventory(pool))
        _write(folder / "env" / "extravars", self._variables)
        _write(folder / "env" / "envvars", self._environment(folder, pass_id))
        # Only this file is heeded: settings given as an argument are dropped when it does not exist.
        _write(folder / "env" / "settings", {"pexpect_timeout": _ASK_SECONDS, "suppress_ansible_output": True})
        began = self._clock()
        ended: list[outcomes.Verdict] = []

        def must_end() -> bool:
            if not ended and cancel.is_set:
                ended.append(outcomes.Verdict.CANCELLED)
            elif not ended and self._clock() - began > self._timeout:
                ended.append(outcomes.Verdict.TIMEOUT)
            if ended:
                # Before ansible-runner signals the group, which the workers have left.
                processes.end(processes.mark_of(pass_id))
            return bool(ended)

        def take(event: dict[str, Any]) -> bool:
            reader.take(event)
            # Not to be written: nobody reads the file, and the folder goes with the pass.
            return False

        with self._engine.in_use() if self._engine else contextlib.nullcontext():
            result = ansible_runner.run(
                private_data_dir=str(folder),
                project_dir=str(project_of(self._playbook)),
                playbook=str(self._playbook),
                limit=pool,
                quiet=True,
                # A pass keeps no facts for another one: none is to be looked for, in a file, before each task.
                fact_cache_type="memory",
                verbosity=verbosity,
                event_handler=take,
                cancel_callback=must_end,
            )
        if ended:
            return ended[0]
        return outcomes.Verdict.DONE if result.rc == 0 else outcomes.Verdict.FAILED

    def _environment(self, folder: pathlib.Path, pass_id: str) -> dict[str, str]:
        """What the playbook's process sees beside the operator's own environment, $KUBECONFIG included."""
        scratch = folder / "tmp"
        scratch.mkdir(mode=0o700)
        environment = {
            processes.MARK: processes.mark_of(pass_id),
            # The ansible-playbook that belongs to this Python, whatever else the machine has.
            "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            # Nothing is written outside the pass's folder, so that its removal leaves nothing.
            "ANSIBLE_HOME": str(folder / "ansible"),
            "ANSIBLE_LOCAL_TEMP": str(scratch),
            "ANSIBLE_REMOTE_TEMP": str(scratch),
            "TMPDIR": str(scratch),
            # Else a pool that cannot be read would look like an empty inventory.
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        }
        if os.environ.get("KUBECONFIG"):
            # The playbook's process works in another folder than this one.
            files = os.environ["KUBECONFIG"].split(os.pathsep)
            environment["KUBECONFIG"] = os.pathsep.join(os.path.abspath(name) for name in files if name)  # noqa: PTH100
        configuration = project_of(self._playbook) / "ansible.cfg"
        if configuration.is_file():
            # Named, because Ansible does not trust a file it finds in a folder that others may write to.
            environment["ANSIBLE_CONFIG"] = str(configuration)
        return environment


def project_of(playbook: pathlib.Path) -> pathlib.Path:
    """The folder that holds ansible.cfg, roles and collections: the parent of the playbooks' folder."""
    return playbook.parent.parent


def _write(path: pathlib.Path, data: Any) -> None:
    """Write data as JSON, which is YAML in which no text can become anything but text."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps(data))


def _output_log(pool: str, pass_id: str) -> Callable[[str, str], None]:
    def write(step: str, text: str) -> None:
        logger.info("Output of the play", extra=log.fields(pool=pool, pass_id=pass_id, step=step, output=text))

    return write


def _log(pool: str, pass_id: str, outcome: outcomes.Outcome) -> None:
    values: dict[str, Any] = {
        "pool": pool,
        "pass_id": pass_id,
        "outcome": outcome.verdict.value,
        "seconds": round(outcome.seconds, 3),
        "next_look_seconds": outcome.next_look,
        "changed": outcome.changed,
    }
    for one in outcome.rescued:
        logger.warning(
            "A step failed",
            extra=log.fields(pool=pool, pass_id=pass_id, step=one.step, task=one.task, error=one.message),
        )
    for one in outcome.warnings:
        logger.warning(
            "A step warns",
            extra=log.fields(pool=pool, pass_id=pass_id, step=one.step, task=one.task, warning=one.message),
        )
    if outcome.failure:
        values |= {"step": outcome.failure.step, "task": outcome.failure.task, "error": outcome.failure.message}
    good = outcome.verdict in (outcomes.Verdict.DONE, outcomes.Verdict.CANCELLED)
    logger.log(logging.INFO if good else logging.ERROR, "Pass ended", extra=log.fields(**values))
