# SPDX-License-Identifier: Apache-2.0
"""Two replicas of the chart: one runs the passes, both serve the webhooks, and either can go without the other."""

from __future__ import annotations

import base64
import datetime as dt
import http.client
import itertools
import json
import os
import re
import signal
import socket
import ssl
from typing import Any

import pytest
from chart import helm
from e2e.conditions import objects
from e2e.world import cluster, installed, pools, rights
from e2e.world import world as worlds
from nova_compute_operator import leadership, settings

#: Where the replicas are; the pool's nodes are others.
NODES = ("control", "compute-1")
STAYING, LEAVING = "compute-2", "compute-3"

#: A Lease that runs out, and a busy machine.
WITHIN = 4.0 * leadership.LEASE_SECONDS

READS = ("get", "list", "watch")
_HOOKS = "admissionregistration.k8s.io"
#: What a replica writes that runs no pass: its candidacy, and the certificate that all of them serve with.
WRITTEN_BY_EACH = {
    ("coordination.k8s.io", "leases", "create"),
    ("coordination.k8s.io", "leases", "update"),
    ("", "secrets", "create"),
    ("", "secrets", "update"),
    (_HOOKS, "mutatingwebhookconfigurations", "patch"),
    (_HOOKS, "validatingwebhookconfigurations", "patch"),
}

_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{cluster.NAMESPACE}/leases"
_BUDGETS = f"/apis/policy/v1/namespaces/{cluster.NAMESPACE}/poddisruptionbudgets"
_PODS = f"/api/v1/namespaces/{cluster.NAMESPACE}/pods"
_TOLERATES_ALL = [{"operator": "Exists"}]
_REFUSAL = "tolerates kvm.cloud.sap/offboarding:NoExecute"

Object = cluster.Object


