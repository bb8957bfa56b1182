# SPDX-License-Identifier: Apache-2.0
"""The names by which the hypervisor operator, Kubernetes and OpenStack know things."""

from __future__ import annotations

VIRT_DRIVER = "nova.openstack.cloud.sap/virt-driver"
LIFECYCLE = "cobaltcore.cloud.sap/node-hypervisor-lifecycle"
SKIP_TESTS = "skip-tests"
AGGREGATES = "nova.openstack.cloud.sap/aggregates"
CUSTOM_TRAITS = "nova.openstack.cloud.sap/custom-traits"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
#: Copied from a Node to its Hypervisor when it has them, and never removed there.
COPIED_LABELS = (
    HOSTNAME,
    "topology.kubernetes.io/region",
    ZONE,
    "kubernetes.metal.cloud.sap/bb",
    "kubernetes.metal.cloud.sap/cluster",
    "kubernetes.metal.cloud.sap/name",
    "kubernetes.metal.cloud.sap/type",
    "worker.garden.sapcloud.io/group",
    "worker.gardener.cloud/pool",
)

TEST_AGGREGATE = "tenant_filter_tests"
CUSTOM = "CUSTOM_"
TAINT = "kvm.cloud.sap/offboarding"
NO_EXECUTE = "NoExecute"

TERMINATION = "termination"
#: The values of spec.maintenance that empty a host; ``ha`` leaves that to somebody else.
EVICTING_MAINTENANCE = ("manual", "auto", TERMINATION)


def short(hostname: str) -> str:
    """A host's name before its first dot."""
    return hostname.partition(".")[0]
