# SPDX-License-Identifier: Apache-2.0
"""What is wrong with spec.extraConfig: text that breaks the file, keys that the operator owns, options nobody reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import compute_config, option_catalog, violations

FIELD: Final = compute_config.EXTRA_CONFIG
#: The most that the data of one ConfigMap may be.
_MOST_BYTES: Final = 1024 * 1024

ExtraConfig = Mapping[str, Mapping[str, str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Nova:
    """What admission knows of the Nova that a pool names.

    ``catalog`` is None when there is none for its release. ``failure`` says why the Nova could not be read.
    """

    namespace: str
    name: str
    exists: bool = True
    release: str = ""
    catalog: option_catalog.Catalog | None = None
    failure: str = ""

    @property
    def reference(self) -> str:
        return f"Nova {self.namespace}/{self.name}"


def judge(extra: ExtraConfig) -> Iterator[violations.Violation]:
    """What is wrong whatever the Nova's release, in byte order of sections and keys."""
    for section in sorted(extra, key=_utf8):
        problem = compute_config.unusable_section(section)
        if problem is not None:
            yield problem
            continue
        for key in sorted(extra[section], key=_utf8):
            problem = compute_config.unusable_option(section, key, extra[section][key]) or _rejected(section, key)
            if problem is not None:
                yield problem
    if compute_config.rendered_size({"extraConfig": extra}) > _MOST_BYTES:
        yield violations.too_long(FIELD, f"{compute_config.FILE} may not be more than {_MOST_BYTES} bytes")


def judge_options(extra: ExtraConfig, nova: Nova) -> Iterator[violations.Violation]:
    """What the catalog of the Nova's release does not carry; owned keys have a judgement of their own."""
    if nova.failure:
        message = (
            f"the option catalog could not be checked: {nova.reference} could not be read: {nova.failure}; try again"
        )
        yield violations.internal(FIELD, message)
    elif nova.exists and nova.catalog is not None:
        yield from option_catalog.judge(nova.catalog, _free_options(extra), FIELD)


def warn_of_options(extra: ExtraConfig, nova: Nova) -> Iterator[str]:
    """Warnings on the check of the catalog: that there was none, or what a later release will not read."""
    if nova.failure:
        return
    if not nova.exists:
        yield f"extraConfig catalog check skipped: {nova.reference} not found"
    elif nova.catalog is None:
        release = nova.release or "(none named)"
        yield f"extraConfig catalog check skipped: no nova {release} option catalog for {nova.reference}"
    else:
        yield from option_catalog.warn(nova.catalog, _free_options(extra), FIELD)


def _rejected(section: str, key: str) -> violations.Violation | None:
    known = compute_config.owned(section, key)
    if known is None or not known.rejected:
        return None
    message = f"{known.key} is managed via {known.source} and must not be set in extraConfig ({known.impact})"
    return violations.forbidden(violations.key(FIELD, section, key), message)


def _free_options(extra: ExtraConfig) -> dict[str, list[str]]:
    """The options by section that are neither owned nor unusable; without a section that holds owned keys alone."""
    return {
        section: [
            key
            for key, value in keys.items()
            if compute_config.owned(section, key) is None
            and compute_config.unusable_option(section, key, value) is None
        ]
        for section, keys in extra.items()
        if compute_config.unusable_section(section) is None
        and not (keys and all(compute_config.owned(section, key) for key in keys))
    }


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
