# SPDX-License-Identifier: Apache-2.0
"""Where a pool's children go, whose they are, and how they go away."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import ownership, target_clusters, vocabulary
from ansible_collections.c5c3.nova.plugins.modules import (
    contract_mirror,
    nova_info,
    pool_config,
    pool_finalizer,
    remote_children,
    vpa,
)
from unit.modules.conftest import REGISTRATION, World
from unit.rules import objects

NOVA = "/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/openstack/novas/nova"
EDGE = {"cluster": "edge", "registered_in": "c5c3-clusters", "namespace": "openstack"}
LOCAL = {**EDGE, "cluster": ""}
DRAIN, CHILDREN = "nova.openstack.c5c3.io/compute-drain", "openstack.c5c3.io/remote-children"


def pool(*, placed: bool = True, **parts: Any) -> objects.Data:
    spec = {"targetClusterRef": {"name": "edge"}} if placed else {}
    made = {"kind": "NovaCompute", **objects.novacompute(**spec, **parts)}
    made["metadata"]["resourceVersion"] = "7"
    return made


def nova(**spec: Any) -> objects.Data:
    return {
        "metadata": {"name": "nova", "namespace": "openstack", "uid": "u1"},
        "spec": {"keystoneEndpoint": "http://keystone.openstack.svc:5000/v3", **spec},
        "status": {"installedRelease": "2026.1", "computeConfigSecretRef": {"name": "nova-compute-config"}},
    }


def minutes_ago(minutes: float) -> str:
    return (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def reason(result: objects.Data) -> str:
    found: str = result["outcome"]["condition"]["reason"]
    return found


# --- where


def test_pool_without_a_reference_stays_on_its_own_cluster(world: World) -> None:
    world.objects["management"][NOVA] = nova()
    result = world.run(nova_info, pool=pool(placed=False))
    assert (result["target"], result["reached"], result["nova"]["target"]) == (LOCAL, True, LOCAL)
    assert world.edge.asked() == []


def test_placed_pool_of_a_local_nova(world: World) -> None:
    world.register()
    world.objects["management"][NOVA] = nova()
    result = world.run(nova_info, pool=pool())
    assert (result["target"], result["reached"], result["nova"]["target"]) == (EDGE, True, LOCAL)
    assert reason(result) == "WaitingForServiceUserSecret"
    assert world.edge.asked() == ["GET /version"]


def test_local_pool_of_a_placed_nova(world: World) -> None:
    world.register()
    world.objects["management"][NOVA] = nova(targetClusterRef={"name": "edge"})
    result = world.run(nova_info, pool=pool(placed=False))
    assert (result["target"], result["reached"], result["nova"]["target"]) == (LOCAL, True, EDGE)


def test_registrations_are_looked_for_where_they_were_said_to_be(world: World) -> None:
    world.run(nova_info, pool=pool(), clusters_namespace="elsewhere")
    assert world.management.asked() == ["GET /api/v1/namespaces/elsewhere/secrets/edge"]


@pytest.mark.parametrize("place", ["pool", "nova"])
def test_cluster_that_is_not_registered_is_unavailable_whoever_names_it(world: World, place: str) -> None:
    placed = place == "pool"
    world.objects["management"][NOVA] = nova(**({} if placed else {"targetClusterRef": {"name": "edge"}}))
    result = world.run(nova_info, pool=pool(placed=placed))
    assert (reason(result), result["outcome"]["goes_on"], result["reached"]) == (
        "TargetClusterUnavailable",
        False,
        not placed,
    )
    message = result["outcome"]["condition"]["message"]
    assert "Secret c5c3-clusters/edge: cluster not found" in message


def test_cluster_that_does_not_answer_is_unavailable(world: World) -> None:
    world.register("http://127.0.0.1:9")
    result = world.run(nova_info, pool=pool())
    assert reason(result) == "TargetClusterUnavailable"
    assert "GET /version: no answer" in result["outcome"]["condition"]["message"]


def test_message_keeps_the_moment_of_the_first_failure(world: World) -> None:
    said = target_clusters.judge("edge", "no answer", since=minutes_ago(3))["condition"]
    result = world.run(nova_info, pool=pool(status={"conditions": [said]}))
    assert f"since {minutes_ago(3)[:-3]}" in result["outcome"]["condition"]["message"]


# --- given up


def deleted(minutes: float, *, failing: float | None) -> objects.Data:
    since = "" if failing is None else minutes_ago(failing)
    said = [target_clusters.judge("edge", "no answer", since=since)["condition"]] if since else []
    made = pool(deleting=True, status={"conditions": said})
    made["metadata"] |= {"deletionTimestamp": minutes_ago(minutes), "finalizers": [DRAIN, CHILDREN]}
    return made


@pytest.mark.parametrize(
    ("minutes", "failing", "abandoned"),
    [(1, 1, False), (6, 6, True), (11, 11, True), (6, None, False), (6, 1, False), (1, 60, False)],
)
def test_children_are_given_up_after_both_windows(
    world: World, minutes: float, failing: float | None, *, abandoned: bool
) -> None:
    result = world.run(nova_info, pool=deleted(minutes, failing=failing))
    assert (reason(result), result["abandoned"]) == ("TargetClusterUnavailable", abandoned)


def test_cluster_that_came_back_is_not_given_up(world: World) -> None:
    world.register()
    result = world.run(nova_info, pool=deleted(60, failing=60))
    assert (reason(result), result["reached"], result["abandoned"]) == ("NovaNotFound", True, False)


def test_unavailable_cluster_of_the_nova_gives_up_nothing(world: World) -> None:
    world.objects["management"][NOVA] = nova(targetClusterRef={"name": "edge"})
    leaving = deleted(60, failing=60)
    del leaving["spec"]["targetClusterRef"]
    result = world.run(nova_info, pool=leaving)
    assert (reason(result), result["reached"], result["abandoned"]) == ("TargetClusterUnavailable", True, False)


@pytest.mark.event("RemoteChildrenAbandoned")
def test_giving_up_says_so_and_touches_nothing(world: World) -> None:
    result = world.run(remote_children, pool=deleted(6, failing=6), target=EDGE, abandoned=True)
    assert (result["deleted"], world.events(), world.edge.asked()) == ([], ["Warning RemoteChildrenAbandoned"], [])


# --- the sweep


def edge_object(plural: str, name: str, root: str = "/api/v1", **labels: str) -> tuple[str, objects.Data]:
    path = f"{root}/namespaces/openstack/{plural}/{name}"
    return path, {"metadata": {"name": name, "namespace": "openstack", "uid": f"uid-{name}", "labels": labels}}


OWN = ownership.of_pool(objects.novacompute(targetClusterRef={"name": "edge"})).labels


def swept(world: World, *, check_mode: bool = False) -> objects.Data:
    world.register()
    world.objects["edge"] |= {
        "/apis/apps/v1": {"resources": [{"name": "daemonsets"}]},
        "/api/v1": {"resources": [{"name": "configmaps"}]},
    }
    for path, found in (
        edge_object("daemonsets", "pool-a-nova-compute", "/apis/apps/v1", **OWN),
        edge_object("configmaps", "pool-a-config-1", **OWN),
        edge_object("configmaps", "of-a-sibling", **{**OWN, ownership.NAME_LABEL: "pool-b"}),
        edge_object("configmaps", "somebodys"),
    ):
        world.objects["edge"][path] = found
    return world.run(remote_children, pool=pool(deleting=True), target=EDGE, check_mode=check_mode)


def test_sweep_deletes_what_carries_the_labels_and_nothing_else(world: World) -> None:
    assert swept(world)["deleted"] == ["DaemonSet pool-a-nova-compute", "ConfigMap pool-a-config-1"]
    left = {path.rpartition("/")[2] for path, found in world.objects["edge"].items() if "metadata" in found}
    assert left == {"of-a-sibling", "somebodys"}


def test_sweep_deletes_in_the_background_the_very_objects_that_it_saw(world: World) -> None:
    swept(world)
    sent = [request.document for request in world.edge.requests if request.method == "DELETE"]
    assert [(each["propagationPolicy"], each["preconditions"]["uid"]) for each in sent] == [
        ("Background", "uid-pool-a-nova-compute"),
        ("Background", "uid-pool-a-config-1"),
    ]


def test_sweep_skips_a_kind_that_is_not_served(world: World) -> None:
    swept(world)
    assert not [request for request in world.edge.requests if "verticalpodautoscalers" in request.path]


def test_sweep_in_check_mode_deletes_nothing(world: World) -> None:
    swept(world, check_mode=True)
    sent = [request.document for request in world.edge.requests if request.method == "DELETE"]
    assert [each["dryRun"] for each in sent] == [["All"], ["All"]]


@pytest.mark.parametrize("check_mode", [True, False], ids=["dry", "for good"])
def test_sweep_shows_what_it_deletes(world: World, *, check_mode: bool) -> None:
    diff = swept(world, check_mode=check_mode)["diff"]
    assert [(one["before_header"], one["before"], one["after"]) for one in diff] == [
        ("DaemonSet openstack/pool-a-nova-compute", "pool-a-nova-compute\n", ""),
        ("ConfigMap openstack/pool-a-config-1", "pool-a-config-1\n", ""),
    ]


def test_mirrors_are_reaped_where_the_pool_ran(world: World) -> None:
    world.register()
    label = {"nova.openstack.c5c3.io/compute-config-mirror": "true"}
    world.objects["edge"] |= dict([edge_object("secrets", "nova-compute-config", **label)])
    world.objects["management"] |= dict([edge_object("secrets", "nova-compute-config", **label)])
    result = world.run(contract_mirror, pool=pool(deleting=True), target=EDGE)
    assert (result["deleted"], world.events()) == (["nova-compute-config"], ["Normal ComputeConfigMirrorReaped"])
    assert [request.path for request in world.management.requests if request.method == "DELETE"] == []


# --- foreign objects of a child's name


def test_config_map_of_somebody_else_is_refused(world: World) -> None:
    world.register()
    path, contract = edge_object("secrets", "contract")
    world.objects["edge"][path] = {**contract, "data": dict.fromkeys(vocabulary.CONTRACT_KEYS, "eA==")}
    given = {
        "contract_secret": "contract",
        "text": "[libvirt]\nvirt_type = kvm\n",
        "options": {"libvirt": {"virt_type": "kvm"}},
    }
    name = world.run(pool_config, pool=pool(), target=EDGE, **given)["name"]
    answer = world.edge.answer
    world.objects["edge"] |= dict([edge_object("configmaps", name)])
    world.edge.answer = lambda request: (
        answer(request) if request.method != "POST" else type(answer(request))(status=409, body={"kind": "Status"})
    )
    with pytest.raises(ValueError, match=f"ConfigMap openstack/{name} does not belong to NovaCompute pool-a"):
        world.run(pool_config, pool=pool(), target=EDGE, **given)


def test_contract_that_is_not_whole_leaves_the_file_as_it_is(world: World) -> None:
    world.register()
    path, contract = edge_object("secrets", "contract")
    world.objects["edge"][path] = {**contract, "data": {"password": "eA=="}}
    wanting = pool()
    wanting["spec"]["extraConfig"] = {"DEFAULT": {"host": "mine"}}
    result = world.run(pool_config, pool=wanting, target=EDGE, contract_secret="contract", text="", options={})
    assert (result["name"], result["outcome"]["condition"]["reason"]) == ("", "ComputeConfigIncomplete")
    assert result["extra_outcome"]["condition"]["status"] == "False"
    assert {request.method for request in world.edge.requests} == {"GET"}
    assert not any("configmaps" in request.path for request in world.edge.requests)


@pytest.mark.parametrize("placed", [True, False], ids=["placed", "local"])
def test_vertical_pod_autoscaler_of_somebody_else_is_refused(world: World, *, placed: bool) -> None:
    world.register()
    root = "/apis/autoscaling.k8s.io/v1"
    side = "edge" if placed else "management"
    world.objects[side][root] = {"resources": [{"name": "verticalpodautoscalers"}]}
    world.objects[side] |= dict([edge_object("verticalpodautoscalers", "pool-a-nova-compute", root)])
    wanting = pool(placed=placed)
    wanting["spec"]["verticalAutoscaling"] = {"updateMode": "Off"}
    with pytest.raises(ValueError, match="does not belong to NovaCompute pool-a"):
        world.run(vpa, pool=wanting, target=EDGE if placed else LOCAL)


# --- the finalizers


def patch_of(world: World) -> Any:
    (sent,) = [request for request in world.management.requests if request.method == "PATCH"]
    return sent.document


@pytest.mark.parametrize(
    ("placed", "there", "added"),
    [
        (False, [], [DRAIN]),
        (True, [], [DRAIN, CHILDREN]),
        (True, ["foreign", DRAIN], ["foreign", DRAIN, CHILDREN]),
    ],
)
def test_deletion_is_held_by_what_the_pool_has_to_clean_up(
    world: World, there: list[str], added: list[str], *, placed: bool
) -> None:
    held = pool(placed=placed)
    held["metadata"]["finalizers"] = there
    world.run(pool_finalizer, pool=held)
    assert patch_of(world) == {"metadata": {"resourceVersion": "7", "finalizers": added}}


def test_held_pool_is_not_written_again(world: World) -> None:
    held = pool()
    held["metadata"]["finalizers"] = [CHILDREN, DRAIN]
    assert world.run(pool_finalizer, pool=held) == {"pool": held, "superseded": False}
    assert world.management.asked() == []


def test_release_takes_both_finalizers_and_no_other(world: World) -> None:
    held = pool(deleting=True)
    held["metadata"]["finalizers"] = [DRAIN, "foreign", CHILDREN]
    world.run(pool_finalizer, pool=held, state="absent")
    assert patch_of(world) == [
        {"op": "test", "path": "/metadata/finalizers/2", "value": CHILDREN},
        {"op": "remove", "path": "/metadata/finalizers/2"},
        {"op": "test", "path": "/metadata/finalizers/0", "value": DRAIN},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]


def test_pool_whose_drain_finalizer_was_taken_away_is_released_of_the_other(world: World) -> None:
    held = pool(deleting=True)
    held["metadata"]["finalizers"] = [CHILDREN]
    world.run(pool_finalizer, pool=held, state="absent")
    assert [step["value"] for step in patch_of(world) if step["op"] == "test"] == [CHILDREN]


def test_registration_is_never_in_a_result(world: World) -> None:
    world.register()
    world.objects["management"][NOVA] = nova()
    assert "edge-token" not in str(world.run(nova_info, pool=pool()))
    assert f"GET {REGISTRATION}" in world.management.asked()
