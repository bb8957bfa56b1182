# SPDX-License-Identifier: Apache-2.0
"""spec.extraConfig: text that breaks the file, keys that the operator owns, options that a release does not know."""

from __future__ import annotations

import pathlib
from typing import Any

import jinja2
import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import admission, compute_config, extra_config
from unit.admission.reviews import CATALOG, NOVA, created, pool, updated

rule = pytest.mark.rule
ROLES = pathlib.Path(__file__).parents[3] / "roles"
REJECTED = [known for known in compute_config.OWNED_KEYS if known.rejected]
REPORTED = [known for known in compute_config.OWNED_KEYS if not known.rejected]


def nova(**known: Any) -> extra_config.Nova:
    return extra_config.Nova(namespace="openstack", name="nova", **known)


def warnings(extra: Any, known: extra_config.Nova, old: Any = None) -> tuple[str, ...]:
    operation = "UPDATE" if old else "CREATE"
    return admission.review(operation, pool(extraConfig=extra), old, nova=known).warnings


# --- owned keys


@rule("extra_config", "<key> is managed via <source> and must not be set in extraConfig (<impact>)")
@pytest.mark.parametrize("known", REJECTED, ids=lambda known: f"{known.section}-{known.key}")
def test_a_rejected_key_is_refused_with_its_source_and_impact(known: compute_config.OwnedKey) -> None:
    assert created(extraConfig={known.section: {known.key: "x"}}) == [
        (
            f"spec.extraConfig[{known.section}][{known.key}]: Forbidden: {known.key} is managed via {known.source} "
            f"and must not be set in extraConfig ({known.impact})"
        )
    ]


@pytest.mark.parametrize("known", REPORTED, ids=lambda known: known.key)
def test_a_reported_key_is_admitted(known: compute_config.OwnedKey) -> None:
    assert created(extraConfig={known.section: {known.key: "x"}}, nova=NOVA) == []


def test_a_rejected_key_in_a_section_of_another_letter_case_is_refused_since_nova_would_read_it() -> None:
    (said,) = created(extraConfig={"LibVirt": {"connection_uri": "test:///default"}}, nova=NOVA)
    assert said.startswith("spec.extraConfig[LibVirt][connection_uri]: Forbidden: connection_uri is managed via ")


def test_a_rejected_key_in_another_letter_case_is_an_option_that_nova_does_not_know() -> None:
    assert created(extraConfig={"DEFAULT": {"HOST": "x"}}, nova=NOVA) == [
        'spec.extraConfig[DEFAULT][HOST]: Invalid value: "HOST": no such option in the nova 2026.1 option catalog'
    ]


# --- text that would break the file


@rule("compute_config", "extraConfig <part> must not contain a newline or carriage return<others>")
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("part", ["section", "key", "value"])
def test_a_line_end_is_refused_wherever_it_stands(part: str, end: str) -> None:
    texts = {"section": "libvirt", "key": "a", "value": "b"}
    texts[part] += f"{end}[DEFAULT]"
    said = created(extraConfig={texts["section"]: {texts["key"]: texts["value"]}})
    assert [one.rpartition(": ")[2] for one in said] == [
        f"extraConfig {part} must not contain a newline or carriage return"
    ]


@rule("compute_config", "extraConfig <part> must not contain a newline or carriage return<others>")
@pytest.mark.parametrize("character", ["\x00", "\t", "\x0b", "\x1b", "\x1f", "\x7f", "\x80", "\x85", "\x9f"])
@pytest.mark.parametrize("part", ["section", "key", "value"])
def test_any_other_control_character_is_refused_wherever_it_stands(part: str, character: str) -> None:
    texts = {"section": "libvirt", "key": "a", "value": "b"}
    texts[part] += f"{character}c"
    said = created(extraConfig={texts["section"]: {texts["key"]: texts["value"]}})
    assert [one.rpartition(": ")[2] for one in said] == [
        f"extraConfig {part} must not contain a newline or carriage return or another control character"
    ]


@pytest.mark.parametrize("character", [" ", "~", "\xa0", "\xad", "\u2028", "😀"])
def test_a_character_that_is_no_control_character_is_admitted(character: str) -> None:
    assert created(extraConfig={"DEFAULT": {"debug": f"a{character}b"}}, nova=NOVA) == []


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("a\nb", "Forbidden: extraConfig section must not contain a newline or carriage return"),
        ("", "Required value: the name of a section must not be empty"),
        ("a]", 'Invalid value: "a]": the section would not be read back as written'),
    ],
)
def test_the_name_of_an_empty_section_is_judged_too(section: str, said: str) -> None:
    assert created(extraConfig={section: {}}, nova=NOVA) == [f"spec.extraConfig[{section}]: {said}"]


