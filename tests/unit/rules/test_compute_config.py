# SPDX-License-Identifier: Apache-2.0
"""compute-pool.conf: its options, the keys that the operator owns, its hash, and what may not enter it."""

from __future__ import annotations

import hashlib
import re

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, ownership
from unit.rules import objects

REJECTED = [
    ("DEFAULT", "host", "the node name, OS_DEFAULT__HOST from spec.nodeName"),
    ("DEFAULT", "my_ip", "OS_DEFAULT__MY_IP from status.hostIP"),
    ("DEFAULT", "transport_url", "OS_DEFAULT__TRANSPORT_URL from the compute contract"),
    ("DEFAULT", "state_path", "the /var/lib/nova host mount"),
    ("oslo_concurrency", "lock_path", "the /var/lib/nova host mount"),
    ("libvirt", "connection_uri", "the /run/libvirt host mount"),
    ("libvirt", "live_migration_scheme", "operator-computed"),
    ("libvirt", "live_migration_with_native_tls", "operator-computed"),
    ("libvirt", "live_migration_uri", "operator-computed"),
    ("libvirt", "live_migration_tunnelled", "operator-computed"),
    ("libvirt", "live_migration_inbound_addr", "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR from status.hostIP"),
    ("os_vif_ovs", "ovsdb_connection", "the /run/openvswitch host mount"),
    ("vnc", "server_proxyclient_address", "OS_VNC__SERVER_PROXYCLIENT_ADDRESS from status.hostIP"),
    ("keystone_authtoken", "password", "OS_KEYSTONE_AUTHTOKEN__PASSWORD from the compute contract"),
    ("service_user", "password", "OS_SERVICE_USER__PASSWORD from the compute contract"),
    ("placement", "password", "OS_PLACEMENT__PASSWORD from the compute contract"),
    ("neutron", "password", "OS_NEUTRON__PASSWORD from the compute contract"),
    ("cinder", "password", "OS_CINDER__PASSWORD from the compute contract"),
]
REPORTED = [
    ("libvirt", "virt_type", "spec.libvirt.virtType"),
    ("libvirt", "cpu_mode", "spec.libvirt.cpuMode"),
    ("libvirt", "cpu_models", "spec.libvirt.cpuModels"),
    ("libvirt", "images_type", "spec.libvirt.imagesType"),
]


def options(extra: dict[str, dict[str, str]] | None = None, **libvirt: object) -> compute_config.Options:
    return compute_config.options({"extraConfig": extra or {}, "libvirt": libvirt})


def text_of(wanted: compute_config.Options) -> str:
    sections = ["\n".join([f"[{name}]", *(f"{k} = {v}" for k, v in keys.items())]) for name, keys in wanted.items()]
    return "\n\n".join(sections) + "\n"


# --- owned keys


def test_owned_keys_are_those_of_the_specification() -> None:
    table = [(owned.section, owned.key, owned.source) for owned in compute_config.OWNED_KEYS]
    assert table == REJECTED + REPORTED


def test_keys_of_spec_libvirt_are_reported_and_all_others_rejected() -> None:
    rejected = [(owned.section, owned.key) for owned in compute_config.OWNED_KEYS if owned.rejected]
    assert rejected == [(section, key) for section, key, _ in REJECTED]


@pytest.mark.owned_key("{section}", "{key}", "rejected")
@pytest.mark.parametrize(("section", "key"), [row[:2] for row in REJECTED])
def test_rejected_key_that_got_past_admission_is_not_rendered(section: str, key: str) -> None:
    assert "mine" not in options({section: {key: "mine"}}).get(section, {}).values()


@pytest.mark.parametrize("section", ["LIBVIRT", "Libvirt"])
def test_rejected_key_is_known_in_any_case_of_its_section(section: str) -> None:
    assert section not in options({section: {"live_migration_uri": "qemu+tcp://%s/system"}})


def test_section_default_in_small_letters_is_another_section() -> None:
    assert options({"default": {"host": "x"}})["default"] == {"host": "x"}


@pytest.mark.owned_key("{section}", "{key}", "reported")
@pytest.mark.parametrize(("section", "key"), [row[:2] for row in REPORTED])
def test_reported_key_is_honoured(section: str, key: str) -> None:
    assert options({section: {key: "mine"}})[section][key] == "mine"


@pytest.mark.parametrize(("section", "key"), [row[:2] for row in REJECTED + REPORTED])
def test_owned_key_in_extra_config_is_not_healthy(section: str, key: str) -> None:
    condition = compute_config.judge_extra_config({section: {key: "x"}})["condition"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "ExtraConfigHealthy",
        "False",
        "OwnedKeysOverridden",
    )


def test_overridden_keys_are_named_in_order_with_what_follows() -> None:
    extra = {"libvirt": {"virt_type": "qemu", "cpu_mode": "none", "rbd_user": "x"}, "DEFAULT": {"host": "x"}}
    assert compute_config.judge_extra_config(extra)["condition"]["message"] == (
        "spec.extraConfig overrides operator-owned keys: "
        "[DEFAULT] host (the compute service would not register under its node's name); "
        "[libvirt] cpu_mode (spec.libvirt.cpuMode); "
        "[libvirt] virt_type (spec.libvirt.virtType)"
    )


