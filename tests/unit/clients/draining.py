# SPDX-License-Identifier: Apache-2.0
"""A node that leaves pool-a, as its API server tells it: a test refuses one call, and every other is answered."""

from __future__ import annotations

from typing import Any, Final

from unit.clients import answering

NODE: Final = "compute-1"
PODS: Final = "/api/v1/namespaces/openstack/pods"
SECRET: Final = "/api/v1/namespaces/openstack/secrets/nova-service-user"
NOVA: Final = "/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/openstack/novas/nova"
KVM: Final = "/apis/kvm.cloud.sap/v1"

HERE: Final = frozenset({PODS, f"/api/v1/nodes/{NODE}", KVM})
"""What is read of a node on the cluster where its pool has its pods."""


def nova(**spec: Any) -> dict[str, Any]:
    """A Nova that is installed."""
    user = {"secretRef": {"name": SECRET.rpartition("/")[2]}}
    return {
        "metadata": {"name": "nova", "namespace": "openstack", "uid": "u1"},
        "spec": {"keystoneEndpoint": "http://keystone.openstack.svc:5000/v3", "serviceUser": user, **spec},
        "status": {"installedRelease": "2026.1", "computeConfigSecretRef": {"name": "nova-compute-config"}},
    }


def answers() -> dict[str, answering.Reply]:
    """By path: the Node is there, no pod is left on it, and no hypervisor operator is installed; no Secret is here."""
    return {
        NOVA: answering.Reply(body=nova()),
        PODS: answering.Reply(body={"metadata": {}, "items": []}),
        f"/api/v1/nodes/{NODE}": answering.Reply(body={"metadata": {"name": NODE}}),
        KVM: answering.Reply(status=404, body={"kind": "Status", "reason": "NotFound"}),
    }
