# SPDX-License-Identifier: Apache-2.0
"""What the API server fills in, and what it leaves to the operator."""

from __future__ import annotations

from typing import Any

import pytest
from integration import kube

schema = pytest.mark.schema


def test_a_minimal_pool_gets_these_defaults_and_no_others(pools: kube.Pools) -> None:
    created = pools.create_with().accepted()["spec"]
    assert created == kube.minimal_spec() | {
        "libvirt": {"virtType": "kvm"},
        "updateStrategy": {"type": "RollingUpdate"},
    }


def test_the_defaults_are_stored(pools: kube.Pools) -> None:
    created = pools.create_with().accepted()["spec"]
    assert pools.read()["spec"] == created


@schema("spec.libvirt.virtType", "default")
@pytest.mark.parametrize("libvirt", [{}, {"imagesType": "raw"}], ids=["empty", "without-virt-type"])
def test_virt_type_defaults_to_kvm(pools: kube.Pools, libvirt: dict[str, Any]) -> None:
    assert pools.create_with(libvirt=libvirt).accepted()["spec"]["libvirt"] == libvirt | {"virtType": "kvm"}


def test_cpu_mode_and_images_type_have_no_default(pools: kube.Pools) -> None:
    assert pools.create_with(libvirt={}).accepted()["spec"]["libvirt"].keys() == {"virtType"}


@schema("spec.updateStrategy.type", "default")
def test_the_update_strategy_defaults_to_a_rolling_update(pools: kube.Pools) -> None:
    created = pools.create_with(updateStrategy={"maxUnavailable": 2}).accepted()
    assert created["spec"]["updateStrategy"] == {"type": "RollingUpdate", "maxUnavailable": 2}


def test_max_unavailable_is_left_to_the_operator(pools: kube.Pools) -> None:
    created = pools.create_with(updateStrategy={}).accepted()
    assert created["spec"]["updateStrategy"] == {"type": "RollingUpdate"}


@schema("spec.hostTraits[].mode", "default")
def test_host_traits_default_to_append(pools: kube.Pools) -> None:
    entry = {"nodeName": "node-1", "traits": ["CUSTOM_A"]}
    created = pools.create_with(hostTraits=[entry]).accepted()
    assert created["spec"]["hostTraits"] == [entry | {"mode": "Append"}]


def test_an_image_gets_no_pull_policy(pools: kube.Pools) -> None:
    image = {"repository": "ghcr.io/c5c3/nova-compute", "tag": "2026.1"}
    assert pools.create_with(image=image).accepted()["spec"]["image"] == image


def test_an_empty_resources_block_stays_empty(pools: kube.Pools) -> None:
    assert pools.create_with(resources={}).accepted()["spec"]["resources"] == {}


@schema("spec.{field}", "default")
@pytest.mark.parametrize("field", ["libvirt", "updateStrategy"])
def test_a_block_that_is_taken_out_comes_back_with_its_defaults(pools: kube.Pools, field: str) -> None:
    defaults = pools.create_with().accepted()["spec"][field]
    assert pools.patch({field: None}).accepted()["spec"][field] == defaults
