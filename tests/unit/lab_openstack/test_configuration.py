# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import configparser
from typing import TYPE_CHECKING

import pytest
from novalab.openstack import configuration

if TYPE_CHECKING:
    from collections.abc import Callable

    from novalab.openstack import settings

#: What belongs to a pool and its node, and so never to the contract (the spec's "Owned keys").
NOT_IN_THE_CONTRACT = ["host", "my_ip", "state_path", "transport_url", "compute_driver"]


def parsed(text: str) -> configparser.RawConfigParser:
    # No section is special here, unlike for ConfigParser's own DEFAULT.
    parser = configparser.RawConfigParser(default_section="", strict=True)
    parser.read_string(text)
    return parser


def every_file(cloud: settings.Cloud) -> dict[str, str]:
    return {
        "nova": configuration.nova(cloud),
        "compute": configuration.compute_fragment(cloud),
        "keystone": configuration.keystone("/keys"),
        "placement": configuration.placement(cloud),
        "glance": configuration.glance(cloud, "/paste.ini"),
    }


@pytest.mark.parametrize("name", ["nova", "compute", "keystone", "placement", "glance"])
def test_no_file_holds_a_secret(
    cloud: settings.Cloud, secrets_of: Callable[[settings.Cloud], list[str]], name: str
) -> None:
    text = every_file(cloud)[name]
    assert [secret for secret in secrets_of(cloud) if secret in text] == []


@pytest.mark.parametrize("option", NOT_IN_THE_CONTRACT)
def test_contract_leaves_what_the_pool_owns_to_the_pool(cloud: settings.Cloud, option: str) -> None:
    assert option not in parsed(configuration.compute_fragment(cloud))["DEFAULT"]


def test_contract_has_no_lock_path(cloud: settings.Cloud) -> None:
    assert "oslo_concurrency" not in parsed(configuration.compute_fragment(cloud))


@pytest.mark.parametrize("section", configuration.NOVA_PASSWORD_SECTIONS)
def test_each_password_section_logs_in_as_nova_in_nova_conf(cloud: settings.Cloud, section: str) -> None:
    assert parsed(configuration.nova(cloud))[section]["username"] == "nova"


@pytest.mark.parametrize("section", configuration.NOVA_PASSWORD_SECTIONS)
def test_each_password_section_logs_in_as_nova_in_the_contract(cloud: settings.Cloud, section: str) -> None:
    assert parsed(configuration.compute_fragment(cloud))[section]["username"] == "nova"


def test_scheduler_keeps_the_filters_of_a_stock_nova(cloud: settings.Cloud) -> None:
    assert "filter_scheduler" not in parsed(configuration.nova(cloud))


def test_compute_reports_more_often_than_it_is_missed(cloud: settings.Cloud) -> None:
    default = parsed(configuration.compute_fragment(cloud))["DEFAULT"]
    assert int(default["service_down_time"]) >= 3 * int(default["report_interval"])


@pytest.mark.parametrize("name", ["nova", "compute", "placement", "glance"])
def test_no_file_names_a_service_that_does_not_resolve_on_the_machine(cloud: settings.Cloud, name: str) -> None:
    assert "cluster.local" not in every_file(cloud)[name]


def test_password_variable_is_the_one_that_oslo_config_reads() -> None:
    assert configuration.password_variable("keystone_authtoken") == "OS_KEYSTONE_AUTHTOKEN__PASSWORD"
