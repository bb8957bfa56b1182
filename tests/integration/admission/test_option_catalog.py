# SPDX-License-Identifier: Apache-2.0
"""spec.extraConfig against the options of the Nova's release, through a real API server."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from integration import kube
from integration.admission import webhooks

MIGRATIONS = {"libvirt": {"live_migration_parallel_connections": "2"}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Told:
    """A reply and the warnings that came with it."""

    status: int
    body: dict[str, Any]
    warnings: list[str]


def create(pools: kube.Pools, extra: Any, name: str = "pool-a") -> Told:
    """Create a pool and keep the warnings, which come in headers."""
    return send(pools, "POST", pools.path(), pools.manifest(name, kube.minimal_spec() | {"extraConfig": extra}))


def send(pools: kube.Pools, method: str, path: str, body: Any) -> Told:
    client = pools.server.client
    request = client.param_serialize(
        method,
        path,
        header_params={"Accept": "application/json", "Content-Type": "application/json"},
        body=body,
        auth_settings=["BearerToken"],
    )
    response = client.call_api(*request, _request_timeout=30)
    # 299 - "text"
    told = response.response.headers.getlist("Warning")
    return Told(
        status=response.status,
        body=json.loads(response.read()),
        warnings=[json.loads(one.partition(" - ")[2]) for one in told],
    )


@pytest.mark.parametrize(("release", "status"), [("2025.2", 422), ("2026.1", 201), ("2026.2", 201)])
def test_an_option_is_judged_by_the_release_of_the_nova(
    pools: kube.Pools, nova: webhooks.Novas, release: str, status: int
) -> None:
    nova.create(release)
    assert create(pools, MIGRATIONS).status == status


def test_an_unknown_option_is_refused_with_the_release(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    assert pools.create_with(extraConfig={"DEFAULT": {"debgu": "1"}, "libvrit": {"a": "b"}}).refusals() == [
        (
            "spec.extraConfig[DEFAULT][debgu]",
            'Invalid value: "debgu": no such option in the nova 2026.1 option catalog',
        ),
        (
            "spec.extraConfig[libvrit]",
            'Invalid value: "libvrit": no such section in the nova 2026.1 option catalog',
        ),
    ]


def test_a_pool_that_is_applied_before_its_nova_gets_a_single_warning(pools: kube.Pools, novas: None) -> None:
    del novas
    told = create(pools, {"DEFAULT": {"debgu": "1"}, "any": {"thing": "1"}})
    assert told.status == 201
    assert told.warnings == [f"extraConfig catalog check skipped: Nova {pools.namespace}/nova not found"]


def test_a_pool_without_extra_config_gets_no_warning(pools: kube.Pools, novas: None) -> None:
    del novas
    assert create(pools, {}).warnings == []


def test_a_release_without_a_catalog_gets_a_single_warning(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2031.1")
    told = create(pools, {"any": {"thing": "1"}})
    assert told.status == 201
    assert told.warnings == [
        f"extraConfig catalog check skipped: no nova 2031.1 option catalog for Nova {pools.namespace}/nova"
    ]


def test_a_deprecated_option_is_admitted_with_a_warning(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    told = create(pools, {"libvirt": {"cpu_model": "Haswell"}, "DEFAULT": {"debug": "true"}})
    assert told.status == 201
    assert told.warnings == [
        "spec.extraConfig[libvirt][cpu_model]: deprecated in nova 2026.1, use [libvirt] cpu_models"
    ]


def test_an_update_is_checked_only_when_the_extra_config_changed(pools: kube.Pools, nova: webhooks.Novas) -> None:
    create(pools, {"DEFAULT": {"debgu": "1"}})
    nova.create("2026.1")
    assert pools.patch({"nodeSelector": {"more": "labels"}}).status == 200
    assert [field for field, _ in pools.patch({"extraConfig": {"DEFAULT": {"debug": "1"}}}).refusals()] == [
        "spec.extraConfig[DEFAULT][debgu]"
    ]
    assert pools.patch({"extraConfig": {"DEFAULT": {"debgu": None, "debug": "1"}}}).status == 200


def test_a_key_of_the_operator_in_another_letter_case_is_no_option(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    refused = pools.create_with(extraConfig={"DEFAULT": {"HOST": "x"}, "LibVirt": {"connection_uri": "x"}}).refusals()
    assert [(field, message.partition(":")[0]) for field, message in refused] == [
        ("spec.extraConfig[DEFAULT][HOST]", "Invalid value"),
        ("spec.extraConfig[LibVirt][connection_uri]", "Forbidden"),
    ]


def test_a_template_is_admitted_as_the_text_it_is(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    extra = {"DEFAULT": {"default_log_levels": "{{ lookup('pipe', 'id') }}"}}
    assert create(pools, extra).body["spec"]["extraConfig"] == extra


def test_a_million_bytes_are_admitted(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    assert create(pools, {"DEFAULT": {"default_log_levels": "x" * 1_000_000}}).status == 201


def test_more_than_a_config_map_holds_is_refused(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    assert pools.create_with(extraConfig={"DEFAULT": {"default_log_levels": "x" * 1_048_576}}).refusals() == [
        ("spec.extraConfig", "Too long: compute-pool.conf may not be more than 1048576 bytes")
    ]


def test_tens_of_thousands_of_unknown_options_are_all_named(pools: kube.Pools, nova: webhooks.Novas) -> None:
    nova.create("2026.1")
    many = {f"option_{number}": "1" for number in range(30_000)}
    assert len(pools.create_with(extraConfig={"DEFAULT": many}).refusals()) == len(many)
