# SPDX-License-Identifier: Apache-2.0
"""The lab under test, found by its name: its Kubernetes, its OpenStack, its nodes, and the logs of what was asked."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import subprocess
import sys

LAB_FOLDER = pathlib.Path(__file__).resolve().parents[3] / "lab"
if str(LAB_FOLDER) not in sys.path:
    sys.path.insert(0, str(LAB_FOLDER))

from e2e.world import cloud, cluster  # noqa: E402
from novalab import bringup  # noqa: E402 - the lab's folder is known only now
from novalab import lab as labs  # noqa: E402
from novalab.openstack import installation, settings  # noqa: E402

NOVA = settings.NOVA
NODES = labs.COMPUTE_NODES
MARKER = "NOVALAB_ROOT"


@dataclasses.dataclass(frozen=True)
class Stand:
    """One lab that is up."""

    lab: labs.Lab

    @classmethod
    def find(cls, name: str) -> Stand | None:
        """The lab of that name, or None while there is none."""
        found = labs.find(name)
        return None if found is None else cls(found)

    @functools.cached_property
    def environment(self) -> dict[str, str]:
        """The caller's environment with what ``lab/lab.py env`` exports, and the lab's mark for what is started."""
        exported = bringup.environment(self.lab, os.environ.get("PATH", os.defpath))
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, **exported, MARKER: str(self.lab.root)}

    @functools.cached_property
    def cluster(self) -> cluster.Cluster:
        return cluster.Cluster(self.lab.kubeconfig)

    @functools.cached_property
    def cloud(self) -> cloud.Cloud:
        return cloud.Cloud(self.environment)

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """``kubectl`` or ``openstack`` as a person has them in a shell with the lab's exports."""
        return subprocess.run(
            command, input=stdin, env=self.environment, capture_output=True, text=True, check=False, timeout=700
        )

    def output(self, *command: str, stdin: str = "") -> str:
        """What the command printed. Raises AssertionError with its complaint when it failed."""
        done = self.run(*command, stdin=stdin)
        assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def host_mappings(self) -> set[str]:
        """The hosts that are mapped into a cell, from the table that ``nova-manage cell_v2 list_hosts`` prints."""
        openstack = settings.Cloud(self.lab)
        folder = installation.postgresql_bin()
        assert folder is not None, "PostgreSQL is not installed, though the lab runs on it"
        done = subprocess.run(
            [folder / "psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command=SELECT host FROM host_mappings"],
            env={
                "PGHOST": "127.0.0.1",
                "PGPORT": str(self.lab.port("postgresql")),
                "PGUSER": settings.DATABASE_USER,
                "PGPASSWORD": openstack.passwords.database,
                "PGDATABASE": "nova_api",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"the host mappings cannot be read: {done.stderr}"
        return set(done.stdout.split())
