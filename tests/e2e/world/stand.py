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
from novalab.kubernetes import control_plane  # noqa: E402
from novalab.openstack import faults, installation, settings  # noqa: E402

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
        return set(self.sql("nova_api", "SELECT host FROM host_mappings"))

    def sql(self, database: str, statement: str) -> list[str]:
        """The rows of a statement in one of OpenStack's databases, their columns set apart by ``|``."""
        openstack = settings.Cloud(self.lab)
        folder = installation.postgresql_bin()
        assert folder is not None, "PostgreSQL is not installed, though the lab runs on it"
        done = subprocess.run(
            [folder / "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", f"--command={statement}"],
            env={
                "PGHOST": "127.0.0.1",
                "PGPORT": str(self.lab.port("postgresql")),
                "PGUSER": settings.DATABASE_USER,
                "PGPASSWORD": openstack.passwords.database,
                "PGDATABASE": database,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{database}: {statement}: {done.stderr}"
        return done.stdout.splitlines()

    # --- what was asked of the servers

    def audit_log(self) -> pathlib.Path:
        """Every write that the API server answered. Raises AssertionError for a cluster that keeps no such log."""
        path = control_plane.audit_log(self.lab)
        assert path.exists(), f"{path} is missing: these tests need the lab's own cluster"
        return path

    def access_logs(self, application: str) -> list[pathlib.Path]:
        """What the pods of a web application (``controlplane-nova``, ``placement``) log, one file for each pod."""
        return sorted((self.lab.logs / "pods").glob(f"{labs.NAMESPACE}_{application}-*/*.log"))

    def stop_part(self, name: str) -> None:
        """Stop a part of OpenStack, such as ``nova-api``; see the lab's faults."""
        faults.stop(self.lab, name)

    def start_stopped_parts(self) -> None:
        """End every trouble that :meth:`stop_part` has made."""
        for name in faults.stopped(self.lab):
            faults.start(self.lab, name)
