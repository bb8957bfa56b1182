# SPDX-License-Identifier: Apache-2.0
"""The kinds of other people's operators that a pool may meet on a cluster. None of them is there until asked for.

They are stand-ins: the published names, fields, defaults and rules, as far as something in this tree needs them.
"""

from __future__ import annotations

import functools
import pathlib
import subprocess

from novalab import errors, lab
from novalab.openstack import cluster

_FOLDER = pathlib.Path(__file__).resolve().parents[1] / "crds"
#: The name of a set to the names of its CRDs.
SETS = {
    "hypervisors": ("hypervisors.kvm.cloud.sap", "evictions.kvm.cloud.sap"),
    "vpa": ("verticalpodautoscalers.autoscaling.k8s.io",),
}
_SECONDS = 60


def install(the_lab: lab.Lab, which: str) -> None:
    """Install the set and return when the API server serves it. Raises LabError."""
    _kubectl(the_lab, "apply", "--server-side", "--field-manager=lab", f"--filename={_FOLDER / which}.yaml")
    names = [f"customresourcedefinition/{name}" for name in SETS[which]]
    _kubectl(the_lab, "wait", "--for=condition=Established", f"--timeout={_SECONDS}s", *names)
    for name in SETS[which]:
        # A kind is established a moment before its objects can be asked for.
        cluster.wait(f"{name} is served", functools.partial(_is_served, the_lab, name), seconds=_SECONDS)


def remove(the_lab: lab.Lab, which: str) -> None:
    """Remove the set with every object of its kinds, and return when they are gone. Raises LabError."""
    names = SETS[which]
    _kubectl(the_lab, "delete", "customresourcedefinition", "--ignore-not-found", f"--timeout={_SECONDS}s", *names)


def are_installed(the_lab: lab.Lab, which: str) -> bool:
    """Whether every kind of the set is on the cluster. Raises LabError."""
    names = SETS[which]
    found = _kubectl(the_lab, "get", "customresourcedefinition", "--ignore-not-found", "--output=name", *names)
    return len(found.split()) == len(names)


def _is_served(the_lab: lab.Lab, name: str) -> bool:
    try:
        _kubectl(the_lab, "get", name, "--all-namespaces", "--output=name")
    except errors.LabError:
        return False
    return True


def _kubectl(the_lab: lab.Lab, *arguments: str) -> str:
    done = subprocess.run(
        [the_lab.bin / "kubectl", f"--kubeconfig={the_lab.kubeconfig}", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise errors.LabError(done.stderr.strip())
    return done.stdout
