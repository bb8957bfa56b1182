# SPDX-License-Identifier: Apache-2.0
"""Plays of stock `ansible-playbook`, with the plugins of the collection and a module that tells what reached it."""

from __future__ import annotations

import configparser
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

HERE = pathlib.Path(__file__).parent
PLUGINS = pathlib.Path(__file__).parents[2] / "collections/ansible_collections/c5c3/nova/plugins"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Played:
    """What a play printed, and what the probes of its tasks got, by their tag."""

    status: int
    output: str
    probes: Mapping[str, dict[str, Any]]
    folder: pathlib.Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A folder with everything that a play needs."""

    folder: pathlib.Path

    def inventory_of(self, url: str) -> str:
        """Write `pools.yml`, and return the path of a kubeconfig for the API server at the URL."""
        (self.folder / "pools.yml").write_text("plugin: c5c3.nova.pools\n", encoding="utf-8")
        content = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": url}}],
            "users": [{"name": "x", "user": {}}],
        }
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(content), encoding="utf-8")
        return str(kubeconfig)

    def play(
        self,
        tasks: list[dict[str, Any]],
        *options: str,
        hosts: str = "localhost",
        environment: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> Played:
        folder = self.folder
        record = folder / "probes"
        record.unlink(missing_ok=True)
        play = {"hosts": hosts, "gather_facts": False, "tasks": tasks, **keywords}
        (folder / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
        done = self.ansible(
            "playbook",
            *options,
            str(folder / "play.yml"),
            environment={"PROBE_FILE": str(record), **(environment or {})},
        )
        lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
        return Played(
            status=done.returncode,
            output=done.stdout + done.stderr,
            probes={line["params"]["tag"]: line for line in map(json.loads, lines)},
            folder=folder,
        )

    def ansible(
        self, command: str, *options: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Return what `ansible-<command>` did, in the stage's folder and with nothing of the shell's environment."""
        return subprocess.run(
            [sys.executable, "-m", "ansible", command, *options],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"),
                "PYTHONDONTWRITEBYTECODE": "1",
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp("stage")
    collection = folder / "collections/ansible_collections/c5c3/nova"
    (collection / "plugins").mkdir(parents=True)
    for part in ("action", "inventory", "doc_fragments", "module_utils"):
        (collection / "plugins" / part).symlink_to(PLUGINS / part)
    for part in ("modules", "connection"):
        (collection / "plugins" / part).symlink_to(HERE / "collection" / part)
    (collection / "meta").mkdir()
    modules = sorted(path.stem for path in (HERE / "collection" / "modules").glob("*.py"))
    routing = {"action": {name: {"redirect": "c5c3.nova.in_process"} for name in modules}}
    runtime = {"action_groups": {"all": modules}, "plugin_routing": routing}
    (collection / "meta" / "runtime.yml").write_text(yaml.safe_dump(runtime), encoding="utf-8")
    settings = configparser.ConfigParser()
    settings["defaults"] = {
        "collections_path": "collections",
        "interpreter_python": sys.executable,
        "localhost_warning": "false",
        "callback_result_format": "yaml",
    }
    settings["inventory"] = {
        "enable_plugins": "c5c3.nova.pools, host_list",
        "inventory_unparsed_warning": "false",
        "any_unparsed_is_failed": "true",
    }
    with (folder / "ansible.cfg").open("w", encoding="utf-8") as stream:
        settings.write(stream)
    return Stage(folder=folder)