def test_a_refusal_of_a_value_does_not_repeat_it() -> None:
    assert "canary" not in "".join(created(extraConfig={"ironic": {"password": "canary\n"}}))


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        pytest.param(
            {"": {"a": "b"}},
            "spec.extraConfig[]: Required value: the name of a section must not be empty",
            marks=rule("compute_config", "the name of a section must not be empty"),
        ),
        pytest.param(
            {"a": {"": "b"}},
            "spec.extraConfig[a][]: Required value: the name of an option must not be empty",
            marks=rule("compute_config", "the name of an option must not be empty"),
        ),
        pytest.param(
            {"a]": {"a": "b"}},
            'spec.extraConfig[a]]: Invalid value: "a]": the section would not be read back as written',
            marks=rule("compute_config", "the section would not be read back as written"),
        ),
        pytest.param(
            {"a": {"b = c\\": "d"}},
            'spec.extraConfig[a][b = c\\]: Invalid value: "b = c\\\\": the option would not be read back as written',
            marks=rule("compute_config", "the option would not be read back as written"),
        ),
    ],
)
def test_a_name_that_would_be_read_as_something_else_is_refused(extra: Any, said: str) -> None:
    assert created(extraConfig=extra) == [said]


@pytest.mark.parametrize("value", ["{{ 7 * 7 }}", "{% raw %}", "$my_ip", "%(a)s", "", " x ", "ü"])
def test_text_that_looks_like_a_template_is_admitted_as_the_text_it_is(value: str) -> None:
    assert created(extraConfig={"DEFAULT": {"debug": value}}, nova=NOVA) == []


# --- size


def test_a_million_bytes_are_admitted_since_a_config_map_holds_them() -> None:
    assert created(extraConfig={"DEFAULT": {"debug": "x" * 1_000_000}}, nova=NOVA) == []


@rule("extra_config", "compute-pool.conf may not be more than 1048576 bytes")
def test_more_than_a_config_map_holds_is_refused() -> None:
    assert created(extraConfig={"DEFAULT": {"debug": "ü" * 524_288}}, nova=NOVA) == [
        "spec.extraConfig: Too long: compute-pool.conf may not be more than 1048576 bytes"
    ]


def test_a_long_name_is_cut_in_the_refusal() -> None:
    (said,) = created(extraConfig={"DEFAULT": {"x" * 100_000: "1"}}, nova=NOVA)
    assert len(said) < 1_000


@pytest.mark.parametrize(
    "extra", [{}, {"é": {"ü": "ö"}, "b": {}}, {"DEFAULT": {"debug": "x" * 1000}, "libvirt": {"a": ""}}]
)
def test_the_size_that_is_judged_is_that_of_the_rendered_file(extra: Any) -> None:
    spec = {"extraConfig": extra, "libvirt": {"virtType": "qemu"}}
    text = (ROLES / "config_render/templates/compute-pool.conf.j2").read_text(encoding="utf-8")
    # As Ansible renders: with trimmed blocks.
    template = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, autoescape=False).from_string(text)
    rendered = template.render(config_render_options=compute_config.options(spec))
    assert 0 <= compute_config.rendered_size(spec) - len(rendered.encode()) <= 200


# --- the option catalog


@rule("option_catalog", "no such option in the <where>")
def test_an_option_that_the_release_does_not_know_is_refused() -> None:
    assert created(extraConfig={"libvirt": {"vtype": "kvm", "virt_type": "kvm"}}, nova=NOVA) == [
        'spec.extraConfig[libvirt][vtype]: Invalid value: "vtype": no such option in the nova 2026.1 option catalog'
    ]


@rule("option_catalog", "no such section in the <where>")
def test_a_section_that_the_release_does_not_know_is_refused_once() -> None:
    assert created(extraConfig={"libvrit": {"a": "1", "b": "2"}}, nova=NOVA) == [
        'spec.extraConfig[libvrit]: Invalid value: "libvrit": no such section in the nova 2026.1 option catalog'
    ]


@pytest.mark.parametrize("keys", [{}, {"": "1"}], ids=["empty", "without a usable key"])
def test_a_section_that_the_release_does_not_know_is_refused_whatever_it_holds(keys: Any) -> None:
    said = created(extraConfig={"libvrit": keys, "DEFAULT": {}, "mdev_nvidia-35": {}}, nova=NOVA)
    assert said[-1] == (
        'spec.extraConfig[libvrit]: Invalid value: "libvrit": no such section in the nova 2026.1 option catalog'
    )
    assert len(said) == len(keys) + 1