class Pair:
    """Two replicas, their Lease and their budget."""

    def __init__(self, world: worlds.World, operator: installed.InstalledOperator) -> None:
        self.world = world
        self.operator = operator
        self.there = objects.Objects(world.stand.lab.kubeconfig)

    # --- who leads

    def lease(self) -> Object:
        return self.world.cluster.read("Lease", settings.LEASE_NAME)

    def leader(self) -> str:
        """The pod that holds the Lease; empty while none does."""
        return holder(self.world.cluster.get("Lease", settings.LEASE_NAME))

    def sides(self) -> tuple[str, str]:
        """The pod that leads, and the other."""
        names = [pod["metadata"]["name"] for pod in self.operator.pods()]
        leader = self.world.wait("one of the two leads", self.leader, lambda seen: seen in names)
        (other,) = set(names) - {leader}
        return leader, other

    def leases_since(self, lease: Object) -> list[Object]:
        """What the Lease became with each write since then."""
        version = lease["metadata"]["resourceVersion"]
        query = (
            f"watch=true&timeoutSeconds=1&resourceVersion={version}&fieldSelector=metadata.name={settings.LEASE_NAME}"
        )
        lines = self.world.stand.output("kubectl", "get", "--raw", f"{_LEASES}?{query}").splitlines()
        return [json.loads(line)["object"] for line in lines]

    # --- what becomes of a pod

    def may_go(self) -> int:
        """How many of the two their budget lets go now."""
        return int(self.there.call("GET", f"{_BUDGETS}/{helm.FULLNAME}")["status"]["disruptionsAllowed"])

    def cordon(self, pod: str) -> None:
        """Have nothing new scheduled to the pod's node, until the test ends."""
        node = self.world.cluster.read("Pod", pod)["spec"]["nodeName"]
        self.world.undo.callback(self.world.cluster.patch, "Node", node, {"spec": {"unschedulable": None}})
        self.world.cluster.patch("Node", node, {"spec": {"unschedulable": True}})

    def evict(self, pod: str) -> None:
        """Evict it, as a drain of its node does. Raises cluster.RefusedError when its budget forbids."""
        metadata = {"name": pod, "namespace": cluster.NAMESPACE}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        self.there.call("POST", f"{_PODS}/{pod}/eviction", body)

    def lose(self, pod: str) -> None:
        """End its process as the kernel would, and have it not come back: its node is lost."""
        self.cordon(pod)
        (status,) = self.world.cluster.read("Pod", pod)["status"]["containerStatuses"]
        found = re.fullmatch(r"proc://([0-9]+)", status["containerID"])
        assert found is not None, status
        os.kill(int(found[1]), signal.SIGKILL)
        self.there.call("DELETE", f"{_PODS}/{pod}", {"gracePeriodSeconds": 0})

    # --- what they do

    def writes(self, pod: str) -> set[rights.Right]:
        """The rights that the pod used to write what only passes write."""
        return {right for right in self.operator.used(pod=pod) if right[-1] not in READS} - WRITTEN_BY_EACH

    def review(self, pod: str, manifest: Object) -> Any:
        """What the webhook of this pod answers to the creation of a pool, with the trust of the API server."""
        kind = f"/apis/{_HOOKS}/v1/validatingwebhookconfigurations/{helm.FULLNAME}"
        client = self.there.call("GET", kind)["webhooks"][0]["clientConfig"]
        trust = ssl.create_default_context(cadata=base64.b64decode(client["caBundle"]).decode())
        name = f"{helm.FULLNAME}.{helm.NAMESPACE}.svc"
        found = self.world.cluster.read("Pod", pod)
        ports = {port["name"]: port["containerPort"] for port in found["spec"]["containers"][0]["ports"]}
        with (
            socket.create_connection((found["status"]["podIP"], ports["webhook"]), 30) as plain,
            trust.wrap_socket(plain, server_hostname=name) as channel,
        ):
            connection = http.client.HTTPConnection(name)
            connection.sock = channel
            body = json.dumps(creation(manifest))
            connection.request("POST", client["service"]["path"], body, {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())["response"]


def creation(manifest: Object) -> Object:
    """The review of a pool that is being created."""
    metadata = manifest["metadata"]
    request = {
        "uid": "of-this-test",
        "kind": {"group": "nova.openstack.c5c3.io", "version": "v1alpha1", "kind": "NovaCompute"},
        "resource": {"group": "nova.openstack.c5c3.io", "version": "v1alpha1", "resource": "novacomputes"},
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "operation": "CREATE",
        "userInfo": {"username": "somebody"},
        "object": manifest,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def holder(lease: Object | None) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "").partition("_")[0]


def moment(lease: Object, field: str) -> dt.datetime:
    return dt.datetime.fromisoformat(lease["spec"][field])


def holders(leases: list[Object]) -> list[str]:
    """Who held the Lease, one after the other; empty: nobody, it was given back."""
    return [name for name, _ in itertools.groupby(map(holder, leases))]


@pytest.fixture
def pair(world: worlds.World, operator: installed.InstalledOperator) -> Pair:
    """Two replicas that are available."""
    operator.start(nodes=NODES)
    return Pair(world, operator)


def test_one_of_them_runs_the_passes_and_both_serve_the_webhooks(world: worlds.World, pair: Pair) -> None:
    leader, other = pair.sides()
    name, _ = world.new_pool(STAYING)
    world.wait_settled(name, STAYING)
    assert pair.operator.passes(pod=leader) != []
    assert pair.operator.passes(pod=other) == []
    assert ("nova.openstack.c5c3.io", "novacomputes/status", "update") in pair.writes(leader)
    assert pair.writes(other) == set()

    good = pools.manifest("reviewed", world.selector())
    bad = pools.manifest("reviewed", world.selector(), tolerations=_TOLERATES_ALL)
    for pod in (leader, other):
        assert pair.review(pod, good)["allowed"] is True
        refusal = pair.review(pod, bad)
        assert refusal["allowed"] is False
        assert _REFUSAL in refusal["status"]["message"]


@pytest.mark.case("B24")
def test_a_leader_that_is_killed_is_followed_when_its_lease_has_run_out(world: worlds.World, pair: Pair) -> None:
    leader, other = pair.sides()
    name, selector = world.new_pool(STAYING, LEAVING)
    world.wait_settled(name, STAYING, LEAVING)
    before = pair.lease()
    pair.lose(leader)
    world.unlabel(LEAVING, selector)
    world.wait("the other leads", pair.leader, lambda seen: seen == other, seconds=WITHIN)

    leases = [before, *pair.leases_since(before)]
    assert holders(leases) == [leader, other]
    *_, renewed = (one for one in leases if holder(one) == leader)
    taken, *_ = (one for one in leases if holder(one) == other)
    assert moment(taken, "acquireTime") - moment(renewed, "renewTime") >= dt.timedelta(seconds=leadership.LEASE_SECONDS)
    world.wait_dropped(name, LEAVING)
    assert pair.operator.passes(pod=other) != []


@pytest.mark.case("B24")
def test_a_drain_of_the_leaders_node_hands_over_at_once_and_may_not_take_the_other(
    world: worlds.World, pair: Pair
) -> None:
    leader, other = pair.sides()
    name, selector = world.new_pool(STAYING, LEAVING)
    world.wait_settled(name, STAYING, LEAVING)
    world.wait("one of the two may go", pair.may_go, lambda seen: seen == 1)
    before = pair.lease()
    pair.cordon(leader)
    pair.evict(leader)
    world.unlabel(LEAVING, selector)
    world.wait("the other leads", pair.leader, lambda seen: seen == other, seconds=WITHIN)
    # It was given back, so that nobody waited for its end.
    assert holders([before, *pair.leases_since(before)]) == [leader, "", other]

    with pytest.raises(cluster.RefusedError, match="disruption budget") as refusal:
        pair.evict(other)
    assert refusal.value.status == 429
    with pytest.raises(cluster.RefusedError, match=re.escape(_REFUSAL)):
        world.cluster.apply(pools.manifest("refused", world.selector(), tolerations=_TOLERATES_ALL))
    world.wait_dropped(name, LEAVING)
    assert pair.operator.passes(pod=other) != []