@pytest.mark.parametrize("extra", [None, {}, {"DEFAULT": {"debug": "true"}}, {"vnc": {"server_listen": "::"}}])
def test_extra_config_without_owned_keys_is_healthy(extra: dict[str, dict[str, str]] | None) -> None:
    condition = compute_config.judge_extra_config(extra)["condition"]
    assert (condition["status"], condition["reason"]) == ("True", "NoOwnedKeysOverridden")


# --- what a pool renders


def test_pool_without_wishes_renders_the_defaults_of_the_specification() -> None:
    assert options() == {
        "DEFAULT": {"compute_driver": "libvirt.LibvirtDriver", "state_path": "/var/lib/nova"},
        "libvirt": {
            "connection_uri": "qemu:///system",
            "live_migration_scheme": "tls",
            "live_migration_with_native_tls": "true",
            "virt_type": "kvm",
        },
        "os_vif_ovs": {"ovsdb_connection": "unix:/run/openvswitch/db.sock"},
        "oslo_concurrency": {"lock_path": "/var/lib/nova/tmp"},
        "vnc": {"server_listen": "$my_ip"},
    }


def test_libvirt_settings_are_rendered_under_novas_names() -> None:
    libvirt = options(virtType="qemu", cpuMode="custom", cpuModels=["Haswell", "IvyBridge"], imagesType="qcow2")[
        "libvirt"
    ]
    assert {key: libvirt[key] for key in ("virt_type", "cpu_mode", "cpu_models", "images_type")} == {
        "virt_type": "qemu",
        "cpu_mode": "custom",
        "cpu_models": "Haswell,IvyBridge",
        "images_type": "qcow2",
    }


def test_extra_config_wins_key_by_key() -> None:
    rendered = options({"DEFAULT": {"compute_driver": "fake.FakeDriverWithoutFakeNodes", "debug": "true"}})
    assert rendered["DEFAULT"] == {
        "compute_driver": "fake.FakeDriverWithoutFakeNodes",
        "debug": "true",
        "state_path": "/var/lib/nova",
    }


def test_sections_and_keys_are_in_byte_order() -> None:
    rendered = options({"é": {"b": "1"}, "Z": {"é": "1", "z": "1", "Z": "1"}, "a": {"x": "1"}})
    assert list(rendered) == ["DEFAULT", "Z", "a", "libvirt", "os_vif_ovs", "oslo_concurrency", "vnc", "é"]
    assert list(rendered["Z"]) == ["Z", "z", "é"]


def test_empty_section_is_not_rendered() -> None:
    assert "empty" not in options({"empty": {}})


# --- what may not enter


@pytest.mark.parametrize("section", ["a\nb", "", "a]\n[b", "a]b", "[a", " a", "a ", "a\tb", "a\x9fb"])
@pytest.mark.parametrize("keys", [{"k": "1"}, {}], ids=["with a key", "empty"])
def test_section_that_would_be_read_as_something_else_is_refused(section: str, keys: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"spec.extraConfig[{section}]: ")):
        options({section: keys})


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("DEFAULT", "debug", "true\n[libvirt]"),
        ("DEFAULT", "debug", "true\rx"),
        ("DEFAULT", "debug", "true\tx"),
        ("DEFAULT", "debug", "\x00"),
        ("DEFAULT", "debug", "a\x85b"),
        ("DEFAULT", "a\nb", "1"),
        ("s", "", "1"),
        ("s", "a=b", "1"),
        ("s", "a:b", "1"),
        ("s", "[libvirt]", "1"),
        ("s", "# a", "1"),
        ("s", ";a", "1"),
        ("DEFAULT", "host ", "1"),
        ("DEFAULT", " host", "1"),
        ("DEFAULT", "\thost", "1"),
    ],
)
def test_text_that_would_be_read_as_something_else_is_refused(section: str, key: str, value: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"spec.extraConfig[{section}][{key}]: ")):
        options({section: {key: value}})


@pytest.mark.parametrize(
    "value", ["", " padded ", "a = b", "[x]", "# no comment", "; x", "%(host)s", "ü😀", "{{ 7*7 }}"]
)
def test_harmless_value_is_read_back_as_it_was_given(value: str) -> None:
    wanted = options({"s": {"k": value}})
    compute_config.check_rendered(text_of(wanted), wanted)


@pytest.mark.parametrize(
    "text",
    [
        "[DEFAULT]\ndebug = true\n",
        "[DEFAULT]\ndebug = true\nhost = x\n[s]\nk = 1\n",
        "[DEFAULT]\ndebug = false\n[s]\nk = 1\n",
        "[DEFAULT]\ndebug = true\n[s]\nk = 1\n[more]\nx = 1\n",
        "[DEFAULT]\ndebug = true\n[s]\nk = 1\n 2\n",
    ],
    ids=["section missing", "key more", "another value", "section more", "continued"],
)
def test_file_that_reads_differently_is_refused_with_its_section(text: str) -> None:
    with pytest.raises(ValueError, match=r"compute-pool.conf reads back differently in section \["):
        compute_config.check_rendered(text, {"DEFAULT": {"debug": "true"}, "s": {"k": "1"}})


