# SPDX-License-Identifier: Apache-2.0
"""What is told of a node of which one call, and no other, says nothing."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, workload
from ansible_collections.c5c3.nova.plugins.modules import drain_info, nova_info
from unit.clients import answering, draining, openstack
from unit.modules import conftest as worlds
from unit.rules import objects

NODE = draining.NODE
NOT_MINE = answering.Reply(status=403, body={"kind": "Status", "message": "no right", "reason": "Forbidden"})
RESOLVED = conditions.outcome(conditions.NOVA, "NovaResolved", "")
SERVERS = "GET /v2.1/servers/detail"
POD: dict[str, worlds.Object] = {
    f"{draining.PODS}/pool-a-x": {
        "metadata": {"name": "pool-a-x", "labels": workload.labels("pool-a")},
        "spec": {"nodeName": NODE},
    }
}


@pytest.fixture
def cloud(cloud: openstack.OpenStack, world: worlds.World) -> openstack.OpenStack:
    """Its Nova has a disabled service and one server on the node, which nobody moves."""
    world.objects["management"] |= {
        f"/api/v1/nodes/{NODE}": {"metadata": {"name": NODE}},
        draining.SECRET: {"data": {"password": base64.b64encode(openstack.PASSWORD.encode()).decode()}},
    }
    servers = {"servers": [{"id": "s1", "name": "web-1", "status": "ACTIVE", "tenant_id": "demo"}]}
    cloud.answers |= {
        "GET /v2.1/os-services": answering.Reply(body={"services": [openstack.service(NODE, status="disabled")]}),
        SERVERS: answering.Reply(body=servers),
        "GET /v2.1/os-migrations": answering.Reply(body={"migrations": []}),
    }
    return cloud


def pool(phase: str, **spec: Any) -> objects.Data:
    return {"kind": "NovaCompute", **objects.novacompute(**spec, status={"nodes": [objects.entry(phase, NODE)]})}


def explained(world: worlds.World, of: objects.Data, resolved: worlds.Object, *, refused: str = "") -> worlds.Object:
    """Run the module; for one path the management cluster refuses to answer."""
    refuse(world, refused)
    (node,) = world.run(drain_info, pool=of, resolved=resolved, clusters_namespace="c5c3-clusters")["nodes"]
    found: worlds.Object = node
    return found


def refuse(world: worlds.World, path: str) -> None:
    answer = world.management.answer
    world.management.answer = lambda request: NOT_MINE if request.path == path else answer(request)


def sights(node: worlds.Object) -> list[str]:
    return [finding["seen"] for finding in node["findings"]]


def nova_of(cloud: openstack.OpenStack) -> worlds.Object:
    """What nova_info returns where the Nova is well."""
    return {"nova": cloud.nova(), "reached": True, "outcome": RESOLVED}


UNKNOWN_MOVER = "no migration is under way; whether the hypervisor operator evicts the host is not known"


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (draining.KVM, UNKNOWN_MOVER),
        (f"{draining.KVM}/hypervisors/{NODE}", UNKNOWN_MOVER),
        (
            f"{draining.KVM}/evictions/{NODE}",
            "no migration is under way, and the Hypervisor is in maintenance: what its Eviction says is not known",
        ),
    ],
)
def test_call_about_the_hypervisor_that_is_refused_says_nothing_of_what_it_hides(
    world: worlds.World, cloud: openstack.OpenStack, refused: str, said: str
) -> None:
    world.objects["management"] |= {
        draining.KVM: {"resources": [{"name": "hypervisors"}, {"name": "evictions"}]},
        f"{draining.KVM}/hypervisors/{NODE}": {"metadata": {"name": NODE}, "spec": {"maintenance": "manual"}},
        f"{draining.KVM}/evictions/{NODE}": {"metadata": {"name": NODE}},
    }
    node = explained(world, pool("Draining"), nova_of(cloud), refused=refused)
    assert sights(node) == [f"a call fails: GET {refused}: HTTP 403: no right", said]


def test_pods_that_are_refused_are_not_said_to_be_gone(world: worlds.World, cloud: openstack.OpenStack) -> None:
    cloud.answers[SERVERS] = answering.Reply(body={"servers": []})
    node = explained(world, pool("Releasing"), nova_of(cloud), refused=draining.PODS)
    assert sights(node) == [f"a call fails: GET {draining.PODS}: HTTP 403: no right"]


def test_pods_that_are_read_are_said_to_be_there_or_gone(world: worlds.World, cloud: openstack.OpenStack) -> None:
    cloud.answers[SERVERS] = answering.Reply(body={"servers": []})
    assert sights(explained(world, pool("Releasing"), nova_of(cloud))) == [
        "the pod is gone and the compute service is still there"
    ]
    world.objects["management"] |= POD
    assert sights(explained(world, pool("Releasing"), nova_of(cloud))) == ["the pod pool-a-x was not told to end yet"]


@pytest.mark.parametrize(
    ("call", "unknown"),
    [
        ("GET /v2.1/os-services", {"servers", "migrations"}),
        (SERVERS, {"servers"}),
        ("GET /v2.1/os-migrations", {"migrations"}),
    ],
)
def test_call_of_nova_that_is_refused_says_nothing_of_what_it_hides(
    world: worlds.World, cloud: openstack.OpenStack, call: str, unknown: set[str]
) -> None:
    cloud.answers[call] = openstack.fault(403, "forbidden", "policy")
    node = explained(world, pool("Draining"), nova_of(cloud))
    assert sights(node) == [f"a call fails: {call}: HTTP 403: policy"]
    assert {name for name in ("servers", "migrations") if node[name] is None} == unknown


def test_nova_that_is_not_there_is_told_though_no_call_failed(world: worlds.World) -> None:
    of = pool("Draining")
    world.objects["management"][f"/api/v1/nodes/{NODE}"] = {"metadata": {"name": NODE}}
    node = explained(world, of, world.run(nova_info, pool=of))
    assert sights(node) == [
        "a pass from here would stop at NovaReady=NovaNotFound: Nova nova does not exist in the namespace"
    ]


def test_failure_without_a_call_is_told(world: worlds.World) -> None:
    world.objects["management"][f"/api/v1/nodes/{NODE}"] = {"metadata": {"name": NODE}}
    failed = {"failed": False, "changed": False, "msg": "nova_info: KeyError: 'keystoneEndpoint'"}
    assert sights(explained(world, pool("Draining"), failed)) == [
        "a pass from here would stop at NovaReady=NovaError: nova_info: KeyError: 'keystoneEndpoint'"
    ]


# --- on a target cluster

PLACED = pool("Releasing", targetClusterRef={"name": "edge"})


def resolved_where(world: worlds.World, refused: str) -> worlds.Object:
    """What nova_info returns where the management cluster refuses to answer for one path."""
    refuse(world, refused)
    defaults = {name: argument.get("default") for name, argument in nova_info.ARGUMENTS.items()}
    task = entry.Task(params={**defaults, "kubeconfig": world.kubeconfig, "pool": PLACED})
    return entry.outcome(nova_info.run, task, module="nova_info")


def test_no_cluster_stands_in_for_one_whose_registration_is_refused(world: worlds.World) -> None:
    world.register()
    node = explained(world, PLACED, resolved_where(world, worlds.REGISTRATION))
    assert sights(node) == [f"a call fails: GET {worlds.REGISTRATION}: HTTP 403: no right"]
    assert {request.path for request in world.management.requests} == {worlds.REGISTRATION}


def test_no_cluster_stands_in_for_one_that_is_not_registered(world: worlds.World) -> None:
    node = explained(world, PLACED, world.run(nova_info, pool=PLACED))
    (said,) = sights(node)
    assert said.startswith("a pass from here would stop at NovaReady=TargetClusterUnavailable: Target cluster edge")
    assert "Secret c5c3-clusters/edge: cluster not found" in said
    assert {request.path for request in world.management.requests} == {worlds.REGISTRATION}


def test_target_cluster_is_read_also_where_the_nova_is_refused(world: worlds.World) -> None:
    world.register()
    world.objects["edge"] |= POD
    node = explained(world, PLACED, resolved_where(world, draining.NOVA))
    assert sights(node) == [
        f"a call fails: GET {draining.NOVA}: HTTP 403: no right",
        "the pod pool-a-x was not told to end yet",
    ]
