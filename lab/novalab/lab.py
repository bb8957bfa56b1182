# SPDX-License-Identifier: Apache-2.0
"""What one lab is: its name, its folder, its addresses and its ports.

Everything else in this package takes a :class:`Lab` and asks it, so that two labs on one machine never meet.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import ipaddress
import json
import os
import pathlib
import re
import socket
from collections.abc import Iterator

from novalab import errors

#: 198.51.100.0/24 (TEST-NET-2) is documentation space: it collides with nobody's network.
_NETWORK = ipaddress.ip_network("198.51.100.0/24")
#: Addresses a lab takes: the control node and up to 14 compute nodes.
_ADDRESSES_PER_LAB = 16
_SLOTS = 15
#: Ports a lab takes on 127.0.0.1, for the programs that do not run as pods. They lie below the ports that the
#: kernel hands out by itself.
_PORTS_PER_LAB = 40
_FIRST_PORT = 23000

#: The namespace of everything the operator reads, as in the spec's example.
NAMESPACE = "openstack"
#: On a target cluster the namespace of the account that the operator has there.
ACCESS_NAMESPACE = "c5c3-access"
CONTROL_NODE = "control"
COMPUTE_NODES = ("compute-1", "compute-2", "compute-3")
#: How many compute nodes a target cluster has; they are called after it, as `edge-1`.
_NODES_OF_A_TARGET = 2
#: On every object that the lab made; nothing else is ever removed from a cluster that is not the lab's own.
OWNED_LABEL = "lab.c5c3.io/owned"

_PORT_NAMES = (
    "postgresql",
    "amqp",
    "amqp_dist",
    "epmd",
    "glance",
    "neutron",
    "kube_apiserver",
    "etcd",
    "etcd_peer",
    "kube_controller_manager",
    "kube_scheduler",
    "kwok_controller",
)

#: Paths of unix sockets end up below the lab's folder, and the kernel takes 107 bytes of them.
_LONGEST_ROOT = 50
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")
_COMPUTE_NODE = re.compile(r"([a-z]+)-([1-9]|1[0-4])")
_COMPUTE = "compute"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lab:
    """One lab. ``slot`` (0 to 14) decides its ports and addresses; ``root`` holds every file it makes.

    A target cluster is a lab too, of Kubernetes alone. Its compute nodes are called after it: in one Nova no two hosts
    may have one name. ``family`` is what comes before their number.
    """

    name: str
    root: pathlib.Path
    slot: int
    family: str = _COMPUTE

    @property
    def compute_nodes(self) -> tuple[str, ...]:
        """The compute nodes that the lab has from the start."""
        return first_nodes(self.family)

    def port(self, name: str) -> int:
        """The TCP port on 127.0.0.1 of the program ``name``."""
        return _FIRST_PORT + self.slot * _PORTS_PER_LAB + _PORT_NAMES.index(name)

    def node_address(self, node: str) -> str:
        """The address of a node: services that run as pods of that node listen on it.

        Raises ValueError for a name that is neither ``control`` nor the family's with a number from 1 to 14.
        """
        if node == CONTROL_NODE:
            offset = 0
        elif (match := _COMPUTE_NODE.fullmatch(node)) is not None and match[1] == self.family:
            offset = int(match[2])
        else:
            raise ValueError(f"{node} is no node of a lab: use {CONTROL_NODE} or {self.family}-1 to {self.family}-14")
        return str(_NETWORK[1 + self.slot * _ADDRESSES_PER_LAB + offset])

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.root / "kubeconfig"

    @property
    def logs(self) -> pathlib.Path:
        return self.root / "logs"

    @property
    def pids(self) -> pathlib.Path:
        return self.root / "run"

    @property
    def bin(self) -> pathlib.Path:
        """The commands for a person, kubectl and openstack, and nothing that would hide one of their own."""
        return self.root / "bin"

    def node_root(self, node: str) -> pathlib.Path:
        """What pods of a node see as the host's file system, below hostPath volumes."""
        return self.root / "nodes" / node

    def save(self) -> None:
        """Record the lab, so that a later command finds it again."""
        for folder in (self.root, self.logs, self.pids, self.bin):
            folder.mkdir(parents=True, exist_ok=True)
        # Keys, passwords and database files lie below it, and pods get a root of their own anyway.
        self.root.chmod(0o711)
        (self.root / "lab.json").write_text(json.dumps({"name": self.name, "slot": self.slot, "family": self.family}))

    def busy_ports(self) -> dict[str, int]:
        """The ports of this lab that some program listens on now, by the name of the program they are for."""
        return {name: self.port(name) for name in _PORT_NAMES if not port_is_free(self.port(name))}


def first_nodes(family: str = _COMPUTE) -> tuple[str, ...]:
    """The compute nodes that a lab of that family has from the start."""
    if family == _COMPUTE:
        return COMPUTE_NODES
    return tuple(f"{family}-{number}" for number in range(1, _NODES_OF_A_TARGET + 1))


def address_is_here(address: str) -> bool:
    """Whether this machine has the address now."""
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Without it a port whose last connection just ended would count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def state_home() -> pathlib.Path:
    """Where labs live. Short on purpose: unix socket paths below it may not pass 107 bytes."""
    return pathlib.Path(os.environ.get("LAB_STATE") or f"/var/tmp/novalab-{os.getuid()}")


def cache_home() -> pathlib.Path:
    """Where built programs and environments are kept between labs; safe to delete."""
    base = os.environ.get("LAB_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return pathlib.Path(base).expanduser() / ("" if os.environ.get("LAB_CACHE") else "novalab")


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Only one process at a time holds ``path``; the others wait."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it before may have removed the file: then another one counts by now.
            if path.exists() and path.samefile(f"/proc/self/fd/{file.fileno()}"):
                yield
                return


def known() -> list[Lab]:
    """Every lab of this user, by name."""
    return [lab for path in sorted(state_home().glob("*/lab.json")) if (lab := find(path.parent.name)) is not None]


def find(name: str) -> Lab | None:
    """The lab of that name if it was made before, else None."""
    record = state_home() / name / "lab.json"
    if not record.exists():
        return None
    return Lab(root=record.parent, **json.loads(record.read_text()))


def create(name: str, family: str = _COMPUTE) -> Lab:
    """The lab of that name, in the first free slot whose ports are free too if it is new.

    Raises LabError for a name that cannot be used, or when no slot is free.
    """
    if _NAME.fullmatch(name) is None:
        raise errors.LabError(f"{name!r} cannot name a lab: use up to 20 lower-case letters, digits and dashes")
    root = state_home() / name
    if len(str(root)) > _LONGEST_ROOT:
        raise errors.LabError(f"{root} is too long for the sockets below it: set LAB_STATE to a shorter folder")
    with locked(state_home() / "slots.lock"):
        if (lab := find(name)) is not None:
            return lab
        taken = {lab.slot for lab in known()}
        for slot in range(_SLOTS):
            lab = Lab(name=name, root=root, slot=slot, family=family)
            # Labs of other users, or of another LAB_STATE, show only by what they take.
            if slot not in taken and not lab.busy_ports() and not address_is_here(lab.node_address(CONTROL_NODE)):
                lab.save()
                return lab
    last = _FIRST_PORT + _SLOTS * _PORTS_PER_LAB - 1
    raise errors.LabError(
        f"no room for another lab: of ports {_FIRST_PORT} to {last} and addresses {_NETWORK}, each slot has some "
        "that are taken. End a lab with 'lab/lab.py down --name NAME', or free some of these ports"
    )
