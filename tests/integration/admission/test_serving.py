# SPDX-License-Identifier: Apache-2.0
"""The process that serves the webhooks: its certificate and how it is renewed, its rights, its end."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import json
import pathlib
import ssl
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from integration import kube
from integration.admission import webhooks
from nova_compute_operator.admission import certificates, self_signed

HOSTS = ["127.0.0.1"]
NOW = dt.datetime.now(tz=dt.UTC)


def served(port: int) -> bytes:
    """The certificate that a new connection gets, in PEM; nothing when there is no connection."""
    try:
        return ssl.get_server_certificate(("127.0.0.1", port), timeout=5).encode()
    except OSError:
        return b""


def write(folder: pathlib.Path, bundle: certificates.Bundle) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "tls.key").write_bytes(bundle.key)
    (folder / "tls.crt").write_bytes(bundle.certificate)


def post(port: int, bundle: certificates.Bundle, pool: dict[str, Any]) -> dict[str, Any]:
    """The response to a review of the creation of a pool, from a server that the bundle's authority vouches for."""
    request = {"uid": "u", "operation": "CREATE", "namespace": pool["metadata"]["namespace"], "object": pool}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    context = ssl.create_default_context(cadata=bundle.authorities.decode())
    url = f"https://127.0.0.1:{port}{webhooks.VALIDATE_PATH}"
    with urllib.request.urlopen(  # the scheme is in the line above
        urllib.request.Request(url, json.dumps(review).encode(), method="POST"), context=context, timeout=30
    ) as answer:
        response: dict[str, Any] = json.loads(answer.read())["response"]
    return response


@pytest.fixture
def mounted(kubeconfig: str, tmp_path: pathlib.Path) -> Iterator[tuple[int, pathlib.Path, webhooks.Process]]:
    """A process whose certificate somebody else keeps: its port, the folder of the files, and itself."""
    port, folder = webhooks.free_port(), tmp_path / "certs"
    process = webhooks.start(kubeconfig, port, tmp_path / "log", f"--webhook-cert-path={folder}")
    yield port, folder, process
    process.process.kill()
    process.process.wait()


def test_it_waits_for_a_certificate_and_takes_the_next_one_without_a_restart(
    mounted: tuple[int, pathlib.Path, webhooks.Process],
) -> None:
    port, folder, process = mounted
    process.wait_for("No certificate to load")
    first, second = certificates.make(HOSTS, NOW), certificates.make(HOSTS, NOW)
    write(folder, first)
    kube.wait_until(lambda: served(port) == first.certificate, "the first certificate")
    write(folder, second)
    kube.wait_until(lambda: served(port) == second.certificate, "the second certificate")
    assert process.process.poll() is None


def test_files_that_cannot_be_used_leave_the_certificate_before_in_use(
    mounted: tuple[int, pathlib.Path, webhooks.Process],
) -> None:
    port, folder, process = mounted
    good, other = certificates.make(HOSTS, NOW), certificates.make(HOSTS, NOW)
    write(folder, good)
    process.wait_for("Loaded the certificate")
    (folder / "tls.key").write_bytes(other.key)
    process.wait_for("No certificate to load")
    assert served(port) == good.certificate


def test_it_ends_in_order(mounted: tuple[int, pathlib.Path, webhooks.Process]) -> None:
    _, folder, process = mounted
    write(folder, certificates.make(HOSTS, NOW))
    process.wait_for("Serving the admission webhooks")
    assert process.end() == 0
    assert "Traceback" not in process.log.read_text()


def test_it_ends_in_order_while_it_waits_for_a_certificate(
    mounted: tuple[int, pathlib.Path, webhooks.Process],
) -> None:
    mounted[2].wait_for("No certificate to load")
    assert mounted[2].end() == 0


# --- a certificate of its own


@pytest.fixture
def installation(
    server: kube.Server, kubeconfig: str, own_namespace: str, tmp_path: pathlib.Path
) -> Iterator[webhooks.Webhooks]:
    """Webhooks that are installed and not served yet."""
    one = webhooks.Webhooks(server=server, kubeconfig=kubeconfig, folder=tmp_path, namespace=own_namespace)
    one.install()
    try:
        yield one
    finally:
        one.remove()


