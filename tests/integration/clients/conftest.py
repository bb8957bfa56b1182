# SPDX-License-Identifier: Apache-2.0
"""The clients, connected to the real thing: a cluster, the Nova in it, and a nova-compute of this test."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import nova as nova_rules

NODE_LABEL = "openstack.c5c3.io/nova-compute-pool"
_SECTIONS = ("KEYSTONE_AUTHTOKEN", "SERVICE_USER", "PLACEMENT", "NEUTRON", "CINDER")


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Return once it holds; fail with what was waited for after the deadline."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {seconds:.0f} s", pytrace=False)
        time.sleep(0.25)


@pytest.fixture(scope="session")
def cluster(kubeconfig: str) -> kubernetes.Cluster:
    return kubernetes.Cluster.connect(kubeconfig)


@pytest.fixture(scope="session")
def reference(cluster: kubernetes.Cluster) -> dict[str, Any]:
    """The resolved reference to the Nova of the lab."""
    novas = cluster.list("Nova")
    assert novas, "the cluster holds no Nova: `make lab` brings one up"
    return nova_rules.resolve(novas[0], "c5c3-clusters")


@pytest.fixture(scope="session")
def nova(cluster: kubernetes.Cluster, reference: dict[str, Any]) -> nova_client.Nova:
    return nova_client.open_nova_from_cluster(cluster, reference)


@pytest.fixture(scope="session")
def compute(cluster: kubernetes.Cluster, reference: dict[str, Any], nova: nova_client.Nova) -> Iterator[str]:
    """The host of a nova-compute that runs for these tests only, its service up and its host not mapped."""
    host = f"clients-{uuid.uuid4().hex[:8]}"
    cluster.create(_pod(cluster, reference, host))

    def reported() -> bool:
        # The row comes first, then the queue, then the reports: only these say that a call to the host is answered.
        rows = nova._list("/os-services", "services", nova_client.SERVICES_MICROVERSION, {"host": host})
        return any(row["state"] == "up" and row["updated_at"] for row in rows)

    try:
        wait_until(reported, f"the compute service of {host} reports")
        yield host
    finally:
        stop(cluster, reference, host)
        for row in nova.list_services():
            if row["host"] == host:
                nova.delete_service(row["id"])


def stop(cluster: kubernetes.Cluster, reference: dict[str, Any], host: str) -> None:
    """End the nova-compute of a host, and return when its pod is gone."""
    with contextlib.suppress(LookupError):
        cluster.delete("Pod", host, reference["namespace"])
    wait_until(lambda: cluster.find("Pod", host, reference["namespace"]) is None, f"the pod {host} is gone")


def _pod(cluster: kubernetes.Cluster, reference: dict[str, Any], host: str) -> dict[str, Any]:
    """A nova-compute with the fake driver and with nothing of its node's but the network."""
    contract = reference["contract_secret"]
    node = cluster.list("Node", labels={NODE_LABEL: "a"})[0]["metadata"]["name"]
    environment: list[dict[str, Any]] = [
        {"name": "OS_DEFAULT__HOST", "value": host},
        {"name": "OS_DEFAULT__COMPUTE_DRIVER", "value": "fake.FakeDriverWithoutFakeNodes"},
        {"name": "OS_DEFAULT__STATE_PATH", "value": "/var/lib/nova"},
        {"name": "OS_OSLO_CONCURRENCY__LOCK_PATH", "value": "/var/lib/nova/tmp"},
        {
            "name": "OS_DEFAULT__TRANSPORT_URL",
            "valueFrom": {"secretKeyRef": {"name": contract, "key": "transport_url"}},
        },
        *(
            {"name": f"OS_{section}__PASSWORD", "valueFrom": {"secretKeyRef": {"name": contract, "key": "password"}}}
            for section in _SECTIONS
        ),
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": host, "namespace": reference["namespace"]},
        "spec": {
            "nodeName": node,
            "hostNetwork": True,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 5,
            "containers": [
                {
                    "name": "nova-compute",
                    "image": f"ghcr.io/c5c3/nova-compute:{reference['installed_release']}",
                    "command": ["nova-compute", "--config-file", "/etc/nova/compute-config/nova-compute.conf"],
                    "env": environment,
                    "securityContext": {"privileged": True, "runAsUser": 0},
                    "volumeMounts": [
                        {"name": "compute-config", "mountPath": "/etc/nova/compute-config", "readOnly": True},
                        {"name": "state", "mountPath": "/var/lib/nova"},
                        {"name": "tmp", "mountPath": "/tmp"},
                    ],
                }
            ],
            "volumes": [
                {"name": "compute-config", "secret": {"secretName": contract}},
                {"name": "state", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
    }
