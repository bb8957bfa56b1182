# SPDX-License-Identifier: Apache-2.0
"""Who a container runs as and what it may do, from the security contexts of its pod and its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from novalab.agent import environment

#: What container runtimes grant unless told otherwise.
DEFAULT_CAPABILITIES = frozenset(
    [
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "SETGID",
        "SETUID",
        "SETPCAP",
        "NET_BIND_SERVICE",
        "NET_RAW",
        "SYS_CHROOT",
        "MKNOD",
        "AUDIT_WRITE",
        "SETFCAP",
    ]
)


def capabilities(context: Mapping[str, Any], every: frozenset[str]) -> frozenset[str]:
    """The capabilities of a container that is not privileged: the defaults, minus drop, plus add."""
    asked = context.get("capabilities") or {}
    drop = {_bare(name) for name in asked.get("drop") or []}
    add = {_bare(name) for name in asked.get("add") or []}
    kept = frozenset() if "ALL" in drop else DEFAULT_CAPABILITIES - drop
    return (kept | (every if "ALL" in add else add)) & every


def describe(pod_spec: Mapping[str, Any], container: Mapping[str, Any], every: frozenset[str]) -> dict[str, Any]:
    """The ``security`` part of the starter's description. Raises ConfigError if runAsNonRoot meets user 0."""
    of_pod = pod_spec.get("securityContext") or {}
    own = container.get("securityContext") or {}
    merged = {**of_pod, **own}
    uid = int(merged.get("runAsUser") or 0)
    if merged.get("runAsNonRoot") and uid == 0:
        raise environment.ConfigError("container has runAsNonRoot and image will run as root")
    groups = [*([of_pod["fsGroup"]] if of_pod.get("fsGroup") else []), *(of_pod.get("supplementalGroups") or [])]
    return {
        "privileged": bool(own.get("privileged")),
        "capabilities": sorted(capabilities(own, every)),
        "uid": uid,
        "gid": int(merged.get("runAsGroup") or 0),
        "groups": groups,
        "no_new_privileges": own.get("allowPrivilegeEscalation") is False,
        "read_only_root": bool(own.get("readOnlyRootFilesystem")),
    }


def _bare(name: str) -> str:
    return name.upper().removeprefix("CAP_")
