# SPDX-License-Identifier: Apache-2.0
"""compute-pool.conf: its options, the keys that the operator owns, the file's check and its hash ("Owned keys").

The file itself is a template in the role config_render; :func:`check_rendered` holds what came out against what went
in, so that no value can add a line of its own.
"""

from __future__ import annotations

import configparser
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    conditions,
    labels,
    ownership,
    violations,
    vocabulary,
    workload,
)

Options = dict[str, dict[str, str]]
FILE: Final = "compute-pool.conf"
EXTRA_CONFIG: Final = "spec.extraConfig"
_MOST_OF_COMMENT: Final = 200
_CONFIG: Final = "config"


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnedKey:
    """A key of compute-pool.conf that the operator owns. A ``rejected`` one is refused, another one is reported.

    ``source`` is what sets it, ``impact`` what follows when spec.extraConfig does instead.
    """

    section: str
    key: str
    rejected: bool
    source: str
    impact: str


def _rejected(section: str, key: str, source: str, impact: str) -> OwnedKey:
    return OwnedKey(section=section, key=key, rejected=True, source=source, impact=impact)


def _reported(key: str, field: str) -> OwnedKey:
    # What follows is that this field does not count.
    source = f"spec.libvirt.{field}"
    return OwnedKey(section="libvirt", key=key, rejected=False, source=source, impact=source)


_HOST_IP: Final = "from status.hostIP"
_NOVA_MOUNT: Final = "the /var/lib/nova host mount"
_COMPUTED: Final = "operator-computed"
# What goes wrong when the pod's own value is not the one in force.
_LOST_STATE: Final = "what nova-compute writes elsewhere is gone with its container"
_PLAIN_MIGRATION: Final = "live migration would leave libvirt TLS"

OWNED_KEYS: Final = (
    _rejected(
        "DEFAULT",
        "host",
        "the node name, OS_DEFAULT__HOST from spec.nodeName",
        "the compute service would not register under its node's name",
    ),
    _rejected("DEFAULT", "my_ip", f"OS_DEFAULT__MY_IP {_HOST_IP}", "every node of the pool would claim one address"),
    _rejected(
        "DEFAULT",
        "transport_url",
        "OS_DEFAULT__TRANSPORT_URL from the compute contract",
        "nova-compute would leave the message bus of its cell",
    ),
    _rejected("DEFAULT", "state_path", _NOVA_MOUNT, _LOST_STATE),
    _rejected("oslo_concurrency", "lock_path", _NOVA_MOUNT, _LOST_STATE),
    _rejected(
        "libvirt", "connection_uri", "the /run/libvirt host mount", "nova-compute would not reach its node's libvirtd"
    ),
    _rejected("libvirt", "live_migration_scheme", _COMPUTED, _PLAIN_MIGRATION),
    _rejected("libvirt", "live_migration_with_native_tls", _COMPUTED, _PLAIN_MIGRATION),
    _rejected("libvirt", "live_migration_uri", _COMPUTED, _PLAIN_MIGRATION),
    _rejected("libvirt", "live_migration_tunnelled", _COMPUTED, _PLAIN_MIGRATION),
    _rejected(
        "libvirt",
        "live_migration_inbound_addr",
        f"OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR {_HOST_IP}",
        "every node of the pool would name one address to migrate to",
    ),
    _rejected(
        "os_vif_ovs",
        "ovsdb_connection",
        "the /run/openvswitch host mount",
        "no port would be plugged into its node's Open vSwitch",
    ),
    _rejected(
        "vnc",
        "server_proxyclient_address",
        f"OS_VNC__SERVER_PROXYCLIENT_ADDRESS {_HOST_IP}",
        "the console proxy would dial one address for every node of the pool",
    ),
    *(
        _rejected(
            section,
            "password",
            f"OS_{section.upper()}__PASSWORD from the compute contract",
            "the service user's password would stand in a ConfigMap",
        )
        for section in ("keystone_authtoken", "service_user", "placement", "neutron", "cinder")
    ),
    _reported("virt_type", "virtType"),
    _reported("cpu_mode", "cpuMode"),
    _reported("cpu_models", "cpuModels"),
    _reported("images_type", "imagesType"),
)

_OWNED: Final = {(owned.section, owned.key): owned for owned in OWNED_KEYS}


def owned(section: str, key: str) -> OwnedKey | None:
    """The owned key that Nova would read here: oslo.config ignores the case of every section but DEFAULT.

    It minds the case of keys: ``[DEFAULT] HOST`` is read by nobody, so it is no owned key but an unknown option.
    """
    return _OWNED.get((section if section == "DEFAULT" else section.lower(), key))


