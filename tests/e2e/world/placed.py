# SPDX-License-Identifier: Apache-2.0
"""The target cluster beside the lab: its nodes, what pools have there, and the trouble that it can be in."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import signal
from collections.abc import Iterator

import rich.console
import yaml
from e2e.world import cluster, rights, stand
from novalab import bringup, progress, targets
from novalab import lab as labs
from novalab.kubernetes import cluster as kubernetes_cluster
from novalab.kubernetes import control_plane

NAME = "edge"
NODE, OTHER_NODE = "edge-1", "edge-2"
OWNER_LABELS = ("openstack.c5c3.io/owner-kind", "openstack.c5c3.io/owner-name", "openstack.c5c3.io/owner-namespace")


class Target:
    """A target cluster that is up and registered, with the rights of `config/target-cluster` and no others."""

    def __init__(self, the_stand: stand.Stand, lab: labs.Lab) -> None:
        self.lab = lab
        self._stand = the_stand
        self._bytes_read = 0

    @property
    def name(self) -> str:
        """What it is registered as."""
        return self.lab.family

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its compute nodes, the last of which is the only one of its zone."""
        return self.lab.compute_nodes

    @functools.cached_property
    def cluster(self) -> cluster.Cluster:
        """The target cluster, as its administrator."""
        return cluster.Cluster(self.lab.kubeconfig)

    def register(self, **changes: str) -> None:
        """Write the registration anew; ``changes`` are keys of the Secret to set otherwise."""
        targets.register(self._stand.lab, self.lab, **changes)

    def withdraw(self) -> None:
        """Take the registration away."""
        targets.withdraw(self._stand.lab, self.lab)

    def forget(self) -> None:
        """Take away what it was given for the operator: the namespace of the pools, and the operator's account."""
        for namespace in (cluster.NAMESPACE, targets.ACCESS_NAMESPACE):
            targets.kubectl(self.lab, "delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s")

    def mirror_contract(self, nova: str = stand.NOVA) -> None:
        """Copy a Nova's compute contract there, as a ControlPlane does."""
        targets.mirror_contract(self._stand.lab, self.lab, nova)

    def place_nova(self) -> str:
        """Have a Nova there; returns its name."""
        return targets.place_nova(self._stand.lab, self.lab)

    def remove_nova(self) -> None:
        """Take away the Nova that was placed there, with the pods behind it."""
        targets.remove_nova(self._stand.lab, self.lab)

    def calls(self) -> list[rights.Entry]:
        """What its API server noted of the operator's calls since this was last asked."""
        with control_plane.audit_log(self.lab).open("rb") as file:
            file.seek(self._bytes_read)
            # A line that is being written now counts next time.
            lines, newline, _ = file.read().rpartition(b"\n")
        self._bytes_read += len(lines) + len(newline)
        account = f"{targets.ACCESS_NAMESPACE}:{targets.ACCOUNT}"
        return rights.by(account, [json.loads(line) for line in lines.splitlines()])

    def proxied(self) -> set[str]:
        """The verbs of the writes that the operator sent through the cluster's service proxy since the last call."""
        used = rights.used(self.calls())
        return {verb for _, resource, verb in used if resource == "services/proxy" and verb != "get"}

    @staticmethod
    def granted() -> set[rights.Right]:
        """What the manifests of `config/target-cluster` allow the operator there."""
        manifests = sorted(targets.RIGHTS.glob("*.yaml"))
        return rights.granted(item for path in manifests for item in yaml.safe_load_all(path.read_text()))

    def children(self, pool: str) -> list[str]:
        """What carries the pool's ownership labels, as ``Kind/name``, sorted."""
        labels = dict(zip(OWNER_LABELS, ("NovaCompute", pool, cluster.NAMESPACE), strict=True))
        return sorted(
            f"{kind}/{item['metadata']['name']}"
            for kind in ("ConfigMap", "DaemonSet", "Job", "Secret")
            for item in self.cluster.all(kind, labels=labels)
        )

    @contextlib.contextmanager
    def without(self, manifest: str) -> Iterator[None]:
        """Have it as if this manifest of the operator's rights had been left out."""
        targets.kubectl(self.lab, "delete", f"--filename={targets.RIGHTS / manifest}")
        try:
            yield
        finally:
            targets.grant(self.lab)

    @contextlib.contextmanager
    def without_rights_to(self, resource: str) -> Iterator[None]:
        """Have the rights to pools' namespaces without those to this resource."""
        documents = list(yaml.safe_load_all((targets.RIGHTS / "3-pools.yaml").read_text()))
        for document in documents:
            if "rules" in document:
                document["rules"] = [rule for rule in document["rules"] if resource not in rule["resources"]]
        targets.apply(self.lab, *documents)
        try:
            yield
        finally:
            targets.grant(self.lab)

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Have its API server take connections and answer none of them."""
        (process,) = [row.process for row in control_plane.status(self.lab) if row.what == "kube-apiserver"]
        os.kill(int(str(process)), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(int(str(process)), signal.SIGCONT)
            # Its controllers end when they cannot renew their Lease; a cluster that is back has them again.
            kubernetes_cluster.up(self.lab, progress.Board(rich.console.Console(quiet=True)).part(self.name))


@contextlib.contextmanager
def opened(the_stand: stand.Stand, log: pathlib.Path, *, name: str = NAME) -> Iterator[Target]:
    """The target cluster of the lab: the one that is there, else one that goes again."""
    lab = labs.find(targets.lab_name(the_stand.lab, name))
    with log.open("w") as file:
        board = progress.Board(rich.console.Console(file=file))
        found = targets.up(the_stand.lab, name, board)
        try:
            yield Target(the_stand, found)
        finally:
            if lab is None:
                Target(the_stand, found).withdraw()
                bringup.down(found, board.part(name))
