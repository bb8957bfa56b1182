# SPDX-License-Identifier: Apache-2.0
"""Keys and values of labels, judged and worded as Kubernetes does."""

from __future__ import annotations

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import labels

NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize("key", ["a", "A.b_c-9", "a" * 63, "x.y/a", f"{'a' * 253}/{'b' * 63}"])
def test_keys(key: str) -> None:
    assert labels.key_problems(key) == []


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("", ["name part must be non-empty", f"name part {NAME}"]),
        ("a\n", [f"name part {NAME}"]),
        ("-a", [f"name part {NAME}"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("ü" * 32, ["name part must be no more than 63 bytes", f"name part {NAME}"]),
        ("/a", ["prefix part must be non-empty"]),
        ("a/", ["name part must be non-empty", f"name part {NAME}"]),
        ("A/a", [f"prefix part {SUBDOMAIN}"]),
        (f"{'a' * 254}/a", ["prefix part must be no more than 253 bytes"]),
        (
            "a/b/c",
            [f"a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
    ],
)
def test_what_is_no_key(key: str, problems: list[str]) -> None:
    assert labels.key_problems(key) == problems


@pytest.mark.parametrize("value", ["", "a", "A.b_c-9", "a" * 63])
def test_values(value: str) -> None:
    assert labels.value_problems(value) == []


@pytest.mark.parametrize(
    ("value", "beginnings"),
    [
        ("a b", ["a valid label must be"]),
        ("a\n", ["a valid label must be"]),
        ("a" * 64, ["must be no more than 63 bytes"]),
    ],
)
def test_what_is_no_value(value: str, beginnings: list[str]) -> None:
    problems = labels.value_problems(value)
    assert [problem[: len(beginning)] for problem, beginning in zip(problems, beginnings, strict=True)] == beginnings