def default_options(libvirt: Mapping[str, Any]) -> Options:
    """The options that a pool renders before spec.extraConfig; ``libvirt`` is spec.libvirt."""
    chosen = {
        "virt_type": libvirt.get("virtType") or "kvm",
        "cpu_mode": libvirt.get("cpuMode") or "",
        "cpu_models": ",".join(libvirt.get("cpuModels") or []),
        "images_type": libvirt.get("imagesType") or "",
    }
    return {
        "DEFAULT": {"compute_driver": "libvirt.LibvirtDriver", "state_path": "/var/lib/nova"},
        "libvirt": {
            "connection_uri": "qemu:///system",
            "live_migration_scheme": "tls",
            "live_migration_with_native_tls": "true",
            **{key: value for key, value in chosen.items() if value},
        },
        "os_vif_ovs": {"ovsdb_connection": "unix:/run/openvswitch/db.sock"},
        "oslo_concurrency": {"lock_path": "/var/lib/nova/tmp"},
        # A console has no password: it listens where the console proxy dials and nowhere else.
        "vnc": {"server_listen": "$my_ip"},
    }


def options(spec: Mapping[str, Any]) -> Options:
    """What compute-pool.conf holds: section to key to value, each in byte order, spec.extraConfig merged key by key.

    A rejected key that got past admission is left out: the pod's own value stands. Raises ValueError naming the field
    when a section, key or value would break the file.
    """
    merged = default_options(spec.get("libvirt") or {})
    for section, keys in (spec.get("extraConfig") or {}).items():
        _refuse(unusable_section(section))
        for key, value in keys.items():
            _refuse(unusable_option(section, key, value))
            if not _is_rejected(section, key):
                merged.setdefault(section, {})[key] = value
    return {section: dict(sorted(merged[section].items(), key=_bytes)) for section in sorted(merged, key=_utf8)}


def _refuse(problem: violations.Violation | None) -> None:
    if problem is not None:
        raise ValueError(str(problem))


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _bytes(item: tuple[str, str]) -> bytes:
    return _utf8(item[0])


def _is_rejected(section: str, key: str) -> bool:
    known = owned(section, key)
    return known is not None and known.rejected


def unusable_section(section: str) -> violations.Violation | None:
    """Why a section's name would break the file or be read as something else, or None."""
    field = violations.key(EXTRA_CONFIG, section)
    if not section:
        return violations.required(field, "the name of a section must not be empty")
    control = _control_character("section", section)
    if control:
        return violations.forbidden(field, control)
    if set(section) & set("[]") or section != section.strip():
        return violations.invalid(field, section, "the section would not be read back as written")
    return None


def unusable_option(section: str, key: str, value: str) -> violations.Violation | None:
    """Why a key or its value would break the file or be read as something else, or None. Never shows the value."""
    field = violations.key(EXTRA_CONFIG, section, key)
    if not key:
        return violations.required(field, "the name of an option must not be empty")
    for part, text in (("key", key), ("value", value)):
        control = _control_character(part, text)
        if control:
            return violations.forbidden(field, control)
    if set(key) & set("=:[") or key.startswith(("#", ";")) or key != key.strip():
        return violations.invalid(field, key, "the option would not be read back as written")
    return None


# Unicode's category Cc.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _control_character(part: str, text: str) -> str:
    """What to say of a control character in a part of spec.extraConfig; empty when there is none ("Webhook rules")."""
    if not _CONTROL.search(text):
        return ""
    others = "" if "\n" in text or "\r" in text else " or another control character"
    return f"extraConfig {part} must not contain a newline or carriage return{others}"


def rendered_size(spec: Mapping[str, Any]) -> int:
    """How many bytes compute-pool.conf takes at most for a spec; what cannot be rendered counts as it stands."""
    merged = default_options(spec.get("libvirt") or {})
    for section, keys in (spec.get("extraConfig") or {}).items():
        merged.setdefault(section, {}).update(keys)
    # A section is "[name]" between two line ends, an option "key = value" and one; the comment on top is shorter.
    sections = sum(len(_utf8(section)) + 4 for section in merged)
    options = sum(len(_utf8(key)) + len(_utf8(value)) + 4 for keys in merged.values() for key, value in keys.items())
    return _MOST_OF_COMMENT + sections + options


