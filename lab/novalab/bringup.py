# SPDX-License-Identifier: Apache-2.0
"""The whole lab up and down: which parts there are, what waits for what, and the proof that nothing is left."""

from __future__ import annotations

import pathlib
import subprocess
import threading
from collections.abc import Callable

from novalab import checks, errors, lab, network, nodes, openstack, ovsdb, processes, progress, rows
from novalab.hypervisor_operator import process as hypervisor_operator
from novalab.kubernetes import cluster

#: How long parts that go well may still take after another one has failed.
_PATIENCE_SECONDS = 5.0


def up(the_lab: lab.Lab, board: progress.Board, *, with_openstack: bool) -> None:
    """Bring up every part that does not run. Raises LabError of the first part that fails."""
    checks.before_up()
    network.add(the_lab.node_address(node) for node in nodes.names(the_lab))
    work = {"Open vSwitch": _databases, "Kubernetes": _kubernetes}
    if with_openstack:
        work["OpenStack"] = _openstack
    with board.shown():
        _run_together([_Job(board.part(name), do, the_lab) for name, do in work.items()])


def down(the_lab: lab.Lab, tell: progress.Part) -> None:
    """Remove the lab. Raises LabError with the list when something is left."""
    tell("OpenStack")
    hypervisor_operator.stop(the_lab)
    openstack.down(the_lab)
    if not cluster.is_own(the_lab):
        tell("objects of the lab")
        cluster.down(the_lab)
    tell("pods and nodes")
    nodes.down(the_lab)
    ovsdb.down(the_lab)
    if cluster.is_own(the_lab):
        tell("Kubernetes")
        cluster.down(the_lab)
    tell("addresses and files")
    network.remove(the_lab)
    if left := leftovers(the_lab):
        raise errors.LabError(
            f"lab {the_lab.name} is down but for:\n" + "\n".join(f"  {line}" for line in left) + "\n"
            f"End these by hand, then run 'lab/lab.py down --name {the_lab.name}' again"
        )
    # Never across a mount: below a node's root that would be the machine's own devices.
    subprocess.run(["rm", "-rf", "--one-file-system", the_lab.root], check=True)
    if not lab.known():
        (lab.state_home() / "slots.lock").unlink(missing_ok=True)


def status(the_lab: lab.Lab) -> list[rows.Row]:
    """What runs where."""
    found = [*cluster.status(the_lab), *nodes.status(the_lab), *ovsdb.status(the_lab)]
    if _has_openstack(the_lab):
        found += openstack.status(the_lab)
    return [*found, *hypervisor_operator.status(the_lab)]


def leftovers(the_lab: lab.Lab) -> list[str]:
    """Processes, mounts and addresses of the lab that exist now, each in one line."""
    mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    return [
        *(f"process {left.pid} ({left.why}): {left.command}" for left in processes.leftovers(the_lab.root)),
        *(f"mount {path}" for path in mounts if path.startswith(f"{the_lab.root}/")),
        *(f"address {address} on lo" for address in sorted(network.of(the_lab))),
    ]


def environment(the_lab: lab.Lab, path: str) -> dict[str, str]:
    """The variables with which kubectl and openstack speak to the lab; ``path`` is the PATH to put them before."""
    variables = {"LAB": the_lab.name, "KUBECONFIG": str(the_lab.kubeconfig), "PATH": f"{the_lab.bin}:{path}"}
    if _has_openstack(the_lab):
        variables.update(openstack.environment(the_lab))
    return variables


def _has_openstack(the_lab: lab.Lab) -> bool:
    return (the_lab.bin / "openstack").is_symlink()


def _databases(the_lab: lab.Lab, tell: progress.Part) -> None:
    ovsdb.install(tell)
    tell("starting a database for each compute node")
    for node in nodes.names(the_lab):
        if node != lab.CONTROL_NODE:
            ovsdb.up(the_lab, node)


def _kubernetes(the_lab: lab.Lab, tell: progress.Part) -> None:
    cluster.up(the_lab, tell)
    tell("registering nodes")
    start_agent(the_lab)


def start_agent(the_lab: lab.Lab) -> None:
    """Start the node agent if it does not run. Raises LabError."""
    owned = not cluster.is_own(the_lab)
    nodes.up(the_lab, image_paths=[openstack.bin_dir()], only_owned_namespaces=owned)


def _openstack(the_lab: lab.Lab, tell: progress.Part) -> None:
    openstack.install(tell)
    cluster.link(the_lab, "openstack", openstack.bin_dir() / "openstack")
    openstack.up(the_lab, tell)


class _Job(threading.Thread):
    """One part that comes up beside the others."""

    def __init__(self, part: progress.Part, do: Callable[[lab.Lab, progress.Part], None], the_lab: lab.Lab) -> None:
        super().__init__(daemon=True, name=part.name)
        self._part = part
        self._do = do
        self._lab = the_lab
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self._do(self._lab, self._part)
        except Exception as error:
            self.error = error
            self._part.fail("failed")
        else:
            self._part.done("up")


def _run_together(jobs: list[_Job]) -> None:
    for job in jobs:
        job.start()
    while any(job.is_alive() for job in jobs) and not any(job.error for job in jobs):
        for job in jobs:
            job.join(0.1)
    for job in jobs:
        job.join(_PATIENCE_SECONDS if any(job.error for job in jobs) else None)
    for job in jobs:
        if job.error is not None:
            raise job.error
