# SPDX-License-Identifier: Apache-2.0
"""Which cluster the lab runs on, and the few things that both kinds share."""

from __future__ import annotations

import json
import pathlib
import subprocess

from novalab import errors, lab, progress, rows
from novalab.kubernetes import control_plane, foreign, programs


def up(the_lab: lab.Lab, tell: progress.Part) -> None:
    """Make a cluster answer at the lab's kubeconfig, with the lab's namespace in it. Raises LabError.

    In this order: the cluster of $KUBECONFIG; a control plane from programs that the user has; one that is built. What
    was chosen stays chosen until the lab goes down.
    """
    if not _record(the_lab).exists():
        _record(the_lab).write_text(json.dumps({"own": foreign.wanted() is None}))
    if is_own(the_lab):
        found = programs.find_or_build(tell)
        control_plane.up(the_lab, found, tell)
        kubectl = found["kubectl"]
    else:
        kubectl = foreign.adopt(the_lab, tell)
    link(the_lab, "kubectl", kubectl)
    _ensure_namespace(the_lab, kubectl)


def down(the_lab: lab.Lab) -> None:
    """End the lab's own control plane, or remove the lab's objects from the user's cluster. Raises LabError."""
    if is_own(the_lab):
        control_plane.down(the_lab)
    elif the_lab.kubeconfig.exists():
        foreign.remove_objects(the_lab)


def is_own(the_lab: lab.Lab) -> bool:
    """Whether the control plane is the lab's own, to be ended with it."""
    return not _record(the_lab).exists() or bool(json.loads(_record(the_lab).read_text())["own"])


def status(the_lab: lab.Lab) -> list[rows.Row]:
    if is_own(the_lab):
        return control_plane.status(the_lab)
    return [rows.Row(what="cluster of $KUBECONFIG", process="not the lab's", address="see the kubeconfig")]


def link(the_lab: lab.Lab, name: str, target: pathlib.Path) -> None:
    """Offer a command in the lab's bin folder."""
    path = the_lab.bin / name
    if not (path.is_symlink() and path.readlink() == target):
        path.unlink(missing_ok=True)
        path.symlink_to(target)


def _ensure_namespace(the_lab: lab.Lab, kubectl: pathlib.Path) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": lab.NAMESPACE,
            # nova-compute's pod is privileged.
            "labels": {lab.OWNED_LABEL: "true", "pod-security.kubernetes.io/enforce": "privileged"},
        },
    }
    done = subprocess.run(
        [
            kubectl,
            f"--kubeconfig={the_lab.kubeconfig}",
            "apply",
            "--server-side",
            "--field-manager=lab",
            "--filename=-",
        ],
        input=json.dumps(namespace),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise errors.LabError(f"cannot create namespace {lab.NAMESPACE}: {done.stderr.strip()}")


def _record(the_lab: lab.Lab) -> pathlib.Path:
    return the_lab.root / "cluster.json"
