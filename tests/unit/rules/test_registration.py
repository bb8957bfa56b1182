# SPDX-License-Identifier: Apache-2.0
"""Which registrations of a target cluster are taken, and why every other is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration

PEM = "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"
TOKEN = "a-bearer-token"
SERVER = "https://edge.example.org:6443"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(data: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> dict[str, Any]:
    marked = {registration.LABEL: "true"} if labels is None else labels
    found = {"kubeconfig": "kubeconfig text", **(data or {})}
    return {"metadata": {"labels": marked}, "data": {key: encoded(value) for key, value in found.items()}}


def kubeconfig(
    *, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    return {
        "current-context": "edge",
        "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "operator"}}],
        "clusters": [{"name": "edge", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "operator", "user": {"token": TOKEN} if user is None else user}],
        **changes,
    }


def read(document: Any) -> registration.Credentials:
    return registration.credentials_of(json.dumps(document).encode())


def refusal_of(document: Any) -> str:
    with pytest.raises(registration.RefusedError) as refused:
        read(document)
    return str(refused.value)


# --- the Secret


def test_labelled_secret_gives_its_kubeconfig() -> None:
    assert registration.kubeconfig_of(secret(), namespace="openstack") == b"kubeconfig text"


@pytest.mark.parametrize("listed", ["openstack", "other,openstack", " other , openstack "])
def test_namespace_in_the_list_is_served(listed: str) -> None:
    assert registration.kubeconfig_of(secret({"namespaces": listed}), namespace="openstack")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param(None, "cluster not found: no Secret", id="no-secret"),
        pytest.param(secret(labels={}), "cluster not found: .* does not carry the label", id="no-label"),
        pytest.param(secret(labels={registration.LABEL: "True"}), "does not carry the label", id="label-not-exact"),
        pytest.param(secret({"kubeconfig": ""}), "absent or empty", id="empty"),
        pytest.param(secret({"kubeconfig": " \n"}), "absent or empty", id="blank"),
        pytest.param({"metadata": {"labels": {registration.LABEL: "true"}}}, "absent or empty", id="no-data"),
        pytest.param(
            {"metadata": {"labels": {registration.LABEL: "true"}}, "data": {"kubeconfig": "%"}},
            "kubeconfig is no base64",
            id="no-base64",
        ),
        pytest.param(secret({"namespaces": ""}), "the key namespaces is empty", id="namespaces-empty"),
        pytest.param(secret({"namespaces": "  "}), "the key namespaces is empty", id="namespaces-blank"),
        pytest.param(secret({"namespaces": "openstack,"}), "'', which is no name", id="namespaces-trailing-comma"),
        pytest.param(secret({"namespaces": "openstack,Bad"}), "'Bad', which is no name", id="one-bad-namespace"),
        pytest.param(secret({"namespaces": f"openstack,{'a' * 64}"}), "which is no name", id="namespace-too-long"),
        pytest.param(secret({"namespaces": "openstack\nother"}), "which is no name", id="namespaces-by-lines"),
        pytest.param(secret({"namespaces": "other"}), "openstack is not in its list", id="another-namespace"),
    ],
)
def test_secret_that_registers_nothing_is_refused(found: dict[str, Any] | None, reason: str) -> None:
    with pytest.raises(registration.RefusedError, match=reason):
        registration.kubeconfig_of(found, namespace="openstack")


# --- its kubeconfig


def test_token_and_server_of_the_current_context_are_taken() -> None:
    found = read(kubeconfig())
    assert (found.server, found.token, found.certificate, found.verified) == (SERVER, TOKEN, None, True)


def test_client_certificate_is_taken_from_the_data() -> None:
    found = read(
        kubeconfig(
            user={"client-certificate-data": encoded(PEM), "client-key-data": encoded("the key")},
            cluster={"certificate-authority-data": encoded(PEM), "tls-server-name": "kubernetes"},
        )
    )
    assert (found.certificate, found.key, found.authorities) == (PEM, "the key", PEM)
    assert found.server_name == "kubernetes"


def test_folded_data_is_data_all_the_same() -> None:
    folded = "\n".join(encoded(PEM)[at : at + 20] for at in range(0, len(encoded(PEM)), 20))
    assert read(kubeconfig(cluster={"certificate-authority-data": folded})).authorities == PEM


def test_another_context_is_not_taken() -> None:
    document = kubeconfig()
    document["clusters"].append({"name": "west", "cluster": {"server": "https://west"}})
    document["contexts"].append({"name": "west", "context": {"cluster": "west", "user": "operator"}})
    assert read(document).server == SERVER


def test_representation_holds_no_credential() -> None:
    found = read(
        kubeconfig(user={"token": TOKEN, "client-certificate-data": encoded(PEM), "client-key-data": encoded("key!")})
    )
    assert TOKEN not in repr(found)
    assert "key!" not in repr(found)
    assert "MII=" not in repr(found)


FOLLOWED_OF_A_USER = [
    ("exec", {"command": "touch", "args": ["/tmp/ran"], "apiVersion": "client.authentication.k8s.io/v1"}),
    ("exec", {}),
    ("auth-provider", {"name": "gcp"}),
    ("tokenFile", "/etc/shadow"),
    ("client-certificate", "/etc/hostname"),
    ("client-key", "/etc/hostname"),
    ("as", "system:admin"),
    ("as-uid", "0"),
    ("as-groups", ["system:masters"]),
    ("as-user-extra", {"scopes": ["all"]}),
]


@pytest.mark.parametrize(("key", "value"), FOLLOWED_OF_A_USER)
@pytest.mark.parametrize("used", [True, False], ids=["in-use", "unused"])
def test_user_that_asks_for_more_than_its_data_refuses_the_whole(key: str, value: Any, *, used: bool) -> None:
    document = kubeconfig(user={"token": TOKEN, key: value}) if used else kubeconfig()
    if not used:
        document["users"].append({"name": "another", "user": {"token": TOKEN, key: value}})
    said = refusal_of(document)
    assert f"({key})" in said
    assert ("'operator'" if used else "'another'") in said


@pytest.mark.parametrize("used", [True, False], ids=["in-use", "unused"])
def test_cluster_whose_authority_is_a_file_refuses_the_whole(*, used: bool) -> None:
    entry = {"server": SERVER, "certificate-authority": "/etc/ssl/certs/ca.crt"}
    document = kubeconfig(cluster=entry) if used else kubeconfig()
    if not used:
        document["clusters"].append({"name": "another", "cluster": entry})
    assert "reads a file of this machine (certificate-authority)" in refusal_of(document)


def test_key_without_a_value_asks_for_nothing() -> None:
    assert read(kubeconfig(user={"token": TOKEN, "exec": None, "tokenFile": "", "as-groups": []})).token == TOKEN


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param(["a", "list"], "the kubeconfig is no mapping", id="list"),
        pytest.param("text", "the kubeconfig is no mapping", id="text"),
        pytest.param({}, "names no current context", id="nothing"),
        pytest.param(kubeconfig(**{"current-context": "west"}), "names no current context", id="unknown-context"),
        pytest.param(kubeconfig(contexts={"edge": {}}), "contexts of its kubeconfig is no list", id="contexts-mapping"),
        pytest.param(kubeconfig(users=["operator"]), "an entry of users is no mapping", id="user-text"),
        pytest.param(
            kubeconfig(users=[{"name": "operator", "user": "me"}]), "user 'operator' is no mapping", id="user"
        ),
        pytest.param(kubeconfig(users=[{"user": {"token": TOKEN}}]), "an entry without a name", id="nameless-user"),
        pytest.param(kubeconfig(users=[{"name": "operator"}] * 2), "two of one name", id="two-of-one-name"),
        pytest.param(kubeconfig(users=[]), "a cluster or a user that it does not have", id="no-user"),
        pytest.param(kubeconfig(clusters=[]), "a cluster or a user that it does not have", id="no-cluster"),
        pytest.param(kubeconfig(user={}), "neither a token nor a client certificate", id="anonymous"),
        pytest.param(
            kubeconfig(user={"username": "me", "password": "secret"}), "neither a token nor a client", id="basic"
        ),
        pytest.param(kubeconfig(user={"token": 5}), "token of its kubeconfig is no text", id="token-number"),
        pytest.param(kubeconfig(user={"token": "a\r\nX: y"}), "cannot be printed", id="token-with-a-line-break"),
        pytest.param(
            kubeconfig(user={"client-key-data": encoded("key")}),
            "or a key without its certificate",
            id="key",
        ),
        pytest.param(
            kubeconfig(user={"client-certificate-data": encoded(PEM)}), "certificate without its key", id="certificate"
        ),
        pytest.param(
            kubeconfig(user={"client-certificate-data": "%", "client-key-data": "%"}), "is no base64", id="no-base64"
        ),
        pytest.param(kubeconfig(cluster={"server": ""}), "names no server", id="no-server"),
        pytest.param(kubeconfig(cluster={"server": "edge:6443"}), "no http or https address", id="no-scheme"),
        pytest.param(kubeconfig(cluster={"server": "https://"}), "no http or https address", id="no-host"),
        pytest.param(kubeconfig(cluster={"server": "https://a:b"}), "no http or https address", id="no-port"),
        pytest.param(kubeconfig(cluster={"server": "file:///etc/passwd"}), "no http or https address", id="file"),
        pytest.param(kubeconfig(cluster={"proxy-url": "socks5://p"}), "proxy-url .* no http or https", id="socks"),
    ],
)
def test_kubeconfig_that_names_no_usable_cluster_is_refused(document: Any, reason: str) -> None:
    with pytest.raises(registration.RefusedError, match=reason):
        read(document)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a: b: c", id="no-yaml"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(b"!!python/object/apply:os.system [touch /tmp/ran]", id="yaml-that-runs"),
        pytest.param(b"a: &a [*a]\nusers: *a", id="of-itself"),
        pytest.param(b"[" * 5000, id="deep"),
    ],
)
def test_text_that_is_no_kubeconfig_is_refused(text: bytes) -> None:
    with pytest.raises(registration.RefusedError):
        registration.credentials_of(text)


@pytest.mark.parametrize("field", ["token", "client-key-data"])
def test_refusal_holds_no_credential(field: str) -> None:
    text = f"users:\n- name: operator\n  user: {{{field}: {TOKEN}, : }}}}\n".encode()
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(text)
    with pytest.raises(registration.RefusedError) as refused:
        registration.credentials_of(text)
    assert TOKEN not in str(refused.value)
