# SPDX-License-Identifier: Apache-2.0
"""The nodes of the lab from outside: the agent's process, nodes that go and come back, pods whose processes die."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import sys
import time
from collections.abc import Mapping

from novalab import errors, lab, network, ovsdb, processes, rows

_LAB_FOLDER = pathlib.Path(__file__).resolve().parents[1]
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POOL_LABEL = "openstack.c5c3.io/nova-compute-pool"
_ZONE_LABEL = "topology.kubernetes.io/zone"
_ZONE, _ZONE_OF_THE_LAST = "az1", "az2"


def names(the_lab: lab.Lab) -> list[str]:
    """The lab's nodes: the first ones, and those that were added since."""
    first = [lab.CONTROL_NODE, *the_lab.compute_nodes]
    if not _config(the_lab).exists():
        return first
    described = json.loads(_config(the_lab).read_text())["nodes"]
    return [*first, *(node["name"] for node in described if node["name"] not in first)]


def labels(the_lab: lab.Lab, node: str) -> dict[str, str]:
    """The labels that a node registers with. A node beyond the first ones is in no pool.

    The last of the first ones is alone in its zone, so that what a zone needs comes and goes with it.
    """
    if node == lab.CONTROL_NODE:
        return {"lab.c5c3.io/role": "control"}
    zone = {_ZONE_LABEL: _ZONE_OF_THE_LAST if node == the_lab.compute_nodes[-1] else _ZONE}
    return {**zone, _POOL_LABEL: "a"} if node in the_lab.compute_nodes else zone


def up(the_lab: lab.Lab, *, image_paths: list[pathlib.Path], only_owned_namespaces: bool) -> None:
    """Start the agent and return when all nodes are registered. Raises LabError."""
    agent = _agent(the_lab)
    if agent.pid is not None:
        return
    described = [_description(the_lab, name) for name in names(the_lab)]
    config = _config(the_lab)
    config.write_text(
        json.dumps(
            {
                "root": str(the_lab.root),
                "kubeconfig": str(the_lab.kubeconfig),
                "socket": str(_socket(the_lab)),
                "image_paths": [str(path) for path in image_paths],
                "only_owned_namespaces": only_owned_namespaces,
                "nodes": described,
            }
        )
    )
    _socket(the_lab).unlink(missing_ok=True)
    # Mounts of the agent and of its pods stay in a namespace of their own, and are gone with its last process.
    agent.start(
        ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", "novalab.agent", str(config)],
        root=the_lab.root,
        environment={"PYTHONPATH": str(_LAB_FOLDER), "PYTHONSAFEPATH": "1"},
    )
    deadline = time.monotonic() + _START_SECONDS
    while not _socket(the_lab).exists():
        agent.expect_alive()
        if time.monotonic() > deadline:
            raise errors.LabError("the node agent does not get its nodes registered", log=agent.log)
        time.sleep(0.02)


def down(the_lab: lab.Lab) -> None:
    """End the agent, and with it every process of a pod."""
    _agent(the_lab).stop(grace=_STOP_SECONDS)


def kill_agent(the_lab: lab.Lab) -> None:
    """End the agent as a crash would: the kernel ends every process of its pods."""
    if (pid := _agent(the_lab).pid) is not None:
        os.kill(pid, signal.SIGKILL)
        processes.end(pid, grace=0)


def status(the_lab: lab.Lab) -> list[rows.Row]:
    agent = _agent(the_lab)
    return [rows.Row(what="node agent", process=agent.pid, address=f"unix:{_socket(the_lab)}", log=agent.log)]


def add(the_lab: lab.Lab, node: str) -> None:
    """Register the node again after its object was deleted, or add one more. Raises LabError."""
    try:
        network.add([the_lab.node_address(node)])
    except ValueError as error:
        raise errors.LabError(str(error)) from error
    if node != lab.CONTROL_NODE:
        ovsdb.up(the_lab, node)
    answer = _ask(the_lab, {"add": _description(the_lab, node)})
    if "error" in answer:
        raise errors.LabError(f"node {node}: {answer['error']}", log=_agent(the_lab).log)
    if node not in names(the_lab):
        config = json.loads(_config(the_lab).read_text())
        config["nodes"].append(_description(the_lab, node))
        _config(the_lab).write_text(json.dumps(config))


def _description(the_lab: lab.Lab, node: str) -> dict[str, object]:
    return {"name": node, "address": the_lab.node_address(node), "labels": labels(the_lab, node)}


def _ask(the_lab: lab.Lab, request: Mapping[str, object]) -> dict[str, str]:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(_socket(the_lab)))
        except OSError as error:
            raise errors.LabError("the node agent does not run: start it with 'lab/lab.py up'") from error
        with client.makefile("rwb") as stream:
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            return dict(json.loads(stream.readline()))


def _config(the_lab: lab.Lab) -> pathlib.Path:
    return the_lab.root / "agent.json"


def _socket(the_lab: lab.Lab) -> pathlib.Path:
    return the_lab.pids / "agent.sock"


def _agent(the_lab: lab.Lab) -> processes.Daemon:
    return processes.Daemon(name="the node agent", record=the_lab.pids / "agent.json", log=the_lab.logs / "agent.log")
