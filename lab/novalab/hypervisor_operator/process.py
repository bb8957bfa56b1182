# SPDX-License-Identifier: Apache-2.0
"""The stand-in from outside: its process in a lab, which is started by command and by nothing else."""

from __future__ import annotations

import pathlib
import sys

from novalab import crds, errors, lab, openstack, processes, rows

_LAB_FOLDER = pathlib.Path(__file__).resolve().parents[2]
_NAME = "hypervisor operator"


def start(the_lab: lab.Lab, *, interval: float, ha: bool, agent_namespaces: str) -> None:
    """Start it, or start it anew when it runs. Raises LabError when its kinds are not installed."""
    if not crds.are_installed(the_lab, "hypervisors"):
        raise errors.LabError("the cluster serves no Hypervisors: 'lab/lab.py crds install hypervisors' makes it")
    stop(the_lab)
    daemon = _daemon(the_lab)
    daemon.start(
        [
            sys.executable,
            *("-m", "novalab.hypervisor_operator"),
            f"--kubeconfig={the_lab.kubeconfig}",
            f"--interval={interval}",
            f"--agent-namespaces={agent_namespaces}",
            *(["--ha"] if ha else []),
        ],
        root=the_lab.root,
        environment={**openstack.environment(the_lab), "PYTHONPATH": str(_LAB_FOLDER), "PYTHONSAFEPATH": "1"},
    )
    daemon.expect_alive()


def stop(the_lab: lab.Lab) -> None:
    """End it if it runs."""
    _daemon(the_lab).stop()


def status(the_lab: lab.Lab) -> list[rows.Row]:
    """Its row once it was started, none before and none after it was stopped."""
    daemon = _daemon(the_lab)
    return [rows.Row(what=_NAME, process=daemon.pid, log=daemon.log)] if daemon.record.exists() else []


def _daemon(the_lab: lab.Lab) -> processes.Daemon:
    return processes.Daemon(
        name=f"the {_NAME}",
        record=the_lab.pids / "hypervisor-operator.json",
        log=the_lab.logs / "hypervisor-operator.log",
    )
