# SPDX-License-Identifier: Apache-2.0
"""The words and numbers that the NovaCompute specification fixes, each declared once.

Nothing here decides anything; the modules beside this one do. A name that appears in YAML, in Nova or in a
message is written here and nowhere else in Python.
"""

from __future__ import annotations

from typing import Final

API_VERSION: Final = "nova.openstack.c5c3.io/v1alpha1"
KIND: Final = "NovaCompute"

# Node phases ("Node phases").
PENDING: Final = "Pending"
ACTIVE: Final = "Active"
DRAINING: Final = "Draining"
RELEASING: Final = "Releasing"
CONFLICT: Final = "Conflict"
#: The phases in which the selector matches the node and its pod belongs there.
SELECTED_PHASES: Final = frozenset({PENDING, ACTIVE})
#: The phases of a node that is leaving.
LEAVING_PHASES: Final = frozenset({DRAINING, RELEASING})
#: A node is held by a pool in any phase but Conflict.
HELD_PHASES: Final = SELECTED_PHASES | LEAVING_PHASES

# Finalizers, labels, annotations.
DRAIN_FINALIZER: Final = "nova.openstack.c5c3.io/compute-drain"
#: Of a pool on a target cluster: nothing there is collected when the pool goes.
CHILDREN_FINALIZER: Final = "openstack.c5c3.io/remote-children"
MIRROR_LABEL: Final = "nova.openstack.c5c3.io/compute-config-mirror"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
CONFIG_BASE_LABEL: Final = "cobaltcore.c5c3.io/config-base"
COMPONENT: Final = "nova-compute"
#: The value of app.kubernetes.io/name on every child.
APPLICATION: Final = "novacompute"
MANAGED_BY: Final = "novacompute-operator"

# Nova ("Reaching Nova", "The aggregates", "The drain").
AGGREGATE_MARKER: Final = "c5c3.io:nova"
AGGREGATE_ZONE_KEY: Final = "availability_zone"
TENANT_FILTER_TESTS: Final = "tenant_filter_tests"

DEFAULT_IMAGE_REPOSITORY: Final = "ghcr.io/c5c3/nova-compute"
DEFAULT_SERVICE_USER: Final = {
    "username": "nova",
    "projectName": "service",
    "userDomainName": "Default",
    "projectDomainName": "Default",
}
#: Keys of the contract Secret without which no nova-compute starts, in the order a message names them.
CONTRACT_KEYS: Final = ("nova-compute.conf", "transport_url", "password")

# When the pool looks again, in seconds.
LOOK_AT_RELEASING: Final = 10.0
LOOK_AT_MAPPING: Final = 10.0
LOOK_AT_AGGREGATE: Final = 10.0
LOOK_AT_INPUT: Final = 15.0
LOOK_AT_DRAINING: Final = 30.0
LOOK_AFTER_FAILURE: Final = 30.0
LOOK_AT_SETTLED: Final = 60.0

# The host discovery Job, in seconds since it ended ("Reaching Nova").
DISCOVERY_REPLACED_AFTER: Final = 30.0
DISCOVERY_REMOVED_AFTER: Final = 300

#: How many nodes a message names before it counts the rest.
NAMED_AT_MOST: Final = 20
#: How many older ConfigMaps are kept beside the mounted one.
KEPT_CONFIGS: Final = 3


def leaving_reason(namespace: str, pool: str) -> str:
    """The reason Nova records on a service the pool disables ("The drain", step 1)."""
    return f"c5c3.io: leaving NovaCompute {namespace}/{pool}"
