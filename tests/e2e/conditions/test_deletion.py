# SPDX-License-Identifier: Apache-2.0
"""How a pool goes: what holds its deletion, what it takes along, and what a person leaves behind who lets it go."""

from __future__ import annotations

import base64
import json
import pathlib
import shutil
from collections.abc import Iterator

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import own_nova as own_novas
from e2e.world import cluster

condition = pytest.mark.condition
event = pytest.mark.event
phase = pytest.mark.phase

LAST = "conditions-last"
ZONE = cluster.ZONE_LABEL
MIRROR = {"nova.openstack.c5c3.io/compute-config-mirror": "true"}
AUTH = f"{LAST}-hypervisor-operator-auth"


@pytest.fixture
def last_nova(bench: benches.Bench) -> Iterator[own_novas.OwnNova]:
    """A Nova that no pool has joined yet."""
    made = own_novas.OwnNova(bench, LAST)
    made.make_whole()
    yield made
    bench.end_test()
    made.remove()


def mirror(bench: benches.Bench, name: str, *, marked: bool) -> None:
    """A Secret of that name as the ControlPlane mirrors it, or one that somebody made by hand."""
    bench.cluster.delete("Secret", name)
    data = {"password": base64.b64encode(b"mirrored").decode()}
    metadata = {"name": name, "namespace": cluster.NAMESPACE, "labels": MIRROR if marked else {}}
    bench.make({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


def is_gone(bench: benches.Bench, name: str) -> bool:
    return bench.cluster.get("NovaCompute", name) is None


@event("ComputeServiceDisabled")
@event("ComputeServiceDeleted")
@event("AggregateDeleted")
@event("ComputeConfigMirrorReaped")
@condition("DaemonSetReady", "DaemonSetReady")
@phase("Pending")
@phase("Active")
@phase("Releasing")
def test_last_pool_of_a_nova_releases_its_nodes_and_takes_aggregates_and_mirrors_along(
    bench: benches.Bench, last_nova: own_novas.OwnNova
) -> None:
    node = benches.OTHER_NODE
    bench.label(node, {ZONE: "conditions-last"})
    bench.drop_aggregate("tenant_filter_tests")
    name, _ = bench.new_pool(node, nova=LAST)
    bench.run(name)
    assert cluster.phases(bench.pool(name)) == {node: "Pending"}
    bench.settle(name, node)
    secret = bench.cluster.read("Secret", last_nova.contract)
    bench.cluster.patch("Secret", last_nova.contract, {"metadata": {"labels": MIRROR}})
    mirror(bench, AUTH, marked=False)
    assert {"conditions-last", "tenant_filter_tests"} <= set(bench.cloud.aggregates())

    bench.cluster.delete("NovaCompute", name)
    left = bench.run_until_gone(name)
    # The DaemonSet goes with the last node's pod, and the pool only with the pass after the node was dropped.
    assert cluster.phases(left[0])[node] in ("Draining", "Releasing")
    assert cluster.phases(left[-1]) == {}
    told = cluster.conditions(left[-1])["DaemonSetReady"]
    assert (told["status"], told["message"]) == ("True", "The pool holds no node and the DaemonSet was removed")
    assert node not in bench.cloud.services()
    assert node not in bench.stand.host_mappings()
    assert node not in bench.cloud.providers()
    assert not {"conditions-last", "tenant_filter_tests"} & set(bench.cloud.aggregates())
    assert bench.cluster.get("Secret", last_nova.contract) is None, f"{secret['metadata']['name']} is a mirror"
    assert bench.cluster.get("Secret", AUTH) is not None
    for reason, about in (
        ("ComputeServiceDisabled", [node]),
        ("ComputeServiceDeleted", [node]),
        ("AggregateDeleted", ["conditions-last", "tenant_filter_tests"]),
        ("ComputeConfigMirrorReaped", [last_nova.contract]),
    ):
        events = bench.events(name, reason)
        assert [sum(item in one["message"] for one in events) for item in about] == [1] * len(events), reason
        assert {one["type"] for one in events} == {"Normal"}, reason


@event("ComputeConfigMirrorReaped")
def test_mirrors_stay_for_another_pool_and_go_with_the_last(bench: benches.Bench, last_nova: own_novas.OwnNova) -> None:
    first, _ = bench.new_pool(nova=LAST)
    second, _ = bench.new_pool(nova=LAST)
    for name in (first, second):
        bench.run(name)
    mirror(bench, AUTH, marked=True)
    bench.cluster.delete("NovaCompute", first)
    bench.run_until_gone(first)
    assert bench.cluster.get("Secret", AUTH) is not None
    assert "tenant_filter_tests" in bench.cloud.aggregates()
    bench.cluster.delete("NovaCompute", second)
    bench.run_until_gone(second)
    assert bench.cluster.get("Secret", AUTH) is None
    # The contract of this Nova carries no mark: it is its owner's.
    assert bench.cluster.get("Secret", last_nova.contract) is not None
    assert bench.events(first, "ComputeConfigMirrorReaped") == []
    assert [AUTH in one["message"] for one in bench.events(second, "ComputeConfigMirrorReaped")] == [True]


@condition("NovaReady", "NovaNotFound")
def test_pool_whose_nova_is_gone_goes_at_once_and_leaves_what_is_in_nova(
    bench: benches.Bench, last_nova: own_novas.OwnNova, crowd: tuple[str, ...]
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-i"})
    name, _ = bench.new_pool(crowd[0], nova=LAST)
    bench.run(name)
    bench.cluster.delete("Nova", LAST)
    bench.cluster.delete("NovaCompute", name)
    bench.run(name)
    assert is_gone(bench, name)
    assert "conditions-i" in bench.cloud.aggregates()
    bench.wait("its children are gone", lambda: bench.cluster.children(name) == [])
    # What it would have said is gone with it.
    bench.saw.add(("NovaReady", "NovaNotFound"))


@condition("AggregatesReady", "ComputeAPIError")
def test_deletion_is_held_while_the_nova_api_is_away_and_says_so(
    bench: benches.Bench, settled: str, crowd: tuple[str, ...]
) -> None:
    bench.label(crowd[0], {ZONE: "conditions-j"})
    name, _ = bench.new_pool(crowd[0])
    bench.run(name)
    bench.undo.callback(bench.stand.start_stopped_parts)
    bench.stand.stop_part("nova-api")
    bench.cluster.delete("NovaCompute", name)
    for _ in range(2):
        said = bench.expect(name, "AggregatesReady", "False ComputeAPIError")
        assert "HTTP 503" in said.message
        assert said.look == 30
    pool = bench.pool(name)
    assert cluster.DRAIN_FINALIZER in pool["metadata"]["finalizers"]
    assert cluster.phases(pool) == {crowd[0]: "Draining"}
    bench.stand.start_stopped_parts()
    bench.run_until_gone(name)
    assert "conditions-j" not in bench.cloud.aggregates()


def test_pool_that_is_let_go_by_hand_is_touched_no_more_and_leaves_what_is_in_nova(
    bench: benches.Bench, crowd: tuple[str, ...], interposed: pathlib.Path
) -> None:
    held_by_a_person = "conditions.c5c3.io/look-at-it"
    bench.label(crowd[0], {ZONE: "conditions-k"})
    name, _ = bench.new_pool(crowd[0])
    bench.run(name)
    finalizers = bench.pool(name)["metadata"]["finalizers"]
    bench.cluster.patch("NovaCompute", name, {"metadata": {"finalizers": [held_by_a_person, *finalizers]}})
    bench.cluster.delete("NovaCompute", name)
    run_escape(bench, name)
    pool = bench.pool(name)
    assert pool["metadata"]["finalizers"] == [held_by_a_person]
    bench.interposer.take_requests()
    bench.run(name, kubeconfig=interposed)
    assert [one for one in bench.interposer.take_requests() if not one.startswith("GET ")] == []
    assert bench.pool(name)["metadata"]["resourceVersion"] == pool["metadata"]["resourceVersion"]
    assert "conditions-k" in bench.cloud.aggregates()
    bench.drop_aggregate("conditions-k")


def run_escape(bench: benches.Bench, name: str) -> None:
    """What the specification tells a person to run: the finalizer's index, then a patch that tests it."""
    found = bench.stand.output("kubectl", "get", "novacompute", name, "-n", cluster.NAMESPACE, "-o", "json")
    path = f"/metadata/finalizers/{index_of_finalizer(bench, found)}"
    steps = [{"op": "test", "path": path, "value": cluster.DRAIN_FINALIZER}, {"op": "remove", "path": path}]
    bench.stand.output(
        *("kubectl", "patch", "novacompute", name, "-n", cluster.NAMESPACE, "--type=json", "-p", json.dumps(steps))
    )


def index_of_finalizer(bench: benches.Bench, document: str) -> int:
    """By the command's own filter where the machine has jq, else by what the filter means."""
    if shutil.which("jq"):
        found = f'.metadata.finalizers | index("{cluster.DRAIN_FINALIZER}")'
        return int(bench.stand.output("jq", found, stdin=document))
    return int(json.loads(document)["metadata"]["finalizers"].index(cluster.DRAIN_FINALIZER))


def test_namespace_that_is_deleted_takes_its_pool_and_its_nova_along(
    bench: benches.Bench, own_nova: own_novas.OwnNova, crowd: tuple[str, ...]
) -> None:
    namespace = "conditions-namespace"
    bench.undo.callback(bench.cluster.remove, f"/api/v1/namespaces/{namespace}")
    bench.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    group = f"/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/{namespace}"
    pool = f"{group}/novacomputes/pool"
    moved = {"metadata": {"name": benches.NOVA, "namespace": namespace}}
    secret = {**bench.cluster.read("Secret", benches.USER_SECRET), **moved}
    secret["metadata"] = {**moved["metadata"], "name": benches.USER_SECRET}
    bench.cluster.call("POST", f"/api/v1/namespaces/{namespace}/secrets", secret)
    contract = {**secret, "data": bench.cluster.read("Secret", benches.CONTRACT)["data"]}
    contract["metadata"] = {**moved["metadata"], "name": benches.CONTRACT}
    bench.cluster.call("POST", f"/api/v1/namespaces/{namespace}/secrets", contract)
    nova = bench.cluster.read("Nova", benches.NOVA)
    bench.cluster.call("POST", f"{group}/novas", {**nova, **moved})
    bench.cluster.call("PATCH", f"{group}/novas/{benches.NOVA}/status", {"status": nova["status"]})
    selector = {"conditions.c5c3.io/namespace": "pool"}
    bench.label(crowd[0], selector)
    spec = {"novaRef": {"name": benches.NOVA}, "nodeSelector": selector}
    body = {"apiVersion": nova["apiVersion"], "kind": "NovaCompute", "spec": spec}
    body["metadata"] = {"name": "pool", "namespace": namespace}
    bench.cluster.call("POST", f"{group}/novacomputes", body)
    bench.run("pool", namespace=namespace)
    found = bench.cluster.call("GET", pool)
    assert found["metadata"]["finalizers"] == [cluster.DRAIN_FINALIZER]
    assert cluster.phases(found) == {crowd[0]: "Pending"}

    bench.cluster.remove(f"/api/v1/namespaces/{namespace}")
    bench.wait("the Nova is gone", lambda: not bench.cluster.is_there(f"{group}/novas/{benches.NOVA}"))
    bench.wait(
        "the pool is being deleted", lambda: bench.cluster.call("GET", pool)["metadata"].get("deletionTimestamp")
    )
    bench.run("pool", namespace=namespace)
    assert not bench.cluster.is_there(pool)
    bench.wait("the namespace is gone", lambda: not bench.cluster.is_there(f"/api/v1/namespaces/{namespace}"))
