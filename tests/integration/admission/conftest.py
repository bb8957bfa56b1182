# SPDX-License-Identifier: Apache-2.0
"""A cluster with the webhooks of this tree, in namespaces of these tests alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from integration import kube
from integration.admission import webhooks

NOVA_CRD_FILE = webhooks.TREE / "lab" / "novalab" / "openstack" / "manifests" / "nova-crd.yaml"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="session")
def own_namespace(server: kube.Server) -> Iterator[str]:
    """Where the webhooks keep their Secret."""
    yield from webhooks.make_namespace(server, {})


@pytest.fixture(scope="session")
def hooks(
    server: kube.Server, kubeconfig: str, own_namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[webhooks.Webhooks]:
    """The webhooks, served and trusted."""
    folder = tmp_path_factory.mktemp("admission")
    one = webhooks.Webhooks(server=server, kubeconfig=kubeconfig, folder=folder, namespace=own_namespace)
    one.install()
    process = one.start()
    try:
        process.wait_for("Serving the admission webhooks")
        kube.wait_until(lambda: len(one.trusted()) == 2, "the trust in the webhooks")
        yield one
    finally:
        # The configurations first: nobody is to wait for a process that has ended.
        one.remove()
        process.end()


@pytest.fixture
def namespace(server: kube.Server, hooks: webhooks.Webhooks) -> Iterator[str]:
    """A namespace of this test that the webhooks watch."""
    yield from webhooks.make_namespace(server, {webhooks.LABEL: hooks.name})


@pytest.fixture
def unwatched(server: kube.Server, crd: dict[str, Any]) -> Iterator[kube.Pools]:
    """The pools of a namespace that no webhook watches."""
    del crd
    with contextlib.contextmanager(webhooks.make_namespace)(server, {}) as name:
        yield kube.Pools(server=server, namespace=name)


@pytest.fixture(scope="session")
def novas(server: kube.Server) -> Iterator[None]:
    """The kind Nova, which an operator of its own brings where there is one."""
    manifest = yaml.safe_load(NOVA_CRD_FILE.read_text(encoding="utf-8"))
    yield from defined(server, manifest)


@pytest.fixture(scope="module")
def loose(server: kube.Server) -> Iterator[None]:
    """A kind NovaCompute whose schema refuses nothing, so that what the webhook says for itself is heard.

    It has names of its own, because kubectl remembers for a while which resource a name stands for.
    """
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{webhooks.LOOSE_PLURAL}.{webhooks.LOOSE_GROUP}"},
        "spec": {
            "group": webhooks.LOOSE_GROUP,
            "scope": "Namespaced",
            "names": {"kind": "NovaCompute", "plural": webhooks.LOOSE_PLURAL, "singular": "loose"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                        }
                    },
                }
            ],
        },
    }
    yield from defined(server, manifest)


def defined(server: kube.Server, manifest: dict[str, Any]) -> Iterator[None]:
    path = f"{DEFINITIONS}/{manifest['metadata']['name']}"
    made = server.call("POST", DEFINITIONS, manifest).status == 201

    def established() -> bool:
        status = server.call("GET", path).accepted().get("status") or {}
        return {"type": "Established", "status": "True"}.items() <= {
            key: value
            for one in status.get("conditions") or []
            if one["type"] == "Established"
            for key, value in one.items()
        }.items()

    kube.wait_until(established, f"the definition {manifest['metadata']['name']}")
    yield
    if made:
        server.call("DELETE", path)


@pytest.fixture
def unruly(server: kube.Server, loose: None, namespace: str) -> webhooks.Unruly:
    """Objects of this test's namespace that only the webhook judges."""
    del loose
    return webhooks.Unruly(server=server, namespace=namespace)


@pytest.fixture
def nova(pools: kube.Pools, novas: None) -> webhooks.Novas:
    """The Novas of this test's namespace; there is none yet."""
    del novas
    return webhooks.Novas(server=pools.server, namespace=pools.namespace)
