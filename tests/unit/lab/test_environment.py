# SPDX-License-Identifier: Apache-2.0
"""The environment and command line of a container."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from novalab.agent import environment

DATA = {("secrets", "s"): {"key": b"geheim"}, ("configmaps", "c"): {"A": b"1", "B": b"2"}}


def source(kind: str, name: str, optional: object) -> Mapping[str, bytes]:
    if (kind, name) not in DATA and not optional:
        raise environment.ConfigError(f"{kind} {name} not found")
    return DATA.get((kind, name), {})


def build(*env: dict[str, object], env_from: list[dict[str, object]] | None = None) -> dict[str, str]:
    container = {"env": list(env), "envFrom": env_from or []}
    return environment.build(container, {"PATH": "/bin"}, source, lambda path: f"field {path}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("$()", "$()"),
    ],
)
def test_reference_is_expanded_as_a_kubelet_does(text: str, expected: str) -> None:
    assert environment.expand(text, {"A": "1"}) == expected


def test_expanded_value_is_not_expanded_again() -> None:
    assert environment.expand("$(A)", {"A": "$(B)", "B": "2"}) == "$(B)"


@given(st.text(alphabet="ab()", max_size=20))
def test_text_without_a_dollar_sign_stays_as_it_is(text: str) -> None:
    assert environment.expand(text, {"a": "x", "b": "y"}) == text


@given(st.text(max_size=20))
def test_doubled_dollar_signs_give_the_text_back(text: str) -> None:
    assert environment.expand(text.replace("$", "$$"), {"A": "1"}) == text


def test_value_may_name_variables_before_it_but_not_after_it() -> None:
    values = build({"name": "X", "value": "$(Y)"}, {"name": "Y", "value": "y"}, {"name": "Z", "value": "$(Y)"})
    assert (values["X"], values["Z"]) == ("$(Y)", "y")


def test_env_wins_over_env_from() -> None:
    values = build({"name": "A", "value": "own"}, env_from=[{"configMapRef": {"name": "c"}}])
    assert (values["A"], values["B"]) == ("own", "2")


def test_env_from_puts_its_prefix_before_each_name() -> None:
    assert build(env_from=[{"prefix": "P_", "configMapRef": {"name": "c"}}])["P_A"] == "1"


def test_secret_key_that_is_missing_is_named() -> None:
    with pytest.raises(environment.ConfigError, match="couldn't find key late in secret s"):
        build({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "late"}}})


def test_optional_key_that_is_missing_leaves_the_variable_out() -> None:
    optional = {"name": "none", "key": "late", "optional": True}
    assert "A" not in build({"name": "A", "valueFrom": {"secretKeyRef": optional}})


def test_source_that_is_not_served_is_refused() -> None:
    with pytest.raises(environment.ConfigError, match="resourceFieldRef"):
        build({"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}})


def test_command_and_arguments_are_expanded_together() -> None:
    container = {"command": ["run", "$(A)"], "args": ["--b=$(A)"]}
    assert environment.command(container, {"A": "1"}) == ["run", "1", "--b=1"]


def test_container_without_a_command_is_refused() -> None:
    with pytest.raises(environment.ConfigError, match="name a command"):
        environment.command({"args": []}, {})


POD = {
    "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"a/b": "x", "c": 'q"'}, "annotations": {}},
    "spec": {"nodeName": "compute-1", "serviceAccountName": "sa"},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.nodeName", "compute-1"),
        ("status.hostIP", "198.51.100.2"),
        ("status.podIP", "198.51.100.2"),
        ("metadata.uid", "u"),
        ("metadata.labels['a/b']", "x"),
        ("metadata.labels['none']", ""),
        ("spec.serviceAccountName", "sa"),
    ],
)
def test_field_of_a_pod(path: str, expected: str) -> None:
    assert environment.field(POD, "198.51.100.2", path) == expected


def test_field_that_is_not_served_is_refused() -> None:
    with pytest.raises(environment.ConfigError, match=r"spec\.hostNetwork"):
        environment.field(POD, "198.51.100.2", "spec.hostNetwork")
