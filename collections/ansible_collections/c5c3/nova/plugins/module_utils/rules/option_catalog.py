# SPDX-License-Identifier: Apache-2.0
"""The options that a release of Nova knows, and what of spec.extraConfig it would never read.

A catalog is data, made of Nova's own options:
``{"service", "release", "sections": {section: {"opts": [name], "deprecated": {name: replacement}}}}``. Names count as
they stand; a replacement reads ``[section] name``, and is empty for an option that goes without one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import violations

Catalog = Mapping[str, Any]

#: Nova makes a section for each type of mediated device that [devices] enabled_mdev_types names, so none is listed.
_DEVICE_SECTION: Final = "mdev_"
_DEVICE_OPTIONS: Final = frozenset({"device_addresses", "max_instances", "mdev_class"})


def release_of(nova: Mapping[str, Any]) -> str:
    """The release that a Nova's spec asks for, without the number of a patch (``2026.1-p2`` is ``2026.1``)."""
    return re.sub(r"-p[0-9]+$", "", str((nova.get("spec") or {}).get("openStackRelease") or ""))


def judge(catalog: Catalog, options: Mapping[str, Collection[str]], field: str) -> Iterator[violations.Violation]:
    """The sections and options, by section, that the catalog does not carry; in byte order."""
    where = _where(catalog)
    for section, keys in _in_order(options):
        known = _options_of(catalog, section)
        if known is None:
            yield violations.invalid(violations.key(field, section), section, f"no such section in the {where}")
            continue
        for key in keys:
            if key not in known:
                yield violations.invalid(violations.key(field, section, key), key, f"no such option in the {where}")


def warn(catalog: Catalog, options: Mapping[str, Collection[str]], field: str) -> Iterator[str]:
    """A warning for each option that the release still reads and a later one will not."""
    for section, keys in _in_order(options):
        deprecated = (catalog["sections"].get(section) or {}).get("deprecated") or {}
        for key in keys:
            if key in deprecated:
                way_out = f"use {deprecated[key]}" if deprecated[key] else "it has no replacement"
                release = f"{catalog['service']} {catalog['release']}"
                yield f"{violations.key(field, section, key)}: deprecated in {release}, {way_out}"


def _options_of(catalog: Catalog, section: str) -> Collection[str] | None:
    listed = catalog["sections"].get(section)
    if listed is not None:
        return {*listed.get("opts", ()), *listed.get("deprecated", ())}
    return _DEVICE_OPTIONS if section.startswith(_DEVICE_SECTION) else None


def _in_order(options: Mapping[str, Collection[str]]) -> list[tuple[str, list[str]]]:
    return [(section, sorted(options[section], key=_utf8)) for section in sorted(options, key=_utf8)]


def _where(catalog: Catalog) -> str:
    return f"{catalog['service']} {catalog['release']} option catalog"


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
