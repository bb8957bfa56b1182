# SPDX-License-Identifier: Apache-2.0
"""A cluster that the user brings with $KUBECONFIG. The lab touches only what carries its own label there."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

from novalab import errors, lab, progress

#: In the order in which they are removed: while the nodes are there, their agent lets deleted pods go.
_KINDS_TO_REMOVE = ("namespaces", "customresourcedefinitions", "clusterrolebindings", "clusterroles", "nodes")
_REMOVE_SECONDS = 120


def wanted() -> str | None:
    """The user's $KUBECONFIG, unless it is unset or names a lab: inside a lab's shell a second lab gets its own."""
    value = os.environ.get("KUBECONFIG")
    if not value:
        return None
    home = lab.state_home().resolve()
    files = [pathlib.Path(part).expanduser().resolve() for part in value.split(os.pathsep) if part]
    return None if any(file.is_relative_to(home) for file in files) else value


def adopt(the_lab: lab.Lab, tell: progress.Part) -> pathlib.Path:
    """Use the cluster of $KUBECONFIG; returns the path of kubectl. Raises LabError when that would hurt somebody."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise errors.LabError("KUBECONFIG is set but kubectl is missing: install it, or unset KUBECONFIG")
    tell("checking the cluster of $KUBECONFIG")
    if not the_lab.kubeconfig.exists():
        flat = _run([kubectl, "config", "view", "--minify", "--flatten", "--raw", "--output=json"])
        with open(os.open(the_lab.kubeconfig, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
            file.write(flat)
    try:
        _refuse_to_hurt(the_lab, kubectl)
    except errors.LabError:
        the_lab.kubeconfig.unlink()
        raise
    return pathlib.Path(kubectl)


def remove_objects(the_lab: lab.Lab) -> None:
    """Remove every object with the lab's label from the cluster. Raises LabError."""
    kubectl = shutil.which("kubectl") or str(the_lab.bin / "kubectl")
    for kind in _KINDS_TO_REMOVE:
        _kubectl(
            the_lab,
            kubectl,
            "delete",
            kind,
            f"--selector={lab.OWNED_LABEL}=true",
            "--ignore-not-found",
            f"--timeout={_REMOVE_SECONDS}s",
        )


def _refuse_to_hurt(the_lab: lab.Lab, kubectl: str) -> None:
    way_out = "Choose another cluster, or unset KUBECONFIG to get a control plane of the lab's own"
    nodes = [lab.CONTROL_NODE, *lab.COMPUTE_NODES]
    for kind, names in (("namespace", [lab.NAMESPACE]), ("node", nodes)):
        for name in names:
            found = _get(the_lab, kubectl, kind, name)
            if found is not None and (found["metadata"].get("labels") or {}).get(lab.OWNED_LABEL) != "true":
                raise errors.LabError(
                    f"the cluster of $KUBECONFIG has a {kind} {name} that is not the lab's "
                    f"(label {lab.OWNED_LABEL}=true is not on it). {way_out}"
                )


def _get(the_lab: lab.Lab, kubectl: str, kind: str, name: str) -> dict[str, Any] | None:
    text = _kubectl(the_lab, kubectl, "get", kind, name, "--ignore-not-found", "--output=json")
    return dict(json.loads(text)) if text.strip() else None


def _kubectl(the_lab: lab.Lab, kubectl: str, *arguments: str) -> str:
    return _run([kubectl, f"--kubeconfig={the_lab.kubeconfig}", *arguments])


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise errors.LabError(
            f"the cluster of $KUBECONFIG does not answer as it should: {done.stderr.strip()[-500:]}. "
            "Repair it, or unset KUBECONFIG to get a control plane of the lab's own"
        )
    return done.stdout
