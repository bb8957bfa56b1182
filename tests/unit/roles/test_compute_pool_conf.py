# SPDX-License-Identifier: Apache-2.0
"""compute-pool.conf as the role's template writes it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config
from unit.roles import rendering

HOSTILE = ["{{ 7*7 }}", "{% raw %}", "a = b", "[x]", "# x", "; x", "%(host)s", '"quoted"', "ü😀", ""]
SPECS: dict[str, dict[str, Any]] = {
    "plain": {},
    "set": {
        "libvirt": {"virtType": "qemu", "cpuMode": "custom", "cpuModels": ["A", "B"]},
        "extraConfig": {"z": {"b": "2", "a": "1"}},
    },
    "hostile": {"extraConfig": {"{{ 7*7 }}": {f"key {number}": text for number, text in enumerate(HOSTILE)}}},
}


@pytest.fixture(scope="module")
def rendered() -> dict[str, str]:
    variables = [{"config_render_pool": rendering.pool(**spec)} for spec in SPECS.values()]
    results = rendering.render("config_render", "Keep compute-pool.conf in its ConfigMap", "text", variables)
    return {name: result["value"] for name, result in zip(SPECS, results, strict=True)}


def test_pool_without_wishes(rendered: dict[str, str]) -> None:
    assert (
        rendered["plain"]
        == """\
# Rendered by the nova-compute operator. Set options of your own in spec.extraConfig.

[DEFAULT]
compute_driver = libvirt.LibvirtDriver
state_path = /var/lib/nova

[libvirt]
connection_uri = qemu:///system
live_migration_scheme = tls
live_migration_with_native_tls = true
virt_type = kvm

[os_vif_ovs]
ovsdb_connection = unix:/run/openvswitch/db.sock

[oslo_concurrency]
lock_path = /var/lib/nova/tmp

[vnc]
server_listen = $my_ip
"""
    )


def test_settings_and_extra_config_are_in_byte_order(rendered: dict[str, str]) -> None:
    assert "cpu_mode = custom\ncpu_models = A,B\nlive_migration_scheme" in rendered["set"]
    assert rendered["set"].endswith("\n[z]\na = 1\nb = 2\n")


@pytest.mark.parametrize("case", SPECS)
def test_file_reads_back_as_its_options(rendered: dict[str, str], case: str) -> None:
    compute_config.check_rendered(rendered[case], compute_config.options(SPECS[case]))


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_value_comes_through_as_data(rendered: dict[str, str], number: int) -> None:
    assert f"\nkey {number} = {HOSTILE[number]}\n" in rendered["hostile"]


def test_section_comes_through_as_data(rendered: dict[str, str]) -> None:
    assert "\n[{{ 7*7 }}]\n" in rendered["hostile"]