def test_unknown_options_are_named_in_order() -> None:
    extra = {"libvirt": {"z": "1", "a": "1"}, "DEFAULT": {"b": "1"}}
    assert [one.partition(":")[0] for one in created(extraConfig=extra, nova=NOVA)] == [
        "spec.extraConfig[DEFAULT][b]",
        "spec.extraConfig[libvirt][a]",
        "spec.extraConfig[libvirt][z]",
    ]


@pytest.mark.parametrize("option", ["device_addresses", "max_instances", "mdev_class"])
def test_the_section_of_a_mediated_device_is_known_though_nova_makes_it_as_it_runs(option: str) -> None:
    assert created(extraConfig={"mdev_nvidia-35": {option: "x"}}, nova=NOVA) == []


def test_the_section_of_a_mediated_device_knows_no_other_option() -> None:
    assert len(created(extraConfig={"mdev_nvidia-35": {"max_instance": "x"}}, nova=NOVA)) == 1


def test_a_deprecated_option_is_a_warning_with_its_replacement() -> None:
    assert warnings({"DEFAULT": {"old_debug": "1"}}, NOVA) == (
        "spec.extraConfig[DEFAULT][old_debug]: deprecated in nova 2026.1, use [DEFAULT] debug",
    )


def test_an_option_that_goes_without_replacement_is_a_warning() -> None:
    assert warnings({"libvirt": {"gone": "1"}}, NOVA) == (
        "spec.extraConfig[libvirt][gone]: deprecated in nova 2026.1, it has no replacement",
    )


def test_a_nova_that_does_not_exist_yet_is_the_single_warning() -> None:
    verdict = admission.review("CREATE", pool(extraConfig={"a": {"b": "c"}, "d": {"e": "f"}}), nova=nova(exists=False))
    assert verdict == admission.Verdict(warnings=("extraConfig catalog check skipped: Nova openstack/nova not found",))


def test_a_release_without_a_catalog_is_the_single_warning() -> None:
    verdict = admission.review("CREATE", pool(extraConfig={"a": {"b": "c"}}), nova=nova(release="2031.1"))
    assert verdict == admission.Verdict(
        warnings=("extraConfig catalog check skipped: no nova 2031.1 option catalog for Nova openstack/nova",)
    )


@rule(
    "extra_config",
    "the option catalog could not be checked: <reference> could not be read: <failure>; try again",
)
def test_a_nova_that_cannot_be_read_refuses_and_says_why() -> None:
    assert created(extraConfig={"DEFAULT": {"debug": "1"}}, nova=nova(failure="HTTP 503")) == [
        (
            "spec.extraConfig: Internal error: the option catalog could not be checked: "
            "Nova openstack/nova could not be read: HTTP 503; try again"
        )
    ]


@pytest.mark.parametrize("extra", [None, {}])
def test_an_empty_extra_config_asks_for_no_nova(extra: Any) -> None:
    assert not admission.needs_nova("CREATE", pool(extraConfig=extra), None)


@pytest.mark.parametrize("extra", [{"DEFAULT": {"debug": "1"}}, {"DEFAULT": {}}], ids=["an option", "a section"])
def test_a_new_extra_config_asks_for_the_nova(extra: Any) -> None:
    assert admission.needs_nova("CREATE", pool(extraConfig=extra), None)


def test_an_update_that_leaves_the_extra_config_alone_asks_for_no_nova() -> None:
    old = pool(extraConfig={"DEFAULT": {"gone": "1"}})
    new = pool(extraConfig={"DEFAULT": {"gone": "1"}}, nodeSelector={"pool": "b"})
    assert not admission.needs_nova("UPDATE", new, old)
    assert updated(old, new, nova=NOVA) == []


def test_an_update_that_changes_the_extra_config_is_checked_whole() -> None:
    old = pool(extraConfig={"DEFAULT": {"unknown": "1"}})
    new = pool(extraConfig={"DEFAULT": {"unknown": "1", "debug": "1"}})
    assert admission.needs_nova("UPDATE", new, old)
    assert [one.partition(":")[0] for one in updated(old, new, nova=NOVA)] == ["spec.extraConfig[DEFAULT][unknown]"]


def test_owned_keys_are_exempt_from_the_catalog() -> None:
    without = {**CATALOG, "sections": {"DEFAULT": {"opts": []}}}
    extra = {"libvirt": {"virt_type": "qemu"}}
    assert created(extraConfig=extra, nova=nova(release="2026.1", catalog=without)) == []


def test_what_admission_refuses_as_text_is_not_rendered_either() -> None:
    with pytest.raises(ValueError, match="extraConfig value must not contain a newline or carriage return"):
        compute_config.options({"extraConfig": {"DEFAULT": {"debug": "1\n"}}})
