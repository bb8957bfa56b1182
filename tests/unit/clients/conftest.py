# SPDX-License-Identifier: Apache-2.0
"""A cluster whose API server is a thread of the test."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes
from unit.clients import answering


@pytest.fixture(autouse=True)
def no_cluster_of_somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No test finds a cluster that it was not given."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "NOVA_COMPUTE_REACH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def kubeconfig_for(tmp_path: pathlib.Path) -> Callable[..., str]:
    """Writes a kubeconfig for a server's URL and returns its path."""

    def write(url: str, user: dict[str, str] | None = None, name: str = "kubeconfig") -> str:
        path = tmp_path / name
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": url}}],
            "users": [{"name": "test", "user": user or {}}],
        }
        path.write_text(json.dumps(content), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def api() -> Iterator[answering.Server]:
    """An API server that knows nothing, until a test sets `answer`."""
    with answering.Server(
        lambda _request: answering.Reply(status=404, body=b"404 page not found\n")
    ).running() as server:
        yield server


@pytest.fixture
def cluster(api: answering.Server, kubeconfig_for: Callable[..., str]) -> kubernetes.Cluster:
    return kubernetes.Cluster.connect(kubeconfig_for(api.url, {"token": "kubernetes-token"}))
