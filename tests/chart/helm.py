# SPDX-License-Identifier: Apache-2.0
"""Helm, as a person runs it: it keeps to a folder of its own, and what it renders is read as data."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import rich.console
import yaml

TREE = pathlib.Path(__file__).resolve().parents[2]
if str(TREE / "lab") not in sys.path:
    sys.path.insert(0, str(TREE / "lab"))

from novalab import progress  # noqa: E402 - the lab's folder is known only now
from novalab.kubernetes import programs  # noqa: E402

CHART = TREE / "charts" / "nova-compute-operator"
RELEASE = "nco"
NAMESPACE = "openstack"
FULLNAME = f"{RELEASE}-nova-compute-operator"

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Helm:
    """The program and the folder that it may write to."""

    program: pathlib.Path
    folder: pathlib.Path

    @classmethod
    def find(cls, folder: pathlib.Path) -> Helm:
        """Built from its Go module, unless it was before."""
        tell = progress.Board(rich.console.Console(file=sys.stderr)).part("Helm")
        return cls(program=programs.find_or_build_helm(tell), folder=folder)

    @property
    def homes(self) -> dict[str, str]:
        """The variables that keep it to its folder."""
        return {f"HELM_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}

    def run(self, *arguments: str, kubeconfig: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HELM_")}
        environment["KUBECONFIG"] = str(kubeconfig or "/dev/null")
        return subprocess.run(
            [self.program, *arguments], env=environment | self.homes, capture_output=True, text=True, check=False
        )


@dataclasses.dataclass(frozen=True)
class Chart:
    """The chart of this tree under the hands of Helm."""

    helm: Helm

    def values(self, values: Mapping[str, Any]) -> str:
        """The path of a file with these values."""
        path = self.helm.folder / "values.yaml"
        path.write_text(yaml.safe_dump(dict(values)))
        return str(path)

    def template(self, **values: Any) -> subprocess.CompletedProcess[str]:
        """``helm template`` with these values."""
        words = ("template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--values", self.values(values))
        return self.helm.run(*words)

    def rendered(self, **values: Any) -> dict[tuple[str, str], Object]:
        """The objects by kind and name. Raises AssertionError when two are the same, or Helm refuses the values."""
        done = self.template(**values)
        assert done.returncode == 0, done.stderr
        objects = [item for item in yaml.safe_load_all(done.stdout) if item]
        found = {(item["kind"], item["metadata"]["name"]): item for item in objects}
        assert len(found) == len(objects), "two objects have one kind and name"
        return found

    def refusal(self, **values: Any) -> str:
        """Why Helm does not render these values."""
        done = self.template(**values)
        assert done.returncode != 0, "the values are taken"
        return done.stderr
