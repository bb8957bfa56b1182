# SPDX-License-Identifier: Apache-2.0
"""Connections to target clusters, by their registration on the management cluster.

Where something goes is told by a *target*, `{cluster, registered_in, namespace}`: the name of the cluster, empty for
the management cluster itself, the namespace of its registration Secret, and the namespace of what goes there. It holds
no credential, so it may travel through a play; the Secret is read anew at each use, because it may be changed or
withdrawn at any time.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Final

from ansible_collections.c5c3.nova.plugins.module_utils import absent
from ansible_collections.c5c3.nova.plugins.module_utils.clients import api_server, errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration

try:
    import urllib3
except ImportError:
    urllib3 = absent.library("kubernetes")

KIND: Final = "TargetCluster"
"""The `kind` of the error of a cluster that does not resolve."""

PROBE_SECONDS: Final = 5.0


def cluster_at(management: kubernetes.Cluster, target: Mapping[str, str]) -> kubernetes.Cluster:
    """Return the cluster of a target; nothing is sent to it yet.

    Raises `errors.CallError` of the kind TargetCluster when its registration is missing or refused.
    """
    name = target["cluster"]
    if not name:
        return management
    # Without a namespace for registrations nothing is registered.
    secret = management.find("Secret", name, target["registered_in"]) if target["registered_in"] else None
    try:
        return _connected(registration.kubeconfig_of(secret, namespace=target["namespace"]), os.getpid())
    except registration.RefusedError as error:
        raise errors.CallError(
            system="kubernetes", call=f"Secret {target['registered_in']}/{name}", detail=error, kind=KIND
        ) from error


def reach(management: kubernetes.Cluster, target: Mapping[str, str]) -> kubernetes.Cluster:
    """Return the cluster of a target after it gave a sign of life.

    Any answer is one, also a refusal: what is wrong with the credentials or the rights shows at the call that needs
    them. Raises `errors.CallError` of the kind TargetCluster for no answer in five seconds, and for one that says
    that the API server itself is out of order (5xx).
    """
    cluster = cluster_at(management, target)
    if cluster is management:
        return cluster
    timeout = urllib3.Timeout(connect=PROBE_SECONDS, read=PROBE_SECONDS)
    try:
        answer = cluster.server.send("GET", "/version", headers={"Accept": "application/json"}, timeout=timeout)
    except errors.CallError as error:
        error.kind = KIND
        raise
    if answer.status >= 500:
        raise errors.CallError(
            system="kubernetes",
            call="GET /version",
            status=answer.status,
            detail=f"the API server {cluster.host} is out of order",
            kind=KIND,
        )
    return cluster


@functools.lru_cache(maxsize=16)
def _connected(kubeconfig: bytes, _pid: int) -> kubernetes.Cluster:
    """Return the process's one connection with these very credentials."""
    return kubernetes.Cluster(api_server.ApiServer.of(registration.credentials_of(kubeconfig)))
