# SPDX-License-Identifier: Apache-2.0
"""The image in a container: how little it is given, and how its user gets the kubeconfig of a lab."""

from __future__ import annotations

import os
import pathlib

from e2e.world import stand

USER = 65532
KUBECONFIG = "operator.kubeconfig"
#: A root that nobody can write to, no capability, and no way to gain one.
HARDENED = (
    *("--read-only", f"--user={USER}:{USER}", "--tmpfs=/tmp"),
    *("--cap-drop=ALL", "--security-opt=no-new-privileges"),
)


def kubeconfig(the_stand: stand.Stand, folder: pathlib.Path) -> pathlib.Path:
    """The lab's kubeconfig as a file in the folder that only the image's user can read."""
    text = the_stand.output("kubectl", "config", "view", "--raw", "--flatten")
    path = folder / KUBECONFIG
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
    path.chmod(0o400)
    os.chown(path, USER, USER)
    return path


def with_kubeconfig(path: pathlib.Path) -> tuple[str, ...]:
    """The words of ``docker run`` that give a container that file."""
    return f"--volume={path}:/kubeconfig:ro", "--env=KUBECONFIG=/kubeconfig"
