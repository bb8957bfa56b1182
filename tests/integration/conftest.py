# SPDX-License-Identifier: Apache-2.0
"""What every test against a real API server shares: the connection, the CRD of this tree, a namespace of its own."""

from __future__ import annotations

import os
import pathlib
import uuid
from collections.abc import Iterator
from typing import Any

import kubernetes.client
import kubernetes.config
import pytest
import yaml
from integration import kube

CRD_FILE = pathlib.Path(__file__).parents[2] / "crds" / "nova.openstack.c5c3.io_novacomputes.yaml"
FIELD_MANAGER = "integration-tests"


@pytest.fixture(scope="session")
def kubeconfig() -> str:
    """The path of the kubeconfig that the tests use. There is no default: it would be somebody's cluster."""
    path = os.environ.get("KUBECONFIG")
    if not path:
        pytest.fail(
            "KUBECONFIG names no cluster to test against: `make test-lab` brings one up and sets it", pytrace=False
        )
    return path


@pytest.fixture(scope="session")
def api_client(kubeconfig: str) -> Iterator[kubernetes.client.ApiClient]:
    """A client of the Kubernetes library for the cluster of the kubeconfig."""
    with kubernetes.config.new_client_from_config(config_file=kubeconfig) as client:
        yield client


@pytest.fixture(scope="session")
def server(api_client: kubernetes.client.ApiClient) -> kube.Server:
    """The API server, by plain paths."""
    return kube.Server(client=api_client)


@pytest.fixture(scope="session")
def crd(server: kube.Server) -> dict[str, Any]:
    """The NovaCompute CRD of this tree, once the server accepts and publishes it."""
    manifest: dict[str, Any] = yaml.safe_load(CRD_FILE.read_text(encoding="utf-8"))
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{manifest['metadata']['name']}"
    server.apply(path, manifest, manager=FIELD_MANAGER, force=True).accepted()
    schema = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    def published() -> bool:
        # A CRD that was there before goes on serving its old schema for a moment; what is published is what counts.
        reply = server.call("GET", f"/openapi/v3{kube.GROUP_PATH}")
        return reply.status == 200 and any(
            all(candidate.get("properties", {}).get(part) == schema["properties"][part] for part in ("spec", "status"))
            for candidate in reply.body["components"]["schemas"].values()
        )

    kube.wait_until(published, "the API server publishes the NovaCompute schema of this tree")
    return manifest


@pytest.fixture
def namespace(server: kube.Server) -> Iterator[str]:
    """A namespace that only this test uses."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    server.call("POST", "/api/v1/namespaces", manifest).accepted()
    yield name
    server.call("DELETE", f"/api/v1/namespaces/{name}").accepted()


@pytest.fixture
def pools(server: kube.Server, crd: dict[str, Any], namespace: str) -> kube.Pools:
    """The NovaComputes of this test's namespace, which the CRD of this tree describes."""
    del crd
    return kube.Pools(server=server, namespace=namespace)
