# SPDX-License-Identifier: Apache-2.0
"""How a target cluster is reached: by its registration alone, which is read anew at each use."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes, target_clusters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration
from unit.clients import answering, test_connecting
from unit.clients.answering import Reply

SECRET = "/api/v1/namespaces/c5c3-clusters/secrets/edge"
EDGE = {"cluster": "edge", "registered_in": "c5c3-clusters", "namespace": "openstack"}
LOCAL = {**EDGE, "cluster": ""}
MISSING = Reply(
    status=404,
    body={
        "kind": "Status",
        "reason": "NotFound",
        "message": 'secrets "edge" not found',
        "details": {"name": "edge", "kind": "secrets"},
    },
)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(url: str, user: dict[str, Any] | None = None) -> str:
    return json.dumps(
        {
            "current-context": "edge",
            "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "operator"}}],
            "clusters": [{"name": "edge", "cluster": {"server": url}}],
            "users": [{"name": "operator", "user": {"token": "edge-token"} if user is None else user}],
        }
    )


def secret(text: str, **data: str) -> Reply:
    return Reply(
        body={
            "metadata": {"name": "edge", "labels": {registration.LABEL: "true"}},
            "data": {key: encoded(value) for key, value in {"kubeconfig": text, **data}.items()},
        }
    )


@pytest.fixture
def edge() -> Iterator[answering.Server]:
    """The API server of the target cluster."""
    with answering.Server(lambda _request: Reply(body={"items": [], "metadata": {}})).running() as server:
        yield server


def register(api: answering.Server, reply: Reply) -> None:
    api.answer = lambda request: reply if request.path == SECRET else Reply(status=500)


def refusal(reach: Callable[[], object]) -> errors.CallError:
    with pytest.raises(errors.CallError) as refused:
        reach()
    assert refused.value.kind == "TargetCluster"
    return refused.value


def test_no_target_cluster_is_the_management_cluster_and_asks_nobody(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    assert target_clusters.cluster_at(cluster, LOCAL) is cluster
    assert target_clusters.reach(cluster, LOCAL) is cluster
    assert api.asked() == []


def test_registered_cluster_is_spoken_to_with_its_own_token(
    api: answering.Server, edge: answering.Server, cluster: kubernetes.Cluster
) -> None:
    register(api, secret(kubeconfig(edge.url)))
    target_clusters.cluster_at(cluster, EDGE).list("Node")
    assert edge.asked() == ["GET /api/v1/nodes"]
    assert edge.requests[0].headers["Authorization"] == "Bearer edge-token"
    assert api.asked() == [f"GET {SECRET}"]


def test_connection_is_kept_while_the_registration_stays_as_it_is(
    api: answering.Server, edge: answering.Server, cluster: kubernetes.Cluster
) -> None:
    register(api, secret(kubeconfig(edge.url)))
    assert target_clusters.cluster_at(cluster, EDGE) is target_clusters.cluster_at(cluster, EDGE)


def test_changed_registration_counts_at_once(
    api: answering.Server, edge: answering.Server, cluster: kubernetes.Cluster
) -> None:
    register(api, secret(kubeconfig(edge.url)))
    before = target_clusters.cluster_at(cluster, EDGE)
    register(api, secret(kubeconfig(edge.url, {"token": "another-token"})))
    after = target_clusters.cluster_at(cluster, EDGE)
    after.list("Node")
    assert after is not before
    assert edge.requests[-1].headers["Authorization"] == "Bearer another-token"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(MISSING, "cluster not found: no Secret of that name", id="missing"),
        pytest.param(secret(""), "the key kubeconfig is absent or empty", id="emptied"),
        pytest.param(secret(kubeconfig("http://edge"), namespaces="other"), "not in its list", id="namespace"),
        pytest.param(secret("a: b: c"), "its kubeconfig is no YAML", id="no-yaml"),
    ],
)
def test_withdrawn_registration_counts_at_once(
    api: answering.Server, edge: answering.Server, cluster: kubernetes.Cluster, answer: Reply, reason: str
) -> None:
    register(api, secret(kubeconfig(edge.url)))
    target_clusters.cluster_at(cluster, EDGE)
    register(api, answer)
    said = refusal(lambda: target_clusters.cluster_at(cluster, EDGE))
    assert str(said).startswith("Secret c5c3-clusters/edge: ")
    assert reason in str(said)


def test_without_a_namespace_for_registrations_no_cluster_is_found(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    said = refusal(lambda: target_clusters.cluster_at(cluster, {**EDGE, "registered_in": ""}))
    assert "cluster not found" in str(said)
    assert api.asked() == []


def test_registration_that_may_not_be_read_says_nothing_of_the_cluster(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    register(api, Reply(status=403, body={"kind": "Status", "reason": "Forbidden", "message": "no"}))
    with pytest.raises(errors.CallError) as refused:
        target_clusters.cluster_at(cluster, EDGE)
    assert (refused.value.kind, refused.value.status) == ("Secret", 403)


@pytest.mark.parametrize("part", ["client-certificate-data", "client-key-data", "certificate-authority-data"])
def test_certificate_that_is_none_is_refused(api: answering.Server, cluster: kubernetes.Cluster, part: str) -> None:
    key, certificate = test_connecting.key_and_certificate()
    parts = {
        "client-certificate-data": encoded(certificate),
        "client-key-data": encoded(key),
        "certificate-authority-data": encoded(certificate),
        part: encoded("-----BEGIN NOTHING-----"),
    }
    document = json.loads(kubeconfig("https://127.0.0.1:9"))
    document["clusters"][0]["cluster"]["certificate-authority-data"] = parts.pop("certificate-authority-data")
    document["users"][0]["user"] = parts
    register(api, secret(json.dumps(document)))
    said = refusal(lambda: target_clusters.cluster_at(cluster, EDGE))
    assert "a certificate or the key of its kubeconfig cannot be used" in str(said)


def test_key_with_a_password_is_refused_and_nobody_is_asked_for_it(
    api: answering.Server, cluster: kubernetes.Cluster
) -> None:
    _key, certificate = test_connecting.key_and_certificate()
    made = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:x"],
        capture_output=True,
        text=True,
        check=True,
    )
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(made.stdout)}
    register(api, secret(kubeconfig("https://127.0.0.1:9", user)))
    assert "cannot be used" in str(refusal(lambda: target_clusters.cluster_at(cluster, EDGE)))


# --- a sign of life


@pytest.mark.parametrize("status", [200, 401, 403, 404])
def test_any_answer_is_a_sign_of_life(
    api: answering.Server, edge: answering.Server, cluster: kubernetes.Cluster, status: int
) -> None:
    register(api, secret(kubeconfig(edge.url)))
    edge.answer = lambda _request: Reply(status=status, body={})
    assert target_clusters.reach(cluster, EDGE).host == edge.url
    assert edge.asked() == ["GET /version"]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_that_is_out_of_order_is_unavailable(
    api: answering.Server, edge: answering.Server, cluster: kubernetes.Cluster, status: int
) -> None:
    register(api, secret(kubeconfig(edge.url)))
    edge.answer = lambda _request: Reply(status=status, body={})
    assert refusal(lambda: target_clusters.reach(cluster, EDGE)).status == status


def test_server_that_is_gone_is_unavailable(api: answering.Server, cluster: kubernetes.Cluster) -> None:
    register(api, secret(kubeconfig("http://127.0.0.1:9")))
    assert "Connection refused" in str(refusal(lambda: target_clusters.reach(cluster, EDGE)))


def test_server_that_accepts_and_never_answers_is_unavailable(
    api: answering.Server, cluster: kubernetes.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_clusters, "PROBE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        register(api, secret(kubeconfig(f"http://127.0.0.1:{silent.getsockname()[1]}")))
        said = refusal(lambda: target_clusters.reach(cluster, EDGE))
    assert "not answered in time" in str(said)


# --- what a kubeconfig may not do

# Tells of every program that is started and of every file that is opened, from the moment the registration is read.
WATCHED = """
import json, os, sys
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes, target_clusters

