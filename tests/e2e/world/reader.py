# SPDX-License-Identifier: Apache-2.0
"""Somebody who reads the documentation and types what it says, word by word, in a shell with the lab's exports."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import pages
import yaml
from e2e.world import placed, stand

#: What the commands of the pages find in the folder that they are typed in: the tree's own.
_OF_THE_TREE = ("ansible.cfg", "charts", "collections", "config", "inventory", "playbooks", "roles")
_SECONDS = 900


class Reader:
    """One reader in a folder of its own."""

    def __init__(self, the_stand: stand.Stand, folder: pathlib.Path) -> None:
        self.folder = folder
        #: (page, heading), or (page, command), of what was typed without a failure.
        self.done: set[tuple[str, str]] = set()
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in _OF_THE_TREE:
            (folder / name).symlink_to(pages.TREE / name)
        programs = f"{self.bin}:{pathlib.Path(sys.executable).parent}"
        self.environment = {**the_stand.environment, "PATH": f"{programs}:{the_stand.environment['PATH']}"}

    def provide(self, program: str, script: str) -> None:
        """Have a program of this name, made of a shell script."""
        path = self.bin / program
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def know(self, target: placed.Target) -> None:
        """Have the target cluster as a context of the kubeconfig, under its own name."""
        own = yaml.safe_load(pathlib.Path(self.environment["KUBECONFIG"]).read_text(encoding="utf-8"))
        other = yaml.safe_load(target.lab.kubeconfig.read_text(encoding="utf-8"))
        for part, content in (("clusters", "cluster"), ("users", "user")):
            own[part].append({"name": target.name, content: other[part][0][content]})
        own["contexts"].append({"name": target.name, "context": {"cluster": target.name, "user": target.name}})
        self._use(own)

    def turn_to(self, namespace: str) -> None:
        """Have a namespace as that of the kubeconfig's context."""
        own = yaml.safe_load(pathlib.Path(self.environment["KUBECONFIG"]).read_text(encoding="utf-8"))
        for context in own["contexts"]:
            context["context"]["namespace"] = namespace
        self._use(own)

    def _use(self, kubeconfig: dict[str, Any]) -> None:
        path = self.folder / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig), encoding="utf-8")
        self.environment["KUBECONFIG"] = str(path)

    def shown(self, page: str, heading: str, language: str) -> str:
        """The first block of a language under a heading, such as a manifest that is to be put into a file."""
        return next(block.text for block in self._blocks(page, heading) if block.language == language)

    def does(self, page: str, heading: str, **words: str) -> str:
        """Type every command under the heading, with what is to be filled in; returns what was printed.

        Raises AssertionError for the first block with a command that fails.
        """
        found = [block for block in self._blocks(page, heading) if block.is_shell]
        assert found, f"{page} has no commands under {heading}"
        printed = [self._type(block.filled(**words), f"{page}, {heading}") for block in found]
        self.done.add((page, heading))
        return "".join(printed)

    def types(self, page: str, command: str, *, then: str = "", **words: str) -> str:
        """Type a command that stands in the running text or in a table, with other words for some, and what comes then
        in the same shell; returns what was printed.

        Raises AssertionError when it does not stand there, or fails.
        """
        assert command in pages.commands_in_text(pages.TREE / page), f"{page} names no {command}"
        text = " ".join(words.get(word, word) for word in command.split(" "))
        printed = self._type(f"{text}\n{then}", page)
        self.done.add((page, command))
        return printed

    def _type(self, text: str, where: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{where}: exit {done.returncode}\n{text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _blocks(self, page: str, heading: str) -> list[pages.Block]:
        return [block for block in pages.blocks(pages.TREE / page) if block.heading == heading]
