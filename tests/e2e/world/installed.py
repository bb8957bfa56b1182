# SPDX-License-Identifier: Apache-2.0
"""The operator as a cluster has it: the wheel in a pod of the chart's Deployment, with the chart's rights.

The lab's pods share the machine's network and see its root, so the pod runs the command of an environment on the
machine, on ports of its own. Several replicas have one address each, that of their node.
"""

from __future__ import annotations

import pathlib
import socket
from collections.abc import Sequence
from typing import Any

from chart import helm
from e2e.world import cluster, logs, rights, stand, waiting, wheel, writes

_START_SECONDS = 180.0
_END_SECONDS = 90.0
_HOSTNAME = "kubernetes.io/hostname"
_LABELS = {"app.kubernetes.io/name": "nova-compute-operator", "app.kubernetes.io/instance": helm.RELEASE}

#: What an operator makes for its own use, and Helm does not know: one that is new here needs the rights to make it.
_MADE_BY_ITSELF = {"Lease": "nova.openstack.c5c3.io", "Secret": f"{helm.FULLNAME}-webhook-cert"}


class InstalledOperator:
    """One release of the chart in one lab."""

    def __init__(self, the_stand: stand.Stand, *, poll_scale: float | None = None) -> None:
        self._stand = the_stand
        self._folder = the_stand.lab.root / "operator"
        self._folder.mkdir(exist_ok=True)
        self._chart = helm.Chart(helm.Helm.find(self._folder))
        self._poll_scale = poll_scale
        self._before: dict[pathlib.Path, int] = {}
        self._logs_before: set[pathlib.Path] = set()
        self._values: dict[str, Any] = {}

    def start(self, *, nodes: Sequence[str] = (), **values: Any) -> str:
        """Install the chart with these values over those that the lab asks for; returns what Helm says.

        With nodes it has as many replicas, one on each of them. Returns when the Deployment is available. Raises
        AssertionError when it does not come to that.
        """
        for kind, name in _MADE_BY_ITSELF.items():
            self._stand.cluster.delete(kind, name)
        log = self._stand.audit_log()
        self._before = {log: log.stat().st_size}
        self._logs_before |= set(self._logs())
        self._values = of_the_lab(self._folder, self._poll_scale)
        if nodes:
            self._values = side_by_side(self._values, nodes)
        self._values |= values
        return self._helm(
            *("install", helm.RELEASE, str(helm.CHART), "--values", self._chart.values(self._values)),
            *("--wait", "--timeout", f"{_START_SECONDS:.0f}s"),
        )

    def stop(self) -> None:
        """Uninstall it, and return when its pod is gone. The CRD stays, and with it the pools."""
        if self.runs:
            self._helm("uninstall", helm.RELEASE)
            waiting.wait_for("the operator's pods are gone", self.pods, lambda found: not found, seconds=_END_SECONDS)

    @property
    def runs(self) -> bool:
        return self._stand.cluster.get("Deployment", helm.FULLNAME) is not None

    def pods(self) -> list[cluster.Object]:
        return self._stand.cluster.all("Pod", labels=_LABELS)

    @property
    def command(self) -> list[str]:
        """The flags that the pod is started with."""
        container = self._stand.cluster.read("Deployment", helm.FULLNAME)["spec"]["template"]["spec"]["containers"][0]
        return [*container["command"], *container["args"]]

    # --- what it said

    @property
    def log(self) -> pathlib.Path:
        """The log of the newest container of its pods since it was installed; those of all are beside it."""
        logs = self._logs()
        assert logs, "no container of the operator has started yet"
        return logs[-1]

    def tail(self, lines: int = 40) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self._logs() else "(no log)"

    def lines(self, *, pod: str = "") -> list[dict[str, Any]]:
        """The log, or that of one pod, as data; a line that is none of the operator's own is left out."""
        return logs.lines(self._logs(pod))

    def passes(self, *, pod: str = "") -> list[dict[str, Any]]:
        """The log lines of the passes that ended, or of those of one pod, oldest first."""
        return logs.passes(self.lines(pod=pod))

    # --- its rights

    def granted(self) -> set[rights.Right]:
        """What the roles of the chart allow it."""
        return rights.granted(self._chart.rendered(**self._values).values())

    def used(self, *, pod: str = "") -> set[rights.Right]:
        """What it, or one pod of it, asked the API server for since it was installed, and got."""
        return rights.used(self.calls(pod=pod))

    def refused(self) -> list[str]:
        """The calls since it was installed that its rights did not allow: verb and address."""
        return rights.refused(self.calls())

    def calls(self, *, pod: str = "") -> list[rights.Entry]:
        """What the API server noted of its calls, or of those of one pod, since it was installed."""
        entries = writes.all_entries(self._stand, since=self._before)
        return rights.by(f"{helm.NAMESPACE}:{helm.FULLNAME}", entries, pod=pod)

    def _helm(self, *arguments: str) -> str:
        done = self._chart.helm.run(*arguments, "--namespace", helm.NAMESPACE, kubeconfig=self._stand.lab.kubeconfig)
        assert done.returncode == 0, f"helm {arguments[0]}: exit {done.returncode}\n{done.stderr}\n{self.tail()}"
        return done.stdout

    def _logs(self, pod: str = "") -> list[pathlib.Path]:
        pods = pod or f"{helm.FULLNAME}-*"
        found = (self._stand.lab.logs / "pods").glob(f"{helm.NAMESPACE}_{pods}/operator.*.log")
        return sorted(set(found) - self._logs_before, key=lambda path: path.stat().st_mtime)


def of_the_lab(folder: pathlib.Path, poll_scale: float | None) -> dict[str, Any]:
    """The values of the chart with which it runs in the lab, from a wheel that is built into the folder."""
    environment = {} if poll_scale is None else {"NOVA_COMPUTE_POLL_SCALE": str(poll_scale)}
    return {
        "command": [str(wheel.install(folder))],
        # Its pods share the ports of the machine.
        "replicas": 1,
        "metrics": {"port": _free_port()},
        "health": {"port": _free_port()},
        "webhook": {"port": _free_port()},
        "nodeSelector": {"lab.c5c3.io/role": "control"},
        # No name of a Service resolves on the machine.
        "openstack": {"reach": "proxy"},
        "extraEnv": [{"name": name, "value": value} for name, value in environment.items()],
    }


def side_by_side(values: dict[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """These values for a replica on each of the nodes, which listens at its pod's address alone.

    That is the address of its node: so the replicas meet on no port, though they share the machine.
    """
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    here = {"key": _HOSTNAME, "operator": "In", "values": list(nodes)}
    apart = {"topologyKey": _HOSTNAME, "labelSelector": {"matchLabels": _LABELS}}
    flags = {
        "metrics": "metrics-bind-address",
        "health": "health-probe-bind-address",
        "webhook": "webhook-bind-address",
    }
    return values | {
        "replicas": len(nodes),
        "nodeSelector": {},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        },
        "extraEnv": [*values["extraEnv"], address],
        "extraArgs": [f"--{flag}=$(POD_IP):{values[server]['port']}" for server, flag in flags.items()],
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
