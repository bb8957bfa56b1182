# SPDX-License-Identifier: Apache-2.0
"""The steps of the demo, in their order. Each does one thing, waits for what must follow, and asserts it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable

from chart import helm
from e2e.scene import POOL, MissError, Scene, markers
from e2e.world import cluster, installed, operator_process, pools, stand

#: The only node of its zone, so that the zone's aggregate goes with it.
DRAINED = "compute-3"
_DRAINED_ZONE = "az2"
_KEPT = ("compute-1", "compute-2")
_REASON = f"c5c3.io: leaving NovaCompute openstack/{POOL}"
_MARKER = f"openstack/{stand.NOVA}"

# Deadlines in seconds: the specification's own poll times, and as much again for a busy machine.
_READY = 300.0
_DRAIN_BEGINS = 150.0
_DRAIN_ENDS = 240.0
_POOL_GONE = 240.0
_MOMENT = 60.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    name: str
    why: str
    act: Callable[[Scene], None]


def bring_up_lab(scene: Scene) -> None:
    name = os.environ.get("LAB") or "lab"
    was_there = stand.Stand.find(name) is not None
    if not was_there:
        scene.undo.append((f"lab {name} is taken down", lambda: run_lab("down", name)))
    scene.stage.command(f"lab/lab.py up --name {name}")
    run_lab("up", name)
    found = stand.Stand.find(name)
    scene.expect(found is not None, f"lab {name} is up")
    assert found is not None
    scene.stand = found
    left = sorted(found.cloud.services()) + sorted(found.cloud.aggregates())
    scene.expect(not left, "Nova knows no compute and no aggregate yet", f"{left}; `make lab-down` gives a new lab")


def apply_crd(scene: Scene) -> None:
    was_there = scene.stand.cluster.get("CustomResourceDefinition", pools.CRD_NAME) is not None
    path = os.path.relpath(pools.CRD_FILE)
    scene.stage.command(f"kubectl apply -f {path}")
    scene.stage.say(scene.stand.output("kubectl", "apply", "-f", str(pools.CRD_FILE)).strip())
    scene.until(
        "the API server serves novacomputes", lambda: pools.is_served(scene.stand.cluster), bool, seconds=_MOMENT
    )
    if not was_there:
        scene.undo.append(("the CRD is gone", lambda: scene.stand.cluster.delete(_CRD, pools.CRD_NAME)))


_CRD = "CustomResourceDefinition"


def start_operator(scene: Scene) -> None:
    image = os.environ.get("IMAGE", "")
    if image:
        scene.operator = operator_process.OperatorProcess(
            scene.stand, scene.stand.lab.logs / "operator.log", image=image
        )
        scene.undo.append(("the operator has ended in order", scene.operator.stop))
        scene.operator.start()
        scene.stage.command(" ".join(scene.operator.command))
    else:
        scene.stage.command("make wheel")
        scene.operator = installed.InstalledOperator(scene.stand)
        scene.undo.append(("the operator is uninstalled", scene.operator.stop))
        scene.stage.command(f"helm install {helm.RELEASE} {os.path.relpath(helm.CHART)} -n {helm.NAMESPACE} --wait")
        for line in scene.operator.start().splitlines():
            scene.stage.say(line)
    scene.expect(scene.operator.runs, "the operator is ready")
    scene.stage.say(f"its log: {scene.operator.log}")


def apply_pool(scene: Scene) -> None:
    the_stand = scene.stand
    scene.stage.command(f"kubectl apply -f {POOL}.yaml")
    for line in pools.GUIDE.splitlines():
        scene.stage.say(f"  {line}")
    scene.stage.say(the_stand.output("kubectl", "apply", "-f", "-", stdin=pools.GUIDE).strip())
    scene.undo.append(("the pool is gone", lambda: _remove_pool(scene)))
    scene.follow_command(
        *("kubectl", "wait", f"novacompute/{POOL}", "-n", cluster.NAMESPACE),
        *("--for=condition=Ready", "--timeout=10m"),
        seconds=_READY,
    )
    sight = scene.look()
    scene.expect_equal(sight.phases, dict.fromkeys(stand.NODES, "Active"), "all three nodes are Active")
    scene.expect_equal(
        {host: (row["status"], row["state"]) for host, row in the_stand.cloud.services().items()},
        dict.fromkeys(stand.NODES, ("enabled", "up")),
        "Nova has three compute services, enabled and up",
    )
    scene.expect("HostDiscoveryStarted" in sight.reasons(), "the pool's own Job discovered the hosts", sight.reasons())
    scene.expect_equal(the_stand.host_mappings(), set(stand.NODES), "Nova has mapped the three hosts into its cell")
    scene.expect_equal(
        markers(the_stand.cloud.aggregates()),
        {"az1": _MARKER, "az2": _MARKER, "tenant_filter_tests": _MARKER},
        "aggregates az1, az2 and tenant_filter_tests exist and carry the pool's marker",
    )
    scene.expect(
        not any(row["hosts"] for row in the_stand.cloud.aggregates().values()), "the pool put no host into them"
    )


def boot_server(scene: Scene) -> None:
    cloud = scene.stand.cloud
    scene.known["flavor"] = cloud.create_flavor("m1.nano")
    scene.undo.append(("the flavor is gone", lambda: cloud.delete_flavor(scene.known["flavor"])))
    scene.known["image"] = cloud.create_image("boot-image", bytes(2**20))
    scene.undo.append(("the image is gone", lambda: cloud.delete_image(scene.known["image"])))
    scene.stage.say(f"booting drain-server on {DRAINED}, without a network")
    server = cloud.boot("drain-server", host=DRAINED, flavor=scene.known["flavor"], image=scene.known["image"])
    scene.known["server"] = server
    scene.undo.append(("the server is gone", lambda: _remove_server(scene)))
    seen = scene.until(
        "drain-server is ACTIVE", lambda: cloud.server(server), lambda row: row["status"] == "ACTIVE", seconds=_MOMENT
    )
    scene.expect_equal(seen["OS-EXT-SRV-ATTR:host"], DRAINED, f"it runs on {DRAINED}")


def take_label_off(scene: Scene) -> None:
    the_stand = scene.stand
    scene.undo.append(
        ("the node has its label again", lambda: the_stand.cluster.set_labels(DRAINED, {cluster.POOL_LABEL: "a"}))
    )
    scene.stage.command(f"kubectl label node {DRAINED} {cluster.POOL_LABEL}-")
    scene.stage.say(the_stand.output("kubectl", "label", "node", DRAINED, f"{cluster.POOL_LABEL}-").strip())
    sight = scene.follow(
        f"{DRAINED} is Draining with its servers counted",
        lambda seen: seen.phases.get(DRAINED) == "Draining" and "instances" in cluster.ledger(seen.pool)[DRAINED],
        seconds=_DRAIN_BEGINS,
    )
    entry = cluster.ledger(sight.pool)[DRAINED]
    scene.expect_equal((entry["phase"], entry["instances"]), ("Draining", 1), "the ledger says Draining, 1 instance")
    service = the_stand.cloud.services()[DRAINED]
    scene.expect_equal(
        (service["status"], service["disabled_reason"]),
        ("disabled", _REASON),
        f"its service is disabled: {_REASON}",
    )
    scene.expect_equal(
        cluster.verdict(sight.pool, "ServicesReady"), "True Draining", "ServicesReady is True Draining: no outage"
    )
    sight = scene.follow(
        "the pods run the new template, which holds the draining node by name",
        lambda seen: len(seen.pods) == 3 and all(cluster.is_ready(pod) for pod in seen.pods) and _rolled_out(scene),
        seconds=_READY,
    )
    pod = next(pod for pod in sight.pods if cluster.node_of(pod) == DRAINED)
    scene.expect(cluster.is_ready(pod), f"the pod still runs on {DRAINED}: {pod['metadata']['name']}")
    scene.expect_equal(
        the_stand.cloud.server(scene.known["server"])["status"], "ACTIVE", "drain-server is still ACTIVE"
    )
    scene.expect_equal(
        cluster.verdict(sight.pool, "AggregatesReady"),
        "True NodesOutsideZoneAggregate",
        "AggregatesReady says that no Active node is in its zone's aggregate, and is True all the same",
    )
    others = {host: row["status"] for host, row in the_stand.cloud.services().items() if host != DRAINED}
    scene.expect_equal(others, dict.fromkeys(_KEPT, "enabled"), "the services of the other nodes stay enabled")


def delete_server(scene: Scene) -> None:
    the_stand = scene.stand
    cloud = the_stand.cloud
    scene.expect(DRAINED in cloud.providers(), f"Placement still has the resource provider of {DRAINED}")
    scene.stage.say("deleting drain-server through Nova")
    cloud.delete_server(scene.known["server"])
    scene.follow(f"{DRAINED} is Releasing", lambda seen: seen.phases.get(DRAINED) == "Releasing", seconds=_DRAIN_ENDS)
    scene.stage.fact("Nova counts no server any more, so the node is Releasing")
    service = cloud.services().get(DRAINED)
    scene.expect(service and service["status"] == "disabled", "its service is still there, disabled", service)
    sight = scene.follow(
        f"the entry of {DRAINED} is dropped", lambda seen: DRAINED not in seen.phases, seconds=_DRAIN_ENDS
    )
    scene.expect_equal(sight.phases, dict.fromkeys(_KEPT, "Active"), "the ledger has the other two nodes, Active")
    pods = [cluster.node_of(pod) for pod in the_stand.cluster.pods(POOL)]
    scene.expect(DRAINED not in pods, "the pod is gone", pods)
    scene.expect_equal(set(cloud.services()), set(_KEPT), "the service is gone from Nova")
    scene.expect(DRAINED not in cloud.hypervisors(), "the hypervisor is gone", cloud.hypervisors())
    scene.expect_equal(the_stand.host_mappings(), set(_KEPT), "its host mapping is gone")
    scene.expect(DRAINED not in cloud.providers(), "its resource provider is gone from Placement", cloud.providers())
    members = sorted({host for row in cloud.aggregates().values() for host in row["hosts"]})
    scene.expect(DRAINED not in members, "it is in no aggregate", members)
    sight = scene.follow(
        f"the aggregate {_DRAINED_ZONE} is deleted",
        lambda seen: "AggregateDeleted" in seen.reasons() and _DRAINED_ZONE not in cloud.aggregates(),
        seconds=_DRAIN_ENDS,
    )
    scene.expect_equal(
        set(cloud.aggregates()), {"az1", "tenant_filter_tests"}, f"only {_DRAINED_ZONE}, which no node needs, is gone"
    )
    wanted = ("ComputeServiceDisabled", "ComputeServiceDeleted", "AggregateDeleted")
    told = sorted((reason for reason in sight.reasons() if reason in wanted), key=wanted.index)
    scene.expect_equal(told, list(wanted), "the events tell the drain: " + ", ".join(wanted))


def delete_pool(scene: Scene) -> None:
    the_stand = scene.stand
    finalizers = the_stand.cluster.read("NovaCompute", POOL)["metadata"].get("finalizers") or []
    scene.expect(cluster.DRAIN_FINALIZER in finalizers, "the finalizer holds the pool until it is drained", finalizers)
    scene.stage.command(f"kubectl delete novacompute {POOL} -n {cluster.NAMESPACE} --wait=false")
    scene.stage.say(
        the_stand.output("kubectl", "delete", "novacompute", POOL, "-n", cluster.NAMESPACE, "--wait=false").strip()
    )
    scene.follow("the pool is gone", lambda seen: seen.pool is None, seconds=_POOL_GONE)
    scene.stage.fact("every node was drained, the finalizer is gone, and with it the pool")
    expect_nova_is_clean(scene)
    scene.until(
        "no DaemonSet, ConfigMap or pod of it is left",
        lambda: [*the_stand.cluster.children(POOL), *(pod["metadata"]["name"] for pod in the_stand.cluster.pods(POOL))],
        lambda left: not left,
        seconds=_MOMENT,
    )
    told = scene.look().reasons()
    scene.expect_equal(told.count("ComputeServiceDeleted"), 3, "one ComputeServiceDeleted for each of the three nodes")


def expect_nova_is_clean(scene: Scene) -> None:
    """Assert that Nova and Placement know as little as before the pool."""
    cloud = scene.stand.cloud
    scene.expect_equal(cloud.services(), {}, "Nova has no compute service")
    scene.expect_equal(cloud.hypervisors(), set(), "no hypervisor")
    scene.expect_equal(scene.stand.host_mappings(), set(), "no host mapping")
    scene.expect_equal(cloud.aggregates(), {}, "no aggregate")
    scene.expect_equal(cloud.providers(), {}, "and Placement has no resource provider")


def run_lab(action: str, name: str) -> None:
    """Run ``lab/lab.py``, which shows its own progress. Raises MissError when it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    script = str(stand.LAB_FOLDER / "lab.py")
    # What it prints for a person to export follows at the end, where it is wanted.
    done = subprocess.run(
        [sys.executable, script, action, "--name", name], env=environment, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise MissError(f"lab/lab.py {action} ended with {done.returncode}; what it says is above")


def _remove_pool(scene: Scene) -> None:
    """Delete the pool if it is left, and wait while the operator drains it."""
    if scene.stand.cluster.delete("NovaCompute", POOL):
        scene.follow("the pool is gone", lambda seen: seen.pool is None, seconds=_POOL_GONE)


def _remove_server(scene: Scene) -> None:
    if any(row["id"] == scene.known["server"] for row in scene.stand.cloud.servers()):
        scene.stand.cloud.delete_server(scene.known["server"])


def _rolled_out(scene: Scene) -> bool:
    status = scene.stand.cluster.read("DaemonSet", f"{POOL}-nova-compute")["status"]
    return bool(status.get("updatedNumberScheduled") == status["desiredNumberScheduled"] == 3)


STEPS = (
    Step(
        name="The lab comes up",
        why="A real Kubernetes (API server, controllers, scheduler), three nodes that run pods, and a real OpenStack:\n"
        "Keystone, Placement, Glance and Nova without a single compute.",
        act=bring_up_lab,
    ),
    Step(name="The CRD is applied", why="Kubernetes learns what a NovaCompute is.", act=apply_crd),
    Step(
        name="The operator starts",
        why="The chart runs the built wheel in a pod, whose ServiceAccount has the chart's rights and no others.\n"
        "It watches NovaComputes and runs a pass of the playbook over each when one is due.",
        act=start_operator,
    ),
    Step(
        name="A pool is applied and becomes Ready",
        why="The pool selects the label of all three nodes. Each gets a pod with nova-compute, which registers a\n"
        "service; the operator then has Nova map the hosts into their cell, and makes the aggregates of the zones.",
        act=apply_pool,
    ),
    Step(
        name=f"A server is booted on {DRAINED}",
        why="So that the drain has something to wait for.",
        act=boot_server,
    ),
    Step(
        name=f"{DRAINED} leaves the pool",
        why="Taking the label off is the drain: the service is disabled once, with the reason, and the pod stays for\n"
        "as long as Nova counts a server on the host. The pool moves no server and never times the drain out.",
        act=take_label_off,
    ),
    Step(
        name="The server is deleted and the node is released",
        why="Nothing is left on the host: the pod goes first, then the service, and with it Nova drops the host\n"
        "mapping, the resource provider and the aggregate membership.",
        act=delete_server,
    ),
    Step(
        name="The pool is deleted",
        why="Deleting a pool drains every node in the same way. The last pool of a Nova leaves nothing behind.",
        act=delete_pool,
    ),
)
