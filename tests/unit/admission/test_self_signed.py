# SPDX-License-Identifier: Apache-2.0
"""How several replicas keep one certificate: in a Secret, in files, and trusted by the webhook configurations."""

from __future__ import annotations

import base64
import copy
import datetime as dt
import pathlib
from typing import Any

import pytest
from cryptography import x509
from nova_compute_operator import api
from nova_compute_operator.admission import certificates, self_signed

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SECRETS = "/api/v1/namespaces/openstack/secrets"
SECRET = f"{SECRETS}/webhook-cert"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/{}/hooks"
MUTATING = CONFIGURATION.format("mutatingwebhookconfigurations")
VALIDATING = CONFIGURATION.format("validatingwebhookconfigurations")


def configuration(*names: str) -> dict[str, Any]:
    service = {"name": "webhook", "namespace": "openstack"}
    return {"webhooks": [{"name": name, "clientConfig": {"service": dict(service)}} for name in names]}


class FakeCluster:
    """The objects by path, with resource versions; `before_write` is called before each write of a Secret."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {
            MUTATING: configuration("mnovacompute.kb.io"),
            VALIDATING: configuration("other.kb.io", "vnovacompute.kb.io"),
        }
        self.writes: list[str] = []
        self.before_write: Any = None
        self._version = 0

    def call(self, method: str, path: str, body: Any = None, *, content_type: str = "") -> tuple[int, dict[str, Any]]:
        del content_type
        if method == "GET":
            return (200, copy.deepcopy(self.objects[path])) if path in self.objects else (404, {})
        if method == "PATCH":
            for step in body:
                if step["op"] == "add":
                    hook = self.objects[path]["webhooks"][int(step["path"].split("/")[2])]
                    hook["clientConfig"]["caBundle"] = step["value"]
        else:
            if self.before_write:
                meddle, self.before_write = self.before_write, None
                meddle()
            path = SECRET if method == "POST" else path
            there = self.objects.get(path)
            if (there is not None) == (method == "POST"):
                return 409, {}
            if there and there["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
                return 409, {}
            self._version += 1
            self.objects[path] = copy.deepcopy(body)
            self.objects[path]["metadata"]["resourceVersion"] = str(self._version)
        self.writes.append(f"{method} {path}")
        return 200, {}

    def expect(self, method: str, path: str, body: Any, *, content_type: str = "") -> dict[str, Any]:
        return self.call(method, path, body, content_type=content_type)[1]

    def trust(self) -> set[str]:
        hooks = [*self.objects[MUTATING]["webhooks"], self.objects[VALIDATING]["webhooks"][1]]
        return {hook["clientConfig"].get("caBundle", "") for hook in hooks}


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def replica(cluster: FakeCluster, folder: pathlib.Path, now: dt.datetime = NOW) -> self_signed.SelfSigned:
    calls: Any = cluster
    return self_signed.SelfSigned(
        calls, namespace="openstack", secret="webhook-cert", configuration="hooks", folder=folder, now=lambda: now
    )


def served(folder: pathlib.Path) -> tuple[bytes, bytes]:
    return (folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes()


def test_the_first_replica_makes_the_certificate_and_has_it_trusted(
    cluster: FakeCluster, tmp_path: pathlib.Path
) -> None:
    replica(cluster, tmp_path).keep()
    data = cluster.objects[SECRET]["data"]
    assert served(tmp_path) == (base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))
    assert cluster.trust() == {data["ca.crt"]}
    assert "caBundle" not in cluster.objects[VALIDATING]["webhooks"][0]["clientConfig"]


def test_a_settled_certificate_writes_nothing(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    replica(cluster, tmp_path).keep()
    cluster.writes.clear()
    replica(cluster, tmp_path).keep()
    assert cluster.writes == []


def test_another_replica_serves_the_same_certificate(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    replica(cluster, tmp_path / "a").keep()
    replica(cluster, tmp_path / "b").keep()
    assert served(tmp_path / "a") == served(tmp_path / "b")


@pytest.mark.parametrize("there", [False, True], ids=["at the first start", "at a renewal"])
def test_of_two_that_write_at_once_the_slower_takes_what_the_faster_wrote(
    cluster: FakeCluster,
    tmp_path: pathlib.Path,
    there: bool,  # noqa: FBT001
) -> None:
    late = NOW + dt.timedelta(days=300) if there else NOW
    if there:
        replica(cluster, tmp_path / "slow").keep()
    cluster.before_write = replica(cluster, tmp_path / "fast", late).keep
    replica(cluster, tmp_path / "slow", late).keep()
    assert served(tmp_path / "slow") == served(tmp_path / "fast")
    assert cluster.trust() == {cluster.objects[SECRET]["data"]["ca.crt"]}


def test_a_renewal_keeps_the_old_certificate_trusted(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    replica(cluster, tmp_path / "old").keep()
    (before,) = cluster.trust()
    replica(cluster, tmp_path / "new", NOW + dt.timedelta(days=300)).keep()
    (after,) = cluster.trust()
    assert served(tmp_path / "old") != served(tmp_path / "new")
    trusted = x509.load_pem_x509_certificates(base64.b64decode(after))
    assert trusted[1:] == x509.load_pem_x509_certificates(base64.b64decode(before))


def test_configurations_that_were_applied_anew_are_trusted_anew(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    replica(cluster, tmp_path).keep()
    cluster.objects[MUTATING] = configuration("mnovacompute.kb.io")
    replica(cluster, tmp_path).keep()
    assert cluster.trust() == {cluster.objects[SECRET]["data"]["ca.crt"]}


def test_a_secret_of_somebody_else_is_left_alone(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    cluster.objects[SECRET] = {"metadata": {"resourceVersion": "1"}, "data": {"tls.crt": "eA=="}}
    with pytest.raises(api.ApiError, match="it is somebody else's: choose another one with --webhook-secret-name"):
        replica(cluster, tmp_path).keep()
    assert cluster.writes == []


def test_without_a_configuration_there_is_nothing_to_make_a_certificate_for(
    cluster: FakeCluster, tmp_path: pathlib.Path
) -> None:
    cluster.objects = {}
    with pytest.raises(api.ApiError, match="apply one, or name another with --webhook-configuration-name"):
        replica(cluster, tmp_path).keep()


def test_one_configuration_alone_is_enough(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    del cluster.objects[MUTATING]
    replica(cluster, tmp_path).keep()
    assert "caBundle" in cluster.objects[VALIDATING]["webhooks"][1]["clientConfig"]


def test_the_files_are_for_the_operator_alone(cluster: FakeCluster, tmp_path: pathlib.Path) -> None:
    replica(cluster, tmp_path / "certs").keep()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "certs").iterdir()}
    assert modes == {"tls.crt": 0o600, "tls.key": 0o600}


def test_a_bundle_is_made_for_the_service_that_the_api_server_calls(
    cluster: FakeCluster, tmp_path: pathlib.Path
) -> None:
    replica(cluster, tmp_path).keep()
    certificate, key = served(tmp_path)
    bundle = certificates.Bundle(
        certificate=certificate, key=key, authorities=base64.b64decode(cluster.objects[SECRET]["data"]["ca.crt"])
    )
    assert certificates.problem(bundle, ["webhook.openstack.svc"], NOW) == ""
