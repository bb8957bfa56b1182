# SPDX-License-Identifier: Apache-2.0
"""The command line of the lab: ``lab/lab.py --help``."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import rich.console
import rich.table
import rich.text

from novalab import bringup, crds, errors, lab, nodes, ovsdb, progress, targets
from novalab.hypervisor_operator import process as hypervisor_operator
from novalab.openstack import faults

_CONTAINER_ID = re.compile(r"proc://([0-9]+)")


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    console = rich.console.Console(stderr=True)
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments, console) or 0)
    except errors.LabError as error:
        console.print(rich.text.Text(f"lab: {error}", style="bold red"), soft_wrap=True, highlight=False)
        if evidence := error.evidence():
            console.print(rich.text.Text(evidence), soft_wrap=True, highlight=False)
        return 1
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        console.print("interrupted; 'lab/lab.py down' removes what was started")
        return 130


def _parser() -> argparse.ArgumentParser:
    name = argparse.ArgumentParser(add_help=False)
    name.add_argument("--name", default=os.environ.get("LAB") or "lab", help="which lab; default: $LAB, else 'lab'")
    parser = argparse.ArgumentParser(description="A real Kubernetes and a real OpenStack on this machine.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", parents=[name], help="bring the lab up; instant when it is")
    up.add_argument("--without-openstack", action="store_true", help="Kubernetes and its nodes only")
    up.add_argument(
        "--targets",
        type=int,
        choices=range(len(targets.NAMES) + 1),
        default=0,
        metavar="N",
        help=f"also N target clusters, registered as {', '.join(targets.NAMES)}",
    )
    up.set_defaults(run=_up)
    commands.add_parser("down", parents=[name], help="remove the lab, all of it").set_defaults(run=_down)
    commands.add_parser("status", parents=[name], help="what runs where").set_defaults(run=_status)
    commands.add_parser("env", parents=[name], help='for a shell: eval "$(lab/lab.py env)"').set_defaults(run=_env)

    logs = commands.add_parser("logs", parents=[name], help="list the log files, or show the end of some")
    logs.add_argument("what", nargs="?", help="part of a log's path")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as they grow")
    logs.set_defaults(run=_logs)

    node = commands.add_parser("node", parents=[name], help="delete a node's object, or register the node (again)")
    node.add_argument("action", choices=["add", "remove"])
    node.add_argument("node", help="control, compute-1 ... compute-14")
    node.set_defaults(run=_node)

    chassis = commands.add_parser("chassis", parents=[name], help="write or remove a node's Open vSwitch system-id")
    chassis.add_argument("node")
    chassis.add_argument("action", choices=["set", "unset"])
    chassis.set_defaults(run=_chassis)

    pod = commands.add_parser("pod", parents=[name], help="send a signal to a container's first process")
    pod.add_argument("action", choices=["kill"])
    pod.add_argument("pod", help="NAMESPACE/POD")
    pod.add_argument("--container", help="default: the pod's first")
    pod.add_argument("--signal", default="KILL", help="default: KILL")
    pod.set_defaults(run=_pod)

    part = commands.add_parser("openstack", parents=[name], help="stop or start a part of OpenStack, to make trouble")
    part.add_argument("action", choices=["stop", "start"])
    part.add_argument("part", choices=list(faults.PARTS))
    part.set_defaults(run=_openstack)

    agent = commands.add_parser("agent", parents=[name], help="crash the node agent, or start it again")
    agent.add_argument("action", choices=["kill", "start"])
    agent.set_defaults(run=_agent)

    kinds = commands.add_parser("crds", parents=[name], help="install or remove the kinds of another operator")
    kinds.add_argument("action", choices=["install", "remove"])
    kinds.add_argument("which", choices=list(crds.SETS))
    kinds.set_defaults(run=_crds)

    hypervisors = commands.add_parser(
        "hypervisor-operator", parents=[name], help="start or stop the stand-in for the hypervisor operator"
    )
    hypervisors.add_argument("action", choices=["start", "stop"])
    hypervisors.add_argument("--ha", action="store_true", help="answer for the HA service, so that onboarding ends")
    hypervisors.add_argument("--interval", type=float, default=1.0, help="how many seconds its ten last; default: 1")
    hypervisors.add_argument(
        "--agent-namespaces", default=lab.NAMESPACE, help="whose pods are waited for before a service is deleted"
    )
    hypervisors.set_defaults(run=_hypervisor_operator)
    return parser


def _find(arguments: argparse.Namespace) -> lab.Lab:
    the_lab = lab.find(arguments.name)
    if the_lab is None:
        known = ", ".join(one.name for one in lab.known()) or "none"
        raise errors.LabError(f"no lab {arguments.name} (there is: {known}); 'lab/lab.py up' makes it")
    return the_lab


def _lock_of(name: str) -> pathlib.Path:
    return lab.state_home() / f"{name}.lock"


def _up(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    began = time.monotonic()
    with lab.locked(_lock_of(arguments.name)):
        the_lab = lab.create(arguments.name)
        board = progress.Board(console)
        bringup.up(the_lab, board, with_openstack=not arguments.without_openstack)
        for target in targets.NAMES[: arguments.targets]:
            targets.up(the_lab, target, board)
    console.print(f"lab {the_lab.name} is up after {time.monotonic() - began:.1f} s")
    _status(arguments, console)


def _down(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    lock = _lock_of(arguments.name)
    if lab.find(arguments.name) is None:
        console.print(f"there is no lab {arguments.name}")
        return
    board = progress.Board(console)
    with lab.locked(lock):
        if (the_lab := lab.find(arguments.name)) is not None:
            # Target clusters first: what runs there still needs what runs here.
            for one in (*targets.of(the_lab), the_lab):
                with board.shown():
                    part = board.part(f"lab {one.name}")
                    bringup.down(one, part)
                    part.done("gone: no process, mount, address or file is left")
        lock.unlink()
    if not any(lab.state_home().iterdir()):
        lab.state_home().rmdir()


def _status(arguments: argparse.Namespace, _console: rich.console.Console) -> int:
    the_lab = _find(arguments)
    out = rich.console.Console()
    table = rich.table.Table(box=None, pad_edge=False)
    for title in ("WHAT", "PROCESS", "ADDRESS", "LOG"):
        table.add_column(title, overflow="fold")
    # A person reads a table that fits the terminal; a script or a log wants each path whole and on one line.
    prefix = f"{the_lab.root}/" if out.is_terminal else ""
    found = bringup.status(the_lab)
    for row in found:
        process = rich.text.Text("down", style="red") if row.process is None else rich.text.Text(str(row.process))
        address, log = (str(text).replace(prefix, "") for text in (row.address, row.log))
        table.add_row(rich.text.Text(row.what), process, rich.text.Text(address), rich.text.Text(log))
    if out.is_terminal:
        out.print(rich.text.Text(f"paths are below {the_lab.root}", style="dim"))
    else:
        out.width = 300
    out.print(table)
    print()
    _env(arguments, _console)
    return 1 if any(row.process is None for row in found) else 0


def _env(arguments: argparse.Namespace, _console: rich.console.Console) -> None:
    the_lab = _find(arguments)
    for key, value in bringup.environment(the_lab, "$PATH").items():
        # The PATH is completed by the shell that reads it, everything else is taken as it is.
        quoted = f'{shlex.quote(str(the_lab.bin))}:"$PATH"' if key == "PATH" else shlex.quote(value)
        print(f"export {key}={quoted}")


def _logs(arguments: argparse.Namespace, console: rich.console.Console) -> int:
    the_lab = _find(arguments)
    rows_with_log = [pathlib.Path(row.log) for row in bringup.status(the_lab) if row.log]
    paths = sorted({path for path in (*rows_with_log, *the_lab.logs.rglob("*.log")) if path.is_file()})
    if arguments.what is None:
        for path in paths:
            print(f"{path.stat().st_size:>10}  {path}")
        return 0
    chosen = [path for path in paths if arguments.what in str(path)]
    if not chosen:
        console.print(f"no log has {arguments.what!r} in its path; 'lab/lab.py logs' lists them")
        return 1
    return subprocess.run(["tail", "-n", "50", *(["-F"] if arguments.follow else []), *chosen], check=False).returncode


def _node(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    the_lab = _find(arguments)
    if arguments.action == "add":
        nodes.add(the_lab, arguments.node)
        console.print(f"node {arguments.node} is registered")
    else:
        _kubectl(the_lab, "delete", "node", arguments.node)
        console.print(f"node {arguments.node} is deleted; Kubernetes removes its pods after 40 s")


def _chassis(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    act = ovsdb.set_system_id if arguments.action == "set" else ovsdb.unset_system_id
    act(_find(arguments), arguments.node)
    console.print(f"system-id of {arguments.node}: {arguments.action}")


def _pod(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    the_lab = _find(arguments)
    namespace, _, name = arguments.pod.partition("/")
    which = f'?(@.name=="{arguments.container}")' if arguments.container else "0"
    path = f"{{.status.containerStatuses[{which}].containerID}}"
    shown = _kubectl(the_lab, "get", "pod", f"--namespace={namespace}", name, f"--output=jsonpath={path}")
    if (match := _CONTAINER_ID.fullmatch(shown.strip())) is None:
        raise errors.LabError(f"no process of {arguments.pod} runs: see 'kubectl describe pod -n {namespace} {name}'")
    os.kill(int(match[1]), signal.Signals[f"SIG{arguments.signal.upper().removeprefix('SIG')}"])
    console.print(f"process {match[1]} of {arguments.pod} got SIG{arguments.signal.upper().removeprefix('SIG')}")


def _openstack(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    act = faults.stop if arguments.action == "stop" else faults.start
    act(_find(arguments), arguments.part)
    stopped = ", ".join(faults.stopped(_find(arguments))) or "nothing"
    console.print(f"{arguments.part}: {arguments.action} done; stopped now: {stopped}")


def _agent(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    the_lab = _find(arguments)
    if arguments.action == "kill":
        nodes.kill_agent(the_lab)
        console.print("the node agent was killed, and the kernel has ended the processes of all pods")
    else:
        bringup.start_agent(the_lab)
        console.print("the node agent runs")


def _crds(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    act = crds.install if arguments.action == "install" else crds.remove
    act(_find(arguments), arguments.which)
    console.print(f"{', '.join(crds.SETS[arguments.which])}: {arguments.action} done")


def _hypervisor_operator(arguments: argparse.Namespace, console: rich.console.Console) -> None:
    the_lab = _find(arguments)
    if arguments.action == "start":
        hypervisor_operator.start(
            the_lab, interval=arguments.interval, ha=arguments.ha, agent_namespaces=arguments.agent_namespaces
        )
        console.print("the stand-in for the hypervisor operator runs")
    else:
        hypervisor_operator.stop(the_lab)
        console.print("the stand-in for the hypervisor operator is stopped")


def _kubectl(the_lab: lab.Lab, *arguments: str) -> str:
    done = subprocess.run(
        [the_lab.bin / "kubectl", f"--kubeconfig={the_lab.kubeconfig}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise errors.LabError(done.stderr.strip())
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
