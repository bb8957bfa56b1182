# SPDX-License-Identifier: Apache-2.0
"""Which cluster is meant, as whom, and what is left behind of it."""

from __future__ import annotations

import base64
import datetime as dt
import multiprocessing
import pathlib
import tempfile
from collections.abc import Callable

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubernetes.config import incluster_config
from unit.clients import answering

Write = Callable[..., str]


@pytest.fixture
def service_account(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """What a pod has of its service account."""
    _key, certificate = key_and_certificate()
    for constant, content in (("SERVICE_TOKEN_FILENAME", "pod-token"), ("SERVICE_CERT_FILENAME", certificate)):
        path = tmp_path / constant
        path.write_text(content, encoding="utf-8")
        monkeypatch.setattr(incluster_config, constant, str(path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


def key_and_certificate() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "somebody")])
    begin = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + dt.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key_pem = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key_pem.decode(), certificate.public_bytes(pem).decode()


def test_the_file_given_comes_first(kubeconfig_for: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", kubeconfig_for("http://environment", name="environment"))
    assert kubernetes.Cluster.connect(kubeconfig_for("http://given")).host == "http://given"


def test_the_environment_comes_before_the_home(kubeconfig_for: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    (pathlib.Path.home() / ".kube").mkdir(parents=True)
    pathlib.Path(kubeconfig_for("http://home")).rename(pathlib.Path.home() / ".kube" / "config")
    assert kubernetes.Cluster.connect().host == "http://home"
    monkeypatch.setenv("KUBECONFIG", kubeconfig_for("http://environment"))
    assert kubernetes.Cluster.connect().host == "http://environment"


@pytest.mark.usefixtures("service_account")
def test_a_pod_without_a_kubeconfig_uses_its_service_account() -> None:
    cluster = kubernetes.Cluster.connect()
    assert (cluster.host, cluster.in_cluster) == ("https://10.96.0.1:443", True)


@pytest.mark.usefixtures("service_account")
def test_a_pod_with_a_kubeconfig_is_outside_the_cluster_that_it_names(kubeconfig_for: Write) -> None:
    assert kubernetes.Cluster.connect(kubeconfig_for("http://given")).in_cluster is False


def test_no_configuration_at_all_says_what_to_do() -> None:
    with pytest.raises(errors.CallError, match="name a kubeconfig by the argument or by the environment variable"):
        kubernetes.Cluster.connect()


@pytest.mark.parametrize("content", ["", "[]", "a: b: c", "{}", "kind: Config"], ids=str)
def test_a_broken_kubeconfig_is_named(tmp_path: pathlib.Path, content: str) -> None:
    path = tmp_path / "broken"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(errors.CallError, match=str(path)):
        kubernetes.Cluster.connect(str(path))


def test_an_unknown_context_is_named(kubeconfig_for: Write) -> None:
    with pytest.raises(errors.CallError, match="elsewhere"):
        kubernetes.Cluster.connect(kubeconfig_for("http://given"), "elsewhere")


def test_no_key_is_left_on_the_disk(
    kubeconfig_for: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    key, certificate = (base64.b64encode(pem.encode()).decode() for pem in key_and_certificate())
    user = {"client-certificate-data": certificate, "client-key-data": key}
    for _again in range(2):
        kubernetes.Cluster.connect(kubeconfig_for("https://127.0.0.1:9", user))
    assert list(scratch.iterdir()) == []


def test_one_process_has_one_connection_to_a_cluster(kubeconfig_for: Write) -> None:
    path = kubeconfig_for("http://given")
    assert kubernetes.shared(path) is kubernetes.shared(path)


def test_a_changed_kubeconfig_is_read_again(kubeconfig_for: Write) -> None:
    before = kubernetes.shared(kubeconfig_for("http://before"))
    assert kubernetes.shared(kubeconfig_for("http://afterwards")).host != before.host


def test_a_forked_process_makes_a_connection_of_its_own(kubeconfig_for: Write) -> None:
    path = kubeconfig_for("http://given")
    before = kubernetes.shared(path)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(kubernetes.shared(path) is before))
    child.start()
    assert answers.get() is False
    child.join()


def test_the_configuration_may_live_in_several_files(
    kubeconfig_for: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/absent:{kubeconfig_for('http://given')}")
    assert kubernetes.Cluster.connect().host == "http://given"


def test_the_token_of_a_file_is_sent_without_its_newline(
    api: answering.Server, kubeconfig_for: Write, tmp_path: pathlib.Path
) -> None:
    token = tmp_path / "token"
    token.write_text("first\n", encoding="utf-8")
    api.answer = lambda _request: answering.Reply(body={"kind": "Node"})
    path = kubeconfig_for(api.url, {"tokenFile": str(token)})
    kubernetes.Cluster.connect(path).get("Node", "n1")
    assert api.requests[0].headers["Authorization"] == "Bearer first"
