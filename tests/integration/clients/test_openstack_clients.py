# SPDX-License-Identifier: Apache-2.0
"""The OpenStack clients against Keystone, Nova and Placement, through the API server's service proxy."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from ansible_collections.c5c3.nova.plugins.module_utils.rules import discovery
from integration.clients.conftest import stop, wait_until

REASON = "c5c3.io: leaving NovaCompute openstack/pool-a"
NO_SUCH_SERVICE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def name() -> str:
    return f"clients-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def aggregate(nova: nova_client.Nova, name: str) -> Iterator[dict[str, Any]]:
    made = nova.create_aggregate(name, name)
    yield made
    nova.delete_aggregate(made["id"])


def service(nova: nova_client.Nova, host: str) -> dict[str, Any]:
    [row] = [row for row in nova.list_services() if row["host"] == host]
    return row


# --- how they are reached


def test_nova_is_reached_through_the_proxy(cluster: kubernetes.Cluster) -> None:
    assert nova_client.reach(cluster) == "proxy"


def test_the_service_user_is_admin_in_its_project(nova: nova_client.Nova, reference: dict[str, Any]) -> None:
    token = nova.token_data()
    assert (token["user"], token["project"]) == (reference["username"], reference["project_name"])
    assert "admin" in token["roles"]


def test_a_wrong_password_is_keystone_s_error(cluster: kubernetes.Cluster, reference: dict[str, Any]) -> None:
    with pytest.raises(errors.CallError) as caught:
        nova_client.open_nova(cluster, reference, "not-the-password").list_services()
    assert (caught.value.system, caught.value.status) == ("keystone", 401)
    assert "not-the-password" not in str(caught.value.as_data())


@pytest.mark.case("C24")
def test_a_revoked_token_is_renewed(cluster: kubernetes.Cluster, reference: dict[str, Any]) -> None:
    own = nova_client.open_nova_from_cluster(cluster, {**reference, "name": f"own-{uuid.uuid4().hex}"})
    own.authenticate()
    granted = own._identity._auth.auth_ref
    assert granted is not None
    token = granted.auth_token
    keystone = reference["keystone_endpoint"]
    answer = own._identity._session.delete(
        f"{keystone}/auth/tokens", headers={"X-Subject-Token": token}, raise_exc=False
    )
    assert answer.status_code == 204
    assert own.list_aggregates() is not None
    assert own._identity._auth.auth_ref is not None
    assert own._identity._auth.auth_ref.auth_token != token


def test_a_service_that_does_not_exist_is_the_cluster_s_failure(
    cluster: kubernetes.Cluster, reference: dict[str, Any], namespace: str
) -> None:
    nowhere = {**reference, "compute_endpoint": f"http://nova.{namespace}.svc.cluster.local:8774/v2.1"}
    nova = nova_client.open_nova_from_cluster(cluster, nowhere)
    with pytest.raises(errors.CallError) as caught:
        nova.delete_service(NO_SUCH_SERVICE)
    assert (caught.value.system, caught.value.status) == ("kubernetes", 404)


def test_a_service_without_endpoints_is_the_cluster_s_failure(
    cluster: kubernetes.Cluster, reference: dict[str, Any], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        kubernetes.RESOURCES,
        "Service",
        kubernetes.Resource(api_version="v1", plural="services"),
    )
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "nova", "namespace": namespace},
            "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 8774}]},
        }
    )
    nowhere = {**reference, "compute_endpoint": f"http://nova.{namespace}.svc.cluster.local:8774/v2.1"}
    with pytest.raises(errors.CallError) as caught:
        nova_client.open_nova_from_cluster(cluster, nowhere).list_services()
    assert (caught.value.system, caught.value.status) == ("kubernetes", 503)
    assert "no endpoints available" in caught.value.detail


# --- Nova


def test_a_running_compute_is_listed_with_its_state(nova: nova_client.Nova, compute: str) -> None:
    row = service(nova, compute)
    assert (row["status"], row["state"], row["disabled_reason"]) == ("enabled", "up", None)
    assert uuid.UUID(row["id"])


def test_a_host_without_servers_counts_zero(nova: nova_client.Nova, compute: str) -> None:
    assert nova.count_servers(compute) == 0


def test_a_disabled_service_keeps_its_reason(nova: nova_client.Nova, compute: str) -> None:
    disabled = nova.disable_service(service(nova, compute)["id"], REASON)
    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", REASON)
    assert service(nova, compute) == disabled


@pytest.mark.case("C4")
def test_a_service_that_does_not_exist_is_gone(nova: nova_client.Nova) -> None:
    assert nova.delete_service(NO_SUCH_SERVICE) == "gone"
    with pytest.raises(errors.CallError) as caught:
        nova.disable_service(NO_SUCH_SERVICE, REASON)
    assert (caught.value.system, caught.value.status) == ("nova", 404)


@pytest.mark.case("C16")
def test_a_host_is_mapped_only_after_its_discovery(
    cluster: kubernetes.Cluster, reference: dict[str, Any], nova: nova_client.Nova, compute: str
) -> None:
    assert compute not in nova.mapped_hosts()
    deployment = cluster.get("Deployment", reference["name"], reference["namespace"])
    job = discovery.job(reference, deployment)
    cluster.delete("Job", job["metadata"]["name"], reference["namespace"], propagation="Foreground")
    wait_until(
        lambda: cluster.find("Job", job["metadata"]["name"], reference["namespace"]) is None, "an older Job is gone"
    )
    cluster.create(job)
    wait_until(lambda: compute in nova.mapped_hosts(), f"{compute} is mapped")


def test_paging_finds_every_mapped_host(nova: nova_client.Nova, compute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nova.mapped_hosts()
    monkeypatch.setattr(nova_client, "PAGE_SIZE", 1)
    assert nova.mapped_hosts() == whole
    assert compute in whole


def test_a_deleted_service_takes_its_mapping_along(
    cluster: kubernetes.Cluster, reference: dict[str, Any], nova: nova_client.Nova, compute: str
) -> None:
    service_id = service(nova, compute)["id"]
    stop(cluster, reference, compute)
    assert nova.delete_service(service_id) == "deleted"
    assert nova.delete_service(service_id) == "gone"
    assert compute not in nova.mapped_hosts()
    assert [row for row in nova.list_services() if row["host"] == compute] == []


def test_an_aggregate_is_listed_as_it_was_created(nova: nova_client.Nova, aggregate: dict[str, Any]) -> None:
    assert aggregate in nova.list_aggregates()


def test_an_aggregate_of_that_name_exists(nova: nova_client.Nova, aggregate: dict[str, Any]) -> None:
    with pytest.raises(errors.CallError) as caught:
        nova.create_aggregate(aggregate["name"], None)
    assert caught.value.status == 409


def test_an_aggregate_is_marked_and_keeps_its_zone(nova: nova_client.Nova, aggregate: dict[str, Any]) -> None:
    marked = nova.set_aggregate_metadata(aggregate["id"], {"c5c3.io:nova": "openstack/nova"})
    assert marked["metadata"] == {"availability_zone": aggregate["name"], "c5c3.io:nova": "openstack/nova"}
    assert nova.set_aggregate_metadata(aggregate["id"], {"c5c3.io:nova": None})["metadata"] == aggregate["metadata"]


def test_an_aggregate_is_renamed_with_its_zone_and_metadata(nova: nova_client.Nova, aggregate: dict[str, Any]) -> None:
    nova.set_aggregate_metadata(aggregate["id"], {"c5c3.io:nova": "openstack/nova"})
    renamed = nova.rename_aggregate(aggregate["id"], f"{aggregate['name']}-new")
    assert (renamed["name"], renamed["availability_zone"]) == (f"{aggregate['name']}-new", aggregate["name"])
    assert renamed["metadata"]["c5c3.io:nova"] == "openstack/nova"
    assert nova.rename_aggregate(aggregate["id"], f"{aggregate['name']}-new") == renamed


def test_an_aggregate_gets_no_name_that_another_has(nova: nova_client.Nova, aggregate: dict[str, Any]) -> None:
    other = nova.create_aggregate(f"c5c3.io:nova=openstack/nova: {aggregate['name']}", None)
    with pytest.raises(errors.CallError) as caught:
        nova.rename_aggregate(other["id"], aggregate["name"])
    assert caught.value.status == 409
    assert nova.delete_aggregate(other["id"]) is True


def test_an_aggregate_is_deleted_once(nova: nova_client.Nova, name: str) -> None:
    made = nova.create_aggregate(name, None)
    assert made["metadata"] == {}
    assert nova.delete_aggregate(made["id"]) is True
    assert nova.delete_aggregate(made["id"]) is False


# --- Placement


def test_the_creator_of_a_trait_is_known_from_its_creation(nova: nova_client.Nova, reference: dict[str, Any]) -> None:
    placement = nova.placement(reference["region"], reference["placement_override"])
    trait = f"CUSTOM_CLIENTS_{uuid.uuid4().hex[:8].upper()}"
    assert placement.create_trait(trait) is True
    assert placement.create_trait(trait) is False
    assert placement.delete_trait(trait) == "deleted"
    assert placement.delete_trait(trait) == "gone"


def test_a_trait_that_placement_refuses_is_told_in_its_words(nova: nova_client.Nova, reference: dict[str, Any]) -> None:
    placement = nova.placement(reference["region"], reference["placement_override"])
    with pytest.raises(errors.CallError) as caught:
        placement.create_trait("NOT_CUSTOM")
    assert (caught.value.system, caught.value.call, caught.value.status) == ("placement", "PUT /traits/NOT_CUSTOM", 400)
    assert "CUSTOM_" in caught.value.detail


def test_a_region_without_placement_is_told(nova: nova_client.Nova) -> None:
    with pytest.raises(nova_client.PlacementEndpointNotFound, match="in region Nowhere"):
        nova.placement("Nowhere", None)