@contextlib.contextmanager
def running(process: webhooks.Process) -> Iterator[webhooks.Process]:
    try:
        process.wait_for("Serving the admission webhooks")
        yield process
    finally:
        process.process.kill()
        process.process.wait()


def stored(installation: webhooks.Webhooks) -> dict[str, bytes]:
    secret = installation.server.call("GET", installation.secret).accepted()
    return {name: base64.b64decode(value) for name, value in secret["data"].items()}


def test_two_replicas_serve_one_certificate_that_both_webhooks_trust(installation: webhooks.Webhooks) -> None:
    other = webhooks.free_port()
    with running(installation.start()), running(installation.start(port=other, log="other.log")):
        data = stored(installation)
        kube.wait_until(
            lambda: served(installation.port) == served(other) == data["tls.crt"], "both serve the certificate"
        )
        wanted = base64.b64encode(data["ca.crt"]).decode()
        kube.wait_until(lambda: installation.trusted() == [wanted, wanted], "both webhooks trust it")


def test_a_certificate_that_ends_soon_is_renewed_and_the_old_one_stays_trusted(installation: webhooks.Webhooks) -> None:
    old = certificates.make(HOSTS, NOW - dt.timedelta(days=300))
    data = {"tls.crt": old.certificate, "tls.key": old.key, "ca.crt": old.authorities}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": installation.name, "labels": self_signed.MANAGED_BY},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }
    installation.server.call("POST", installation.secret.rpartition("/")[0], secret).accepted()
    with running(installation.start()):
        kube.wait_until(lambda: served(installation.port) not in (b"", old.certificate), "the renewed certificate")
        assert stored(installation)["ca.crt"].endswith(old.authorities)


def test_the_key_is_not_in_the_log(installation: webhooks.Webhooks) -> None:
    with running(installation.start()) as process:
        key = stored(installation)["tls.key"].decode().splitlines()[1]
        assert key not in process.log.read_text()


# --- a Nova that cannot be read


@pytest.fixture
def powerless(server: kube.Server, kubeconfig: str, own_namespace: str, tmp_path: pathlib.Path) -> str:
    """The path of a kubeconfig for a service account without any right."""
    accounts = f"/api/v1/namespaces/{own_namespace}/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": tmp_path.name.replace("_", "-")}}
    server.call("POST", accounts, account).accepted()
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": None}}
    path = f"{accounts}/{account['metadata']['name']}/token"  # type: ignore[index]
    token = server.call("POST", path, request).accepted()["status"]["token"]
    config = yaml.safe_load(pathlib.Path(kubeconfig).read_text(encoding="utf-8"))
    for user in config["users"]:
        user["user"] = {"token": token}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    return str(tmp_path / "kubeconfig")


@pytest.fixture
def unreachable(kubeconfig: str, tmp_path: pathlib.Path) -> str:
    """The path of a kubeconfig for a server that is not there."""
    config = yaml.safe_load(pathlib.Path(kubeconfig).read_text(encoding="utf-8"))
    for cluster in config["clusters"]:
        cluster["cluster"]["server"] = f"https://127.0.0.1:{webhooks.free_port()}"
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    return str(tmp_path / "kubeconfig")


@pytest.mark.parametrize(("account", "reason"), [("powerless", "HTTP 403"), ("unreachable", "no answer")])
def test_a_nova_that_cannot_be_read_refuses_the_pool_and_says_why(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path, account: str, reason: str
) -> None:
    port, folder, bundle = webhooks.free_port(), tmp_path / "certs", certificates.make(HOSTS, NOW)
    write(folder, bundle)
    process = webhooks.start(request.getfixturevalue(account), port, tmp_path / "log", f"--webhook-cert-path={folder}")
    pool = {
        "metadata": {"name": "a", "namespace": "openstack"},
        "spec": kube.minimal_spec() | {"extraConfig": {"DEFAULT": {"debug": "1"}}},
    }
    with running(process):
        response = post(port, bundle, pool)
        assert response["allowed"] is False
        (cause,) = response["status"]["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("InternalError", "spec.extraConfig")
        assert "Nova openstack/nova could not be read: " in cause["message"]
        assert reason in cause["message"]
        # What needs no Nova is judged all the same.
        assert post(port, bundle, pool | {"spec": kube.minimal_spec()}) == {"uid": "u", "allowed": True}
