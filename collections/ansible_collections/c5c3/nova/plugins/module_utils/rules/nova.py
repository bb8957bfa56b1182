# SPDX-License-Identifier: Apache-2.0
"""What a pool needs to know of its Nova, and when it knows enough ("NovaReady")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, target_clusters, vocabulary


def resolve(nova: Mapping[str, Any], clusters_namespace: str) -> dict[str, Any]:
    """The Nova as plain data, defaults filled in; nothing of it is secret.

    Keys: namespace, name, uid, keystone_endpoint, region, compute_endpoint, placement_override, username, project_name,
    user_domain_name, project_domain_name, secret {name, key}, installed_release, contract_secret,
    target {cluster, registered_in, namespace}.
    """
    metadata, spec, status = nova["metadata"], nova["spec"], nova.get("status", {})
    user = {**vocabulary.DEFAULT_SERVICE_USER, **(spec.get("serviceUser") or {})}
    secret = user.get("secretRef") or {}
    placement = (spec.get("endpoints") or {}).get("placement") or {}
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "keystone_endpoint": spec["keystoneEndpoint"],
        "region": spec.get("region") or "",
        "compute_endpoint": f"http://{metadata['name']}.{metadata['namespace']}.svc.cluster.local:8774/v2.1",
        "placement_override": placement.get("override") or "",
        "username": user["username"],
        "project_name": user["projectName"],
        "user_domain_name": user["userDomainName"],
        "project_domain_name": user["projectDomainName"],
        "secret": {"name": secret.get("name") or "", "key": secret.get("key") or "password"},
        "installed_release": status.get("installedRelease") or "",
        "contract_secret": (status.get("computeConfigSecretRef") or {}).get("name") or "",
        "target": target_clusters.target(nova, clusters_namespace),
    }


def judge(name: str, resolved: Mapping[str, Any] | None, *, has_password: bool = False) -> dict[str, Any]:
    """The NovaReady outcome; ``resolved`` is None when no such Nova exists.

    ``has_password`` says whether the service user's Secret holds a password; it is asked last.
    """
    if resolved is None:
        return conditions.outcome(conditions.NOVA, "NovaNotFound", f"Nova {name} does not exist in the namespace")
    if not resolved["installed_release"]:
        return conditions.outcome(
            conditions.NOVA, "WaitingForInstalledRelease", f"Nova {name} has not installed a release yet"
        )
    if not resolved["contract_secret"]:
        return conditions.outcome(
            conditions.NOVA,
            "ComputeConfigNotPublished",
            f"Nova {name} has not published status.computeConfigSecretRef yet",
        )
    if not has_password:
        secret = resolved["secret"]
        return conditions.outcome(
            conditions.NOVA,
            "WaitingForServiceUserSecret",
            f"Secret {secret['name'] or '(none named)'} holds no {secret['key']} for the service user of Nova {name}",
        )
    return conditions.outcome(
        conditions.NOVA, "NovaResolved", f"Nova {name} has installed release {resolved['installed_release']}"
    )
