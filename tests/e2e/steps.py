# SPDX-License-Identifier: Apache-2.0
"""The steps of the demo, in their order. Each does one thing, waits for what must follow, and asserts it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

from chart import helm
from e2e.scene import POOL, MissError, Scene, markers
from e2e.setting import Setting
from e2e.world import cluster, installed, operator_process, placed, pools, stand
from image import bases, building, engines
from novalab import lab as labs
from novalab import targets

_DRAINED_ZONE = "az2"
_REASON = f"c5c3.io: leaving NovaCompute openstack/{POOL}"

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
    had = [target for target in targets.NAMES if labs.find(f"{name}-{target}") is not None]
    with_targets = ["--targets", str(scene.setting.targets)] if scene.setting.targets else []
    scene.stage.command(" ".join(["lab/lab.py", "up", "--name", name, *with_targets]))
    run_lab("up", name, *with_targets)
    found = stand.Stand.find(name)
    scene.expect(found is not None, f"lab {name} is up")
    assert found is not None
    scene.stand = found
    for target in targets.NAMES[: scene.setting.targets]:
        find_target(scene, target, goes=was_there and target not in had)
    if scene.setting.places_nova:
        place_nova(scene)
    left = sorted(found.cloud.services()) + sorted(found.cloud.aggregates())
    scene.expect(not left, "Nova knows no compute and no aggregate yet", f"{left}; `make lab-down` gives a new lab")


def find_target(scene: Scene, name: str, *, goes: bool) -> None:
    """Have a target cluster that is up. One that ``goes`` is taken down at the end, without the lab."""
    the_lab = labs.find(targets.lab_name(scene.stand.lab, name))
    scene.expect(the_lab is not None, f"target cluster {name} is up and registered")
    assert the_lab is not None
    target = placed.Target(scene.stand, the_lab)
    scene.targets.append(target)
    if goes:
        scene.undo.append((f"target cluster {name} is taken down", lambda: run_lab("down", the_lab.name)))
        scene.undo.append((f"target cluster {name} is no longer registered", target.withdraw))


def place_nova(scene: Scene) -> None:
    """Have the Nova of the pool on the first target cluster."""
    target = scene.targets[0]
    scene.undo.append((f"there is no Nova on {target.name}", target.remove_nova))
    scene.expect_equal(target.place_nova(), scene.setting.nova, f"Nova {scene.setting.nova} lives on {target.name}")
    if scene.home is not target:
        scene.targets[-1].mirror_contract(scene.setting.nova)


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
    image, engine = find_image(scene)
    if image:
        scene.operator = operator_process.OperatorProcess(
            scene.stand, scene.stand.lab.logs / "operator.log", image=image, engine=engine
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


def find_image(scene: Scene) -> tuple[str, Mapping[str, str]]:
    """The image that IMAGE asks for, built for IMAGE=1, and what names its engine; empty for none."""
    asked = os.environ.get("IMAGE", "")
    if asked != "1":
        return asked, {}
    the_engine = contextlib.ExitStack()
    engine = the_engine.enter_context(engines.opened())
    scene.undo.append(("the container engine is left as it was", the_engine.close))
    scene.stage.command("make image")
    with scene.stage.waiting("the image is built"):
        return building.build(engine, bases.find(engine)), engine.environment


def apply_pool(scene: Scene) -> None:
    the_stand = scene.stand
    nodes = scene.setting.nodes
    for line in scene.setting.manifest.splitlines():
        scene.stage.say(f"  {line}")
    scene.kubectl("apply", "-f", "-", stdin=scene.setting.manifest)
    # Once the pool is gone: it would take the node back on its way out.
    label, there = {cluster.POOL_LABEL: "a"}, scene.there
    scene.undo.append(("every node has its label", lambda: there.set_labels(scene.setting.drained, label)))
    scene.undo.append(("the pool is gone", lambda: _remove_pool(scene)))
    scene.follow_command(
        *("kubectl", "wait", f"novacompute/{POOL}", "-n", cluster.NAMESPACE),
        *("--for=condition=Ready", "--timeout=10m"),
        seconds=_READY,
    )
    sight = scene.look()
    scene.expect_equal(sight.phases, dict.fromkeys(nodes, "Active"), f"all {len(nodes)} nodes are Active")
    scene.expect_equal(
        {host: (row["status"], row["state"]) for host, row in the_stand.cloud.services().items()},
        dict.fromkeys(nodes, ("enabled", "up")),
        f"Nova has {len(nodes)} compute services, enabled and up",
    )
    scene.expect("HostDiscoveryStarted" in sight.reasons(), "the pool's own Job discovered the hosts", sight.reasons())
    scene.expect_equal(the_stand.host_mappings(), set(nodes), f"Nova has mapped the {len(nodes)} hosts into its cell")
    scene.expect_equal(
        markers(the_stand.cloud.aggregates()),
        dict.fromkeys(("az1", "az2", "tenant_filter_tests"), f"{cluster.NAMESPACE}/{scene.setting.nova}"),
        "aggregates az1, az2 and tenant_filter_tests exist and carry the pool's marker",
    )
    scene.expect(
        not any(row["hosts"] for row in the_stand.cloud.aggregates().values()), "the pool put no host into them"
    )
    if scene.home:
        found = scene.home.children(POOL)
        scene.expect_equal(len(found), 2, f"its ConfigMap and its DaemonSet are on {scene.home.name}")
        scene.expect_equal(the_stand.cluster.children(POOL), [], "and nothing of it is beside it")


def boot_server(scene: Scene) -> None:
    cloud, drained = scene.stand.cloud, scene.setting.drained
    scene.known["flavor"] = cloud.create_flavor("m1.nano")
    scene.undo.append(("the flavor is gone", lambda: cloud.delete_flavor(scene.known["flavor"])))
    scene.known["image"] = cloud.create_image("boot-image", bytes(2**20))
    scene.undo.append(("the image is gone", lambda: cloud.delete_image(scene.known["image"])))
    scene.stage.say(f"booting drain-server on {drained}, without a network")
    server = cloud.boot("drain-server", host=drained, flavor=scene.known["flavor"], image=scene.known["image"])
    scene.known["server"] = server
    scene.undo.append(("the server is gone", lambda: _remove_server(scene)))
    seen = scene.until(
        "drain-server is ACTIVE", lambda: cloud.server(server), lambda row: row["status"] == "ACTIVE", seconds=_MOMENT
    )
    scene.expect_equal(seen["OS-EXT-SRV-ATTR:host"], drained, f"it runs on {drained}")


def take_label_off(scene: Scene) -> None:
    the_stand, drained = scene.stand, scene.setting.drained
    count = len(scene.setting.nodes)
    scene.kubectl("label", "node", drained, f"{cluster.POOL_LABEL}-", there=True)
    sight = scene.follow(
        f"{drained} is Draining with its servers counted",
        lambda seen: seen.phases.get(drained) == "Draining" and "instances" in cluster.ledger(seen.pool)[drained],
        seconds=_DRAIN_BEGINS,
    )
    entry = cluster.ledger(sight.pool)[drained]
    scene.expect_equal((entry["phase"], entry["instances"]), ("Draining", 1), "the ledger says Draining, 1 instance")
    service = the_stand.cloud.services()[drained]
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
        lambda seen: len(seen.pods) == count and all(cluster.is_ready(pod) for pod in seen.pods) and _rolled_out(scene),
        seconds=_READY,
    )
    pod = next(pod for pod in sight.pods if cluster.node_of(pod) == drained)
    scene.expect(cluster.is_ready(pod), f"the pod still runs on {drained}: {pod['metadata']['name']}")
    scene.expect_equal(
        the_stand.cloud.server(scene.known["server"])["status"], "ACTIVE", "drain-server is still ACTIVE"
    )
    scene.expect_equal(
        cluster.verdict(sight.pool, "AggregatesReady"),
        "True NodesOutsideZoneAggregate",
        "AggregatesReady says that no Active node is in its zone's aggregate, and is True all the same",
    )
    others = {host: row["status"] for host, row in the_stand.cloud.services().items() if host != drained}
    scene.expect_equal(
        others, dict.fromkeys(scene.setting.kept, "enabled"), "the services of the other nodes stay enabled"
    )


def delete_server(scene: Scene) -> None:
    the_stand, drained, kept = scene.stand, scene.setting.drained, scene.setting.kept
    cloud = the_stand.cloud
    scene.expect(drained in cloud.providers(), f"Placement still has the resource provider of {drained}")
    scene.stage.say("deleting drain-server through Nova")
    cloud.delete_server(scene.known["server"])
    scene.follow(f"{drained} is Releasing", lambda seen: seen.phases.get(drained) == "Releasing", seconds=_DRAIN_ENDS)
    scene.stage.fact("Nova counts no server any more, so the node is Releasing")
    service = cloud.services().get(drained)
    scene.expect(service and service["status"] == "disabled", "its service is still there, disabled", service)
    sight = scene.follow(
        f"the entry of {drained} is dropped", lambda seen: drained not in seen.phases, seconds=_DRAIN_ENDS
    )
    scene.expect_equal(sight.phases, dict.fromkeys(kept, "Active"), "the ledger has the other nodes, Active")
    pods = [cluster.node_of(pod) for pod in scene.there.pods(POOL)]
    scene.expect(drained not in pods, "the pod is gone", pods)
    scene.expect_equal(set(cloud.services()), set(kept), "the service is gone from Nova")
    scene.expect(drained not in cloud.hypervisors(), "the hypervisor is gone", cloud.hypervisors())
    scene.expect_equal(the_stand.host_mappings(), set(kept), "its host mapping is gone")
    scene.expect(drained not in cloud.providers(), "its resource provider is gone from Placement", cloud.providers())
    members = sorted({host for row in cloud.aggregates().values() for host in row["hosts"]})
    scene.expect(drained not in members, "it is in no aggregate", members)
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
    children = (scene.home or the_stand.cluster).children
    finalizers = the_stand.cluster.read("NovaCompute", POOL)["metadata"].get("finalizers") or []
    scene.expect(cluster.DRAIN_FINALIZER in finalizers, "the finalizer holds the pool until it is drained", finalizers)
    scene.kubectl("delete", "novacompute", POOL, "-n", cluster.NAMESPACE, "--wait=false")
    scene.follow("the pool is gone", lambda seen: seen.pool is None, seconds=_POOL_GONE)
    scene.stage.fact("every node was drained, the finalizer is gone, and with it the pool")
    expect_nova_is_clean(scene)
    scene.until(
        "no DaemonSet, ConfigMap or pod of it is left",
        lambda: [*children(POOL), *(pod["metadata"]["name"] for pod in scene.there.pods(POOL))],
        lambda left: not left,
        seconds=_MOMENT,
    )
    told = scene.look().reasons()
    count = len(scene.setting.nodes)
    scene.expect_equal(
        told.count("ComputeServiceDeleted"), count, f"one ComputeServiceDeleted for each of {count} nodes"
    )
    if scene.setting.is_mirrored:
        reaped = told.count("ComputeConfigMirrorReaped")
        scene.expect_equal(reaped, 2, f"the mirrored Secrets on {scene.setting.target} went with the last pool")


def expect_nova_is_clean(scene: Scene) -> None:
    """Assert that Nova and Placement know as little as before the pool."""
    cloud = scene.stand.cloud
    scene.expect_equal(cloud.services(), {}, "Nova has no compute service")
    scene.expect_equal(cloud.hypervisors(), set(), "no hypervisor")
    scene.expect_equal(scene.stand.host_mappings(), set(), "no host mapping")
    scene.expect_equal(cloud.aggregates(), {}, "no aggregate")
    scene.expect_equal(cloud.providers(), {}, "and Placement has no resource provider")


def run_lab(action: str, name: str, *flags: str) -> None:
    """Run ``lab/lab.py``, which shows its own progress. Raises MissError when it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    script = str(stand.LAB_FOLDER / "lab.py")
    # What it prints for a person to export follows at the end, where it is wanted.
    done = subprocess.run(
        [sys.executable, script, action, "--name", name, *flags],
        env=environment,
        stdout=subprocess.DEVNULL,
        check=False,
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
    status = scene.there.read("DaemonSet", f"{POOL}-nova-compute")["status"]
    count = len(scene.setting.nodes)
    return bool(status.get("updatedNumberScheduled") == status["desiredNumberScheduled"] == count)


_POD = "The chart runs the built wheel in a pod, whose ServiceAccount has the chart's rights and no others."
_CONTAINER = "The image runs in a container with a read-only root and no capability, as the lab's administrator."


def of(setting: Setting) -> tuple[Step, ...]:
    """The steps of the demo in a setting."""
    return (
        Step(
            name="The lab comes up",
            why="A real Kubernetes (API server, controllers, scheduler), nodes that run pods, and a real OpenStack:\n"
            "Keystone, Placement, Glance and Nova without a single compute.",
            act=bring_up_lab,
        ),
        Step(name="The CRD is applied", why="Kubernetes learns what a NovaCompute is.", act=apply_crd),
        Step(
            name="The operator starts",
            why=f"{_CONTAINER if os.environ.get('IMAGE') else _POD}\n"
            "It watches NovaComputes and runs a pass of the playbook over each when one is due.",
            act=start_operator,
        ),
        Step(
            name="A pool is applied and becomes Ready",
            why="The pool selects the label of all nodes. Each gets a pod with nova-compute, which registers a\n"
            "service; the operator then has Nova map the hosts into their cell, and makes the aggregates of the zones.",
            act=apply_pool,
        ),
        Step(
            name=f"A server is booted on {setting.drained}",
            why="So that the drain has something to wait for.",
            act=boot_server,
        ),
        Step(
            name=f"{setting.drained} leaves the pool",
            why="Taking the label off is the drain: the service is disabled once, with the reason, and the pod stays\n"
            "for as long as Nova counts a server on the host. The pool moves no server and never times the drain out.",
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