management = kubernetes.Cluster.connect(sys.argv[1])
seen = []
STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.spawn"}
sys.addaudithook(lambda event, arguments: seen.append([event, str(arguments[0])[:200] if arguments else ""]))
try:
    target_clusters.reach(management, json.loads(sys.argv[2]))
except errors.CallError as error:
    said = str(error)
else:
    said = ""
started = [event for event, _ in seen if event in STARTS]
opened = [name for event, name in seen if event == "open"]
print(json.dumps({"said": said, "started": started, "opened": opened}))
"""


@pytest.mark.parametrize("used", [True, False], ids=["in-use", "unused"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("exec", {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "interactiveMode": "Never"}),
        ("auth-provider", {"name": "gcp", "config": {"cmd-path": "touch"}}),
        ("tokenFile", "the-trap"),
    ],
)
def test_kubeconfig_that_asks_for_a_program_or_a_file_gets_neither(
    api: answering.Server,
    kubeconfig_for: Callable[..., str],
    tmp_path: pathlib.Path,
    key: str,
    value: Any,
    *,
    used: bool,
) -> None:
    trap = tmp_path / "trap"
    if key == "exec":
        value = {**value, "args": [str(trap)]}
    elif key == "auth-provider":
        value = {"name": "gcp", "config": {"cmd-path": "touch", "cmd-args": str(trap)}}
    else:
        value = str(trap)
    document = json.loads(kubeconfig("http://127.0.0.1:9", {key: value} if used else None))
    if not used:
        document["users"].append({"name": "another", "user": {key: value}})
    register(api, secret(json.dumps(document)))
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, kubeconfig_for(api.url, {"token": "t"}), json.dumps(EDGE)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert f"({key})" in found["said"]
    assert found["started"] == []
    assert str(trap) not in found["opened"]
    assert not trap.exists()