@pytest.mark.parametrize("text", ["k = 1\n", "[s]\nk = 1\nk = 2\n", "[s]\nk\n", "[s\nk = 1\n"])
def test_file_that_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"compute-pool.conf cannot be read back"):
        compute_config.check_rendered(text, {"s": {"k": "1"}})


# --- the ConfigMap


def test_hash_is_of_the_sorted_pairs_with_their_byte_lengths() -> None:
    # é is two bytes long; b comes before é.
    by_hand = hashlib.sha256(b"1:b=3:one\n2:\xc3\xa9=4:a\xc3\xa9\n\n").hexdigest()[:8]
    assert compute_config.content_hash({"é": "aé\n", "b": "one"}) == by_hand


def test_hash_of_a_known_text_never_changes() -> None:
    assert compute_config.content_hash({"compute-pool.conf": "[DEFAULT]\n"}) == "b80db346"


def test_name_carries_the_hash_of_the_text() -> None:
    text = "[DEFAULT]\n"
    digest = compute_config.content_hash({"compute-pool.conf": text})
    assert compute_config.config_map_name("pool-a", text) == f"pool-a-config-{digest}"


def config_map(name: str, created: str, owner: str = "uid-pool-a") -> objects.Data:
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": f"2026-01-01T00:00:{created}Z",
            "ownerReferences": [{"uid": owner}],
        }
    }


def pruned(*config_maps: objects.Data, current: str = "current") -> list[str]:
    return compute_config.config_maps_to_prune(
        config_maps, current=current, owner=ownership.of_pool(objects.novacompute())
    )


def test_three_newest_others_are_kept() -> None:
    maps = [config_map(f"c{number}", f"0{number}") for number in range(6)]
    assert pruned(*maps) == ["c2", "c1", "c0"]


def test_mounted_one_is_kept_however_old_and_does_not_count() -> None:
    maps = [config_map("current", "00"), *(config_map(f"c{number}", f"0{number}") for number in range(1, 4))]
    assert pruned(*maps) == []


def test_of_one_second_the_later_name_counts_as_newer() -> None:
    maps = [config_map(name, "00") for name in ("b", "d", "a", "c")]
    assert pruned(*maps) == ["a"]


def test_config_map_of_another_owner_is_neither_deleted_nor_counted() -> None:
    foreign = [config_map(f"f{number}", f"1{number}", owner="somebody") for number in range(4)]
    assert pruned(*foreign, *(config_map(f"c{number}", f"0{number}") for number in range(3))) == []


# --- the contract


@pytest.mark.parametrize("key", ["nova-compute.conf", "transport_url", "password"])
@pytest.mark.parametrize("value", [None, ""])
def test_missing_or_empty_key_of_the_contract_is_named(key: str, value: str | None) -> None:
    whole = {"nova-compute.conf": "x", "transport_url": "x", "password": "x"}
    data = {name: content for name, content in {**whole, key: value}.items() if content is not None}
    assert compute_config.missing_contract_keys(data) == [key]


def test_other_keys_of_the_contract_may_be_missing() -> None:
    assert compute_config.missing_contract_keys({"nova-compute.conf": "x", "transport_url": "x", "password": "x"}) == []


def test_absent_contract_is_awaited() -> None:
    outcome = compute_config.judge_contract("nova-compute-config", None)
    assert outcome is not None
    assert outcome["condition"]["reason"] == "WaitingForComputeConfig"
    assert "nova-compute-config" in outcome["condition"]["message"]
    assert (outcome["goes_on"], outcome["look"]) == (False, 15)


def test_incomplete_contract_names_every_key() -> None:
    outcome = compute_config.judge_contract("s", ["transport_url", "password"])
    assert outcome is not None
    assert outcome["condition"]["reason"] == "ComputeConfigIncomplete"
    assert outcome["condition"]["message"].endswith("transport_url, password")


def test_whole_contract_is_no_outcome_of_its_own() -> None:
    assert compute_config.judge_contract("s", []) is None


def test_rendered_config_names_its_config_map() -> None:
    condition = compute_config.judge_rendered("pool-a-config-12345678")["condition"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ConfigReady", "True", "ConfigRendered")
    assert "pool-a-config-12345678" in condition["message"]


def test_mounted_is_the_named_config_map_of_the_pool_or_its_newest() -> None:
    owner = ownership.of_pool(objects.novacompute())
    maps = [config_map("old", "00"), config_map("new", "02"), config_map("foreign", "09", owner="somebody")]
    assert compute_config.mounted(maps, "old", owner=owner) == maps[0]
    for unknown in (None, "gone", "foreign"):
        assert compute_config.mounted(maps, unknown, owner=owner) == maps[1]
    assert compute_config.mounted(maps[2:], "foreign", owner=owner) is None
