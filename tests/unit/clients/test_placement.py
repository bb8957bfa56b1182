# SPDX-License-Identifier: Apache-2.0
"""Where Placement is, and who created a trait."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.clients import nova as nova_client
from unit.clients import answering, openstack

Reply = answering.Reply
TRAIT = "/traits/CUSTOM_GPU"


@pytest.fixture
def nova(cloud: openstack.OpenStack, cluster: kubernetes.Cluster) -> nova_client.Nova:
    return nova_client.open_nova(cluster, cloud.nova(), openstack.PASSWORD)


@pytest.mark.case("C22")
@pytest.mark.parametrize(("status", "created"), [(201, True), (204, False)])
def test_only_a_201_says_that_the_trait_is_ours(
    cloud: openstack.OpenStack,
    nova: nova_client.Nova,
    status: int,
    created: bool,  # noqa: FBT001
) -> None:
    cloud.answers[f"PUT {TRAIT}"] = Reply(status=status)
    assert nova.placement(None, cloud.server.url).create_trait("CUSTOM_GPU") is created
    assert cloud.asked(TRAIT)[0].headers["OpenStack-API-Version"] == "placement 1.6"


@pytest.mark.case("C22")
@pytest.mark.parametrize(("status", "outcome"), [(204, "deleted"), (404, "gone"), (409, "in_use")])
def test_a_deleted_trait(cloud: openstack.OpenStack, nova: nova_client.Nova, status: int, outcome: str) -> None:
    cloud.answers[f"DELETE {TRAIT}"] = Reply(status=status, body={"errors": [{"detail": "x"}]})
    assert nova.placement(None, cloud.server.url).delete_trait("CUSTOM_GPU") == outcome


@pytest.mark.parametrize(("status", "there"), [(204, True), (404, False)])
def test_trait_that_is_there_is_known_without_creating_it(
    cloud: openstack.OpenStack,
    nova: nova_client.Nova,
    status: int,
    there: bool,  # noqa: FBT001
) -> None:
    cloud.answers[f"GET {TRAIT}"] = Reply(status=status, body={"errors": [{"detail": "x"}]})
    assert nova.placement(None, cloud.server.url).has_trait("CUSTOM_GPU") is there


@pytest.mark.parametrize(
    ("status", "carried", "outcome"),
    [(204, [], "deleted"), (204, ["CUSTOM_GPU"], "in_use"), (404, ["CUSTOM_GPU"], "gone")],
)
def test_deletion_is_foreseen_without_deleting(
    cloud: openstack.OpenStack, nova: nova_client.Nova, status: int, carried: list[str], outcome: str
) -> None:
    cloud.answers[f"GET {TRAIT}"] = Reply(status=status, body={"errors": [{"detail": "x"}]})
    cloud.answers["GET /traits"] = Reply(body={"traits": carried})
    assert nova.placement(None, cloud.server.url).foresee_deletion("CUSTOM_GPU") == outcome
    asked = [request.query for request in cloud.asked("/traits")]
    assert asked in ([], [{"name": "in:CUSTOM_GPU", "associated": "true"}])
    assert {request.method for request in cloud.asked(TRAIT)} == {"GET"}


def test_a_refused_trait_says_why(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    detail = "The trait is invalid. A valid trait must be no longer than 255 characters."
    cloud.answers["PUT /traits/GPU"] = Reply(
        status=400, body={"errors": [{"status": 400, "title": "Bad Request", "detail": detail}]}
    )
    with pytest.raises(errors.CallError) as caught:
        nova.placement(None, cloud.server.url).create_trait("GPU")
    assert str(caught.value) == f"PUT /traits/GPU: HTTP 400: {detail}"
    assert caught.value.system == "placement"


def test_the_address_may_have_a_path(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers["PUT /placement/traits/CUSTOM_GPU"] = Reply(status=201)
    assert nova.placement(None, f"{cloud.server.url}/placement/").create_trait("CUSTOM_GPU")


@pytest.mark.case("C25")
@pytest.mark.parametrize("region", [openstack.REGION, "", None])
def test_without_an_override_the_catalog_s_internal_address_of_the_region_counts(
    cloud: openstack.OpenStack, nova: nova_client.Nova, region: str | None
) -> None:
    cloud.catalog = [
        openstack.catalog_row("placement", "public", openstack.REGION, "http://127.0.0.1:9"),
        openstack.catalog_row("placement", "internal", openstack.REGION, cloud.server.url),
        openstack.catalog_row("placement", "internal", "RegionTwo", "http://127.0.0.1:9"),
        openstack.catalog_row("compute", "internal", openstack.REGION, "http://127.0.0.1:9"),
    ]
    cloud.answers[f"PUT {TRAIT}"] = Reply(status=201)
    assert nova.placement(region, "").create_trait("CUSTOM_GPU")


def test_an_override_needs_no_catalog(cloud: openstack.OpenStack, nova: nova_client.Nova) -> None:
    cloud.answers[f"PUT {TRAIT}"] = Reply(status=201)
    assert nova.placement("nowhere", cloud.server.url).create_trait("CUSTOM_GPU")


@pytest.mark.case("C25")
@pytest.mark.parametrize(
    "catalog",
    [
        [],
        [openstack.catalog_row("placement", "public", openstack.REGION, "http://p")],
        [openstack.catalog_row("placement", "internal", "RegionTwo", "http://p")],
        [openstack.catalog_row("compute", "internal", openstack.REGION, "http://c")],
    ],
    ids=["empty", "no internal", "another region", "another service"],
)
def test_no_address_is_named_with_the_way_out(
    cloud: openstack.OpenStack, nova: nova_client.Nova, catalog: list[dict[str, Any]]
) -> None:
    cloud.catalog = catalog
    with pytest.raises(nova_client.PlacementEndpointNotFound, match="in region RegionOne; register one, or set"):
        nova.placement(openstack.REGION, None)
