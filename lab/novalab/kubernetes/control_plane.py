# SPDX-License-Identifier: Apache-2.0
"""The lab's own control plane: etcd, API server, controller manager, scheduler and kwok, launched by kwokctl.

kwok looks only after the nodes annotated ``kwok.x-k8s.io/node=fake``; the others are left to the node agent.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

from novalab import errors, lab, processes, progress, rows

#: Node monitoring that notices a dead agent in two minutes instead of five, and never a busy one: it would take the
#: node's pods for unready. kwokctl multiplies both by five.
_OPTIONS = {
    "kubeControllerManagerNodeMonitorPeriodMilliseconds": 1000,
    "kubeControllerManagerNodeMonitorGracePeriodMilliseconds": 24000,
}
#: One line for each write, with its user agent: it shows who changed something, and that nobody did. Of the service
#: accounts of the lab's namespace, and of the one that a target cluster gives the operator, every call: it shows which
#: rights an operator uses, and which it lacks.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "userGroups": [f"system:serviceaccounts:{name}" for name in (lab.NAMESPACE, lab.ACCESS_NAMESPACE)],
        },
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "None", "resources": [{"group": "coordination.k8s.io"}, {"group": "", "resources": ["events"]}]},
        {"level": "Metadata"},
    ],
}
_COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller")
_PORTS = {
    "etcd": "etcd",
    "kube-apiserver": "kube_apiserver",
    "kube-controller-manager": "kube_controller_manager",
    "kube-scheduler": "kube_scheduler",
    "kwok-controller": "kwok_controller",
}


def up(the_lab: lab.Lab, programs: dict[str, pathlib.Path], tell: progress.Part) -> None:
    """Start what does not run yet and return when the API server answers as ready. Raises LabError."""
    if all(_pid(the_lab, name) for name in _COMPONENTS):
        return
    log = the_lab.logs / "kwokctl.log"
    if _folder(the_lab).joinpath("kwok.yaml").exists() and the_lab.kubeconfig.exists():
        tell("restarting the control plane")
        _start_again(the_lab, programs, log)
        return
    if busy := {name: port for name, port in the_lab.busy_ports().items() if name in _PORTS.values()}:
        raise errors.LabError(
            f"ports of lab {the_lab.name} are taken: "
            + ", ".join(f"{port} ({name})" for name, port in busy.items())
            + f". Stop what listens there ('ss -ltnp'), or give the slot up: lab/lab.py down --name {the_lab.name}"
        )
    tell("starting etcd, API server, controller manager, scheduler")
    config = the_lab.root / "kwokctl.json"
    options = {**_OPTIONS, "etcdPeerPort": the_lab.port("etcd_peer")}
    config.write_text(
        json.dumps({"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokctlConfiguration", "options": options})
    )
    policy = the_lab.root / "audit-policy.json"
    policy.write_text(json.dumps(_AUDIT_POLICY))
    _kwokctl(
        the_lab,
        programs,
        "create",
        "cluster",
        "--runtime=binary",
        f"--config={config}",
        f"--kubeconfig={the_lab.kubeconfig}",
        "--kube-authorization=true",
        "--kube-admission=true",
        f"--kube-audit-policy={policy}",
        f"--etcd-port={the_lab.port('etcd')}",
        f"--kube-apiserver-port={the_lab.port('kube_apiserver')}",
        f"--kube-controller-manager-port={the_lab.port('kube_controller_manager')}",
        f"--kube-scheduler-port={the_lab.port('kube_scheduler')}",
        f"--controller-port={the_lab.port('kwok_controller')}",
        *(f"--{name}-binary={programs[name]}" for name in ("etcd", "kube-apiserver", "kube-scheduler")),
        f"--kube-controller-manager-binary={programs['kube-controller-manager']}",
        f"--kwok-controller-binary={programs['kwok']}",
        # kwokctl takes the place of a component's first flag for its number: all of these come before any second one.
        # A later value wins over kwokctl's own --manage-all-nodes=true.
        "--extra-args=kwok-controller=manage-all-nodes=false",
        # No proxy makes the addresses of Services lead anywhere, so that webhooks are called at those of their pods.
        "--extra-args=kube-apiserver=enable-aggregator-routing=true",
        "--extra-args=kwok-controller=manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        # Names of nodes resolve nowhere; 'kubectl logs' goes by their addresses.
        "--extra-args=kube-apiserver=kubelet-preferred-address-types=InternalIP",
        # There is one of each; on a busy machine they would give the lead up, and end.
        "--extra-args=kube-controller-manager=leader-elect=false",
        "--extra-args=kube-scheduler=leader-elect=false",
        "--wait=180s",
        log=log,
    )
    the_lab.kubeconfig.chmod(0o600)
    # A controller manager ends when the API server is not healthy within ten seconds of its start.
    if not all(_pid(the_lab, name) for name in _COMPONENTS):
        _start_again(the_lab, programs, log)


def _start_again(the_lab: lab.Lab, programs: dict[str, pathlib.Path], log: pathlib.Path) -> None:
    """Start what has ended of a control plane that was made."""
    for name in _COMPONENTS:
        if _pid(the_lab, name) is None:
            # kwokctl takes a process that has ended but was not reaped for a living one.
            (_folder(the_lab) / "pids" / f"{name}.pid").unlink(missing_ok=True)
    _kwokctl(the_lab, programs, "start", "cluster", log=log)


def down(the_lab: lab.Lab) -> None:
    """End the control plane at once: its data goes with the lab's folder, so nothing has to be put in order."""
    for name in reversed(_COMPONENTS):
        if (pid := _pid(the_lab, name)) is not None:
            processes.end(pid, grace=0)


def status(the_lab: lab.Lab) -> list[rows.Row]:
    """What runs, in the order in which it is started."""
    return [
        rows.Row(
            what=name,
            process=_pid(the_lab, name),
            address=f"127.0.0.1:{the_lab.port(_PORTS[name])}",
            log=_folder(the_lab) / "logs" / f"{name}.log",
        )
        for name in _COMPONENTS
    ]


def audit_log(the_lab: lab.Lab) -> pathlib.Path:
    """Every write that the API server answered, one JSON object a line."""
    return _folder(the_lab) / "logs" / "audit.log"


def _folder(the_lab: lab.Lab) -> pathlib.Path:
    return the_lab.root / "kwok" / "clusters" / the_lab.name


def _pid(the_lab: lab.Lab, component: str) -> int | None:
    try:
        pid = int((_folder(the_lab) / "pids" / f"{component}.pid").read_text())
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    # The pid may have become another program's.
    return pid if f"{_folder(the_lab)}/".encode() in words else None


def _kwokctl(the_lab: lab.Lab, programs: dict[str, pathlib.Path], *arguments: str, log: pathlib.Path) -> None:
    environment = processes.clean_environment(the_lab.root, {"KWOK_WORKDIR": str(the_lab.root / "kwok")})
    # kwokctl merges the new cluster into this file too, if it is set.
    environment.pop("KUBECONFIG", None)
    environment["PATH"] = f"{programs['kubectl'].parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    with log.open("ab") as file:
        done = subprocess.run(
            [programs["kwokctl"], *arguments, f"--name={the_lab.name}"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=environment,
            check=False,
        )
    if done.returncode:
        raise errors.LabError(f"kwokctl {' '.join(arguments[:2])} failed", log=log)