def check_rendered(text: str, wanted: Options) -> None:
    """Hold the rendered file against its options. Raises ValueError naming the section that reads differently."""
    parser = configparser.RawConfigParser(
        default_section="\0none", delimiters=("=",), comment_prefixes=("#",), strict=True, empty_lines_in_values=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(f"{FILE} cannot be read back: {type(error).__name__}") from error
    read = {section: dict(parser.items(section)) for section in parser.sections()}
    expected = {section: {key: value.strip() for key, value in keys.items()} for section, keys in wanted.items()}
    for section in sorted(read.keys() | expected.keys()):
        if read.get(section) != expected.get(section):
            raise ValueError(f"{FILE} reads back differently in section [{section}]")


def content_hash(data: Mapping[str, str]) -> str:
    """Eight hex digits that name a ConfigMap by its content: SHA-256 over the byte-sorted keys and their values.

    Each pair enters as ``len:key=len:value`` and a newline, lengths in bytes, so that no two contents read alike.
    """
    digest = hashlib.sha256()
    for key in sorted(data, key=_utf8):
        name, value = key.encode(), data[key].encode()
        digest.update(b"%d:%s=%d:%s\n" % (len(name), name, len(value), value))
    return digest.hexdigest()[:8]


def config_map_base(pool: str) -> str:
    """The value of the label that a pool's ConfigMaps are listed by: how their names begin, if a label holds it."""
    return labels.fitting(pool, _CONFIG)


def config_map_labels(pool: Mapping[str, Any]) -> dict[str, str]:
    """The labels of every ConfigMap of a pool."""
    name: str = pool["metadata"]["name"]
    marks: dict[str, str] = ownership.of_pool(pool).marks()["labels"]
    return {**workload.labels(name), vocabulary.CONFIG_BASE_LABEL: config_map_base(name), **marks}


def config_map_name(pool: str, text: str) -> str:
    """The name of the ConfigMap that holds this text as compute-pool.conf."""
    return f"{pool}-{_CONFIG}-{content_hash({FILE: text})}"


def config_maps_to_prune(
    config_maps: Iterable[Mapping[str, Any]], *, current: str, owner: ownership.Owner
) -> list[str]:
    """The names of the pool's ConfigMaps to delete: all but the current one and the three newest others.

    Only those that the ``owner`` owns; newest by creationTimestamp, then by name.
    """
    others = [item["metadata"] for item in _newest_first(config_maps, owner) if item["metadata"]["name"] != current]
    return [metadata["name"] for metadata in others[vocabulary.KEPT_CONFIGS :]]


def mounted(
    config_maps: Iterable[Mapping[str, Any]], name: str | None, *, owner: ownership.Owner
) -> Mapping[str, Any] | None:
    """The one of the ``owner``'s ConfigMaps that the pods mount: of this name, or the newest if there is none such."""
    owned = _newest_first(config_maps, owner)
    return next((item for item in owned if item["metadata"]["name"] == name), next(iter(owned), None))


def text_of(config_map: Mapping[str, Any]) -> str:
    """The compute-pool.conf in a ConfigMap; empty where it has none."""
    text: str = (config_map.get("data") or {}).get(FILE, "")
    return text


def _newest_first(config_maps: Iterable[Mapping[str, Any]], owner: ownership.Owner) -> list[Mapping[str, Any]]:
    owned = filter(owner.owns, config_maps)
    return sorted(
        owned, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]), reverse=True
    )


def missing_contract_keys(data: Mapping[str, Any]) -> list[str]:
    """The keys of the contract Secret that are missing or empty."""
    return [key for key in vocabulary.CONTRACT_KEYS if not data.get(key)]


def judge_contract(secret: str, missing: Sequence[str] | None) -> dict[str, Any] | None:
    """The outcome that an unusable contract gives, or None when it is whole. ``missing`` is None without a Secret."""
    if missing is None:
        return conditions.outcome(
            conditions.CONFIG, "WaitingForComputeConfig", f"The compute contract Secret {secret} does not exist"
        )
    if missing:
        return conditions.outcome(
            conditions.CONFIG,
            "ComputeConfigIncomplete",
            f"Missing or empty in the Secret {secret}: {', '.join(missing)}",
        )
    return None


def judge_rendered(config_map: str) -> dict[str, Any]:
    """The outcome of a rendered compute-pool.conf."""
    return conditions.outcome(conditions.CONFIG, "ConfigRendered", f"{FILE} is rendered into ConfigMap {config_map}")


def judge_extra_config(extra: Mapping[str, Mapping[str, str]] | None) -> dict[str, Any]:
    """The ExtraConfigHealthy outcome of spec.extraConfig."""
    overridden = [
        f"[{section}] {key} ({known.impact})"
        for section, keys in sorted((extra or {}).items())
        for key in sorted(keys)
        if (known := owned(section, key))
    ]
    if overridden:
        return conditions.outcome(
            conditions.EXTRA_CONFIG,
            "OwnedKeysOverridden",
            f"spec.extraConfig overrides operator-owned keys: {'; '.join(overridden)}",
        )
    return conditions.outcome(
        conditions.EXTRA_CONFIG, "NoOwnedKeysOverridden", "spec.extraConfig overrides no operator-owned key"
    )
