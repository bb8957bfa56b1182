# SPDX-License-Identifier: Apache-2.0
"""What a pool reads of its Nova, and when it knows enough to go on."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import nova
from unit.rules import objects

NOVA: objects.Data = {
    "metadata": {"name": "nova-1", "namespace": "openstack", "uid": "u1"},
    "spec": {"keystoneEndpoint": "http://keystone.openstack.svc:5000/v3"},
}
INSTALLED = {"installedRelease": "2025.2", "computeConfigSecretRef": {"name": "nova-1-compute-config"}}


def resolved(status: dict[str, Any] | None = None, **spec: Any) -> objects.Data:
    return nova.resolve({**NOVA, "spec": {**NOVA["spec"], **spec}, "status": status or {}}, "c5c3-clusters")


def test_service_user_defaults_to_nova_in_project_service() -> None:
    found = resolved()
    assert [found[key] for key in ("username", "project_name", "user_domain_name", "project_domain_name")] == [
        "nova",
        "service",
        "Default",
        "Default",
    ]


def test_each_part_of_the_service_user_can_be_set_by_itself() -> None:
    found = resolved(serviceUser={"projectDomainName": "other", "secretRef": {"name": "s"}})
    assert (found["username"], found["project_domain_name"]) == ("nova", "other")


def test_password_is_under_the_key_password_unless_another_is_named() -> None:
    assert resolved(serviceUser={"secretRef": {"name": "s"}})["secret"] == {"name": "s", "key": "password"}
    assert resolved(serviceUser={"secretRef": {"name": "s", "key": "k"}})["secret"] == {"name": "s", "key": "k"}


def test_release_is_the_one_installed_and_not_the_one_wanted() -> None:
    assert resolved(INSTALLED, openStackRelease="2026.1")["installed_release"] == "2025.2"


def test_nova_api_is_the_service_of_the_novas_name() -> None:
    assert resolved()["compute_endpoint"] == "http://nova-1.openstack.svc.cluster.local:8774/v2.1"


def test_placement_override_is_read() -> None:
    override = "http://placement.openstack.svc:8778"
    assert resolved(endpoints={"placement": {"override": override}})["placement_override"] == override
    assert resolved()["placement_override"] == ""


@pytest.mark.parametrize(
    ("found", "has_password", "reason"),
    [
        (None, True, "NovaNotFound"),
        ({}, True, "WaitingForInstalledRelease"),
        ({"computeConfigSecretRef": {"name": "x"}}, True, "WaitingForInstalledRelease"),
        ({"installedRelease": "2025.2"}, True, "ComputeConfigNotPublished"),
        (INSTALLED, False, "WaitingForServiceUserSecret"),
    ],
)
def test_pool_waits_for_what_is_missing(found: dict[str, Any] | None, has_password: bool, reason: str) -> None:  # noqa: FBT001
    outcome = nova.judge("nova-1", None if found is None else resolved(found), has_password=has_password)
    assert (outcome["condition"]["type"], outcome["condition"]["status"]) == ("NovaReady", "False")
    assert outcome["condition"]["reason"] == reason
    assert (outcome["goes_on"], outcome["look"]) == (False, 15)


def test_missing_secret_is_named_with_its_key() -> None:
    found = resolved(INSTALLED, serviceUser={"secretRef": {"name": "nova-user", "key": "pw"}})
    message = nova.judge("nova-1", found)["condition"]["message"]
    assert "nova-user" in message
    assert "pw" in message


def test_nova_that_is_installed_is_resolved() -> None:
    outcome = nova.judge("nova-1", resolved(INSTALLED), has_password=True)
    assert (outcome["condition"]["status"], outcome["condition"]["reason"]) == ("True", "NovaResolved")
    assert (outcome["goes_on"], outcome["look"]) == (True, None)
