# SPDX-License-Identifier: Apache-2.0
"""The pools of a cluster as hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from plays.conftest import Stage
from unit.clients import answering

POOLS_PATH = "/apis/nova.openstack.c5c3.io/v1alpha1/novacomputes"
Reply = answering.Reply


def pool(namespace: str, name: str, nova: str = "nova", target: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"novaRef": {"name": nova}, "nodeSelector": {"pool": "a"}}
    if target:
        spec["targetClusterRef"] = {"name": target}
    return {
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "kind": "NovaCompute",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"observedGeneration": 1},
    }


POOLS = [
    pool("openstack", "pool-a"),
    pool("openstack", "pool-b", nova="nova-2", target="edge.example"),
    pool("other", "pool-a"),
]


def answer(request: answering.Request) -> Reply:
    """Answers as an API server that holds the pools."""
    namespace, _, name = request.path.removeprefix("/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/").partition(
        "/novacomputes"
    )
    if request.path == POOLS_PATH:
        found = POOLS
    else:
        found = [each for each in POOLS if each["metadata"]["namespace"] == namespace]
    if name:
        name = name.removeprefix("/")
        for each in found:
            if each["metadata"]["name"] == name:
                return Reply(body=each)
        details = {"name": name, "kind": "novacomputes"}
        return Reply(status=404, body={"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "details": details})
    return Reply(body={"metadata": {}, "items": found})


@pytest.fixture
def api() -> Iterator[answering.Server]:
    with answering.Server(answer).running() as server:
        yield server


def listed(stage: Stage, url: str, **environment: str) -> dict[str, Any]:
    done = stage.ansible(
        "inventory",
        "-i",
        "pools.yml",
        "--list",
        environment={"KUBECONFIG": stage.inventory_of(url), **environment},
    )
    assert done.returncode == 0, done.stderr
    inventory: dict[str, Any] = json.loads(done.stdout)
    return inventory


def plain(value: Any) -> Any:
    """Return a value without the marks of text that is no template."""
    if isinstance(value, dict):
        return (
            value["__ansible_unsafe"] if set(value) == {"__ansible_unsafe"} else {k: plain(v) for k, v in value.items()}
        )
    return value


def test_pools_are_hosts_grouped_by_nova_namespace_and_cluster(stage: Stage, api: answering.Server) -> None:
    inventory = listed(stage, api.url)
    groups = {name: group["hosts"] for name, group in inventory.items() if "hosts" in group}
    assert groups == {
        "novacomputes": ["openstack/pool-a", "openstack/pool-b", "other/pool-a"],
        "nova_openstack_nova": ["openstack/pool-a"],
        "nova_openstack_nova_2": ["openstack/pool-b"],
        "nova_other_nova": ["other/pool-a"],
        "namespace_openstack": ["openstack/pool-a", "openstack/pool-b"],
        "namespace_other": ["other/pool-a"],
        "cluster_local": ["openstack/pool-a", "other/pool-a"],
        "cluster_edge_example": ["openstack/pool-b"],
    }
    variables = inventory["_meta"]["hostvars"]["openstack/pool-b"]
    assert plain(variables["novacompute"]) == POOLS[1]
    assert plain(variables["ansible_connection"]) == "local"


def test_a_namespace_narrows_what_is_asked_for(stage: Stage, api: answering.Server) -> None:
    inventory = listed(stage, api.url, NOVA_COMPUTE_NAMESPACE="other")
    assert inventory["novacomputes"]["hosts"] == ["other/pool-a"]
    assert api.asked() == ["GET /apis/nova.openstack.c5c3.io/v1alpha1/namespaces/other/novacomputes"]


def test_one_pool_alone_is_read(stage: Stage, api: answering.Server) -> None:
    inventory = listed(stage, api.url, NOVA_COMPUTE_POOL="openstack/pool-b")
    assert inventory["novacomputes"]["hosts"] == ["openstack/pool-b"]
    assert api.asked() == ["GET /apis/nova.openstack.c5c3.io/v1alpha1/namespaces/openstack/novacomputes/pool-b"]


@pytest.mark.parametrize(
    ("limit", "hosts"),
    [
        ("openstack/*", ["openstack/pool-a", "openstack/pool-b"]),
        ("other/pool-a,nova_openstack_nova_2", ["openstack/pool-b", "other/pool-a"]),
    ],
)
def test_a_limit_picks_pools(stage: Stage, api: answering.Server, limit: str, hosts: list[str]) -> None:
    done = stage.ansible(
        "inventory",
        "-i",
        "pools.yml",
        "--list",
        "--limit",
        limit,
        environment={"KUBECONFIG": stage.inventory_of(api.url)},
    )
    assert sorted(json.loads(done.stdout)["_meta"]["hostvars"]) == hosts


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"NOVA_COMPUTE_POOL": "openstack/pool-x"}, "There is no NovaCompute openstack/pool-x at http://127.0.0.1"),
        ({"NOVA_COMPUTE_POOL": "pool-a"}, "The pool 'pool-a' is not <namespace>/<name>"),
        ({"KUBECONFIG": "/nowhere"}, "there is no kubeconfig at /nowhere"),
    ],
    ids=["missing pool", "no namespace", "no kubeconfig"],
)
def test_what_is_wrong_is_said_and_nothing_runs(
    stage: Stage, api: answering.Server, environment: dict[str, str], message: str
) -> None:
    played = stage.play(
        [{"c5c3.nova.probe": {"tag": "x"}}],
        "-i",
        "pools.yml",
        hosts="all",
        environment={"KUBECONFIG": stage.inventory_of(api.url), **environment},
    )
    assert message in " ".join(played.output.split())
    assert played.status == 1
    assert played.probes == {}


def test_an_api_server_that_is_not_there_is_named(stage: Stage) -> None:
    played = stage.play(
        [], "-i", "pools.yml", hosts="all", environment={"KUBECONFIG": stage.inventory_of("http://127.0.0.1:9")}
    )
    assert played.status == 1
    assert f"GET {POOLS_PATH}: no answer from the API server http://127.0.0.1:9: Connection refused" in " ".join(
        played.output.split()
    )
