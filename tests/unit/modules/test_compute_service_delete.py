# SPDX-License-Identifier: Apache-2.0
"""Deleted services whose resource provider Nova left behind."""

from __future__ import annotations

import base64

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import drain
from ansible_collections.c5c3.nova.plugins.modules import compute_service_delete
from unit.clients import answering, openstack
from unit.modules import conftest as worlds

NODE = "node-1"
PROVIDERS = "GET /resource_providers"


@pytest.fixture
def cloud(cloud: openstack.OpenStack) -> openstack.OpenStack:
    """Its Nova deletes the service."""
    cloud.answers[f"DELETE /v2.1/os-services/id-{NODE}"] = answering.Reply(status=204)
    return cloud


def delete(world: worlds.World, cloud: openstack.OpenStack) -> worlds.Object:
    """Delete the service of a released node; returns the module's result."""
    world.objects["management"]["/api/v1/namespaces/openstack/secrets/nova-service-user"] = {
        "data": {"password": base64.b64encode(openstack.PASSWORD.encode()).decode()}
    }
    return world.run(
        compute_service_delete,
        pool={
            "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
            "kind": "NovaCompute",
            "metadata": {"name": "pool-a", "namespace": "openstack", "uid": "1"},
        },
        nova=cloud.nova(placement_override=cloud.server.url),
        ledger=[{"name": NODE, "phase": "Releasing", "instances": 0}],
        services={NODE: {**openstack.service(NODE), "node": NODE}},
        counts={NODE: 0},
        pods={},
    )


@pytest.mark.case("C3")
def test_provider_that_is_still_there_is_a_warning(world: worlds.World, cloud: openstack.OpenStack) -> None:
    rows = [{"uuid": "another", "name": f"{NODE}0"}, {"uuid": "5e1f", "name": NODE}]
    cloud.answers[PROVIDERS] = answering.Reply(body={"resource_providers": rows})
    result = delete(world, cloud)
    assert result["deletions"] == {NODE: drain.DELETED}
    assert result["warnings"] == [drain.leftover(NODE, "5e1f")]
    assert [request.query for request in cloud.asked("/resource_providers")] == [{"name": NODE}]


def test_provider_that_went_with_its_service_is_not_worth_a_word(
    world: worlds.World, cloud: openstack.OpenStack
) -> None:
    cloud.answers[PROVIDERS] = answering.Reply(body={"resource_providers": []})
    assert "warnings" not in delete(world, cloud)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(openstack.fault(503, "x", "Down."), "HTTP 503", id="down"),
        pytest.param(answering.Reply(body={}), "the answer holds no list of resource_providers", id="half an answer"),
    ],
)
def test_placement_that_does_not_say_holds_up_no_release(
    world: worlds.World, cloud: openstack.OpenStack, reply: answering.Reply, said: str
) -> None:
    cloud.answers[PROVIDERS] = reply
    result = delete(world, cloud)
    assert result["deletions"] == {NODE: drain.DELETED}
    assert result["errors"] == []
    (warning,) = result["warnings"]
    assert warning.startswith(f"whether Placement still has resource providers of {NODE} is not known: ")
    assert said in warning
