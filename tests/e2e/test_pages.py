# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation, typed word by word: what they promise comes true."""

from __future__ import annotations

import base64
import pathlib
import re
import shlex
import shutil
import uuid
from collections.abc import Iterator

import pages
import pytest
import yaml
from chart import helm
from e2e.conditions import bench as benches
from e2e.conftest import POLL_SCALE
from e2e.world import cluster, installed, pools, stand, waiting
from e2e.world import reader as readers
from e2e.world import world as worlds
from novalab import bringup, crds
from novalab.hypervisor_operator import process

pytestmark = pytest.mark.usefixtures("no_pool_labels")
page = pytest.mark.page

LABEL = cluster.POOL_LABEL
NODE, OTHER_NODE = "compute-1", "compute-2"
README = "README.md"
START = "docs/index.md"
DRAIN = "docs/how-to/drain.md"
STUCK = "docs/how-to/stuck-drain.md"
MOVE = "docs/how-to/move-a-node.md"
ROTATE = "docs/how-to/rotate-the-service-user.md"
LAB = "lab/README.md"


def new_pool(world: worlds.World, letter: str, *nodes: str, **spec: object) -> str:
    """The pool of the pages with this letter, of these nodes; returns its name."""
    for node in nodes:
        world.label(node, {LABEL: letter})
    return world.apply(pools.manifest(f"pool-{letter}", {LABEL: letter}, **spec))


@pytest.fixture
def chart(the_stand: stand.Stand, reader: readers.Reader) -> Iterator[None]:
    """A reader who has Helm, which takes the values that the lab needs as if they were the chart's own."""
    folder = the_stand.lab.root / "pages"
    folder.mkdir(exist_ok=True)
    program = helm.Helm.find(folder)
    values = helm.Chart(program).values(installed.of_the_lab(folder, POLL_SCALE))
    homes = " ".join(f"{name}={shlex.quote(folder)}" for name, folder in program.homes.items())
    reader.provide(
        "helm",
        f'case "$1" in install|upgrade) set -- "$@" --values {shlex.quote(values)} ;; esac\n'
        f'exec env {homes} {shlex.quote(str(program.program))} "$@"',
    )
    yield
    if the_stand.cluster.get("Deployment", "nova-compute-operator") is not None:
        arguments = ("uninstall", "nova-compute-operator", "--namespace", "openstack")
        program.run(*arguments, kubeconfig=the_stand.lab.kubeconfig)


@pytest.fixture
def clean(the_stand: stand.Stand) -> Iterator[None]:
    """A lab in which the reader begins with nothing, and leaves nothing."""
    assert the_stand.cloud.services() == {}, "an earlier test left compute services behind"
    yield
    if the_stand.cluster.delete("NovaCompute", "pool-a"):
        waiting.wait_for(
            "the pool is gone",
            lambda: the_stand.cluster.get("NovaCompute", "pool-a"),
            lambda seen: seen is None,
            seconds=240,
        )


@pytest.fixture
def checkout(the_stand: stand.Stand, reader: readers.Reader) -> pathlib.Path:
    """The folder of a reader for whom it is a checkout of this tree: with its environment, its lab and its targets."""
    for name in (".venv", "dist", "lab"):
        (reader.folder / name).symlink_to(pages.TREE / name)
    make = shutil.which("make")
    assert make is not None, "there is no make on this machine"
    reader.provide("make", f'exec {make} --directory {shlex.quote(str(pages.TREE))} "$@"')
    return reader.folder


@pytest.fixture
def no_hypervisors(the_stand: stand.Stand) -> Iterator[None]:
    """A lab from which the hypervisor operator and all that it keeps are gone when the test ends."""
    yield
    process.stop(the_stand.lab)
    labels = ("nova.openstack.cloud.sap/virt-driver", "cobaltcore.cloud.sap/node-hypervisor-lifecycle")
    metadata = {"labels": dict.fromkeys(labels), "annotations": {"nova.openstack.cloud.sap/aggregates": None}}
    the_stand.cluster.patch("Node", NODE, {"metadata": metadata})
    crds.remove(the_stand.lab, "hypervisors")


@page("docs/index.md", "Install the operator")
@page("docs/index.md", "Install the kubectl plugin")
@page("docs/how-to/upgrade.md", "Upgrade")
@page("docs/index.md", "Make a pool")
@page("docs/index.md", "Look at it")
@page("docs/conditions.md", "Conditions of a NovaCompute")
@page("docs/index.md", "Let a node go")
@page("docs/index.md", "Take it away")
def test_ten_minutes_with_a_pool(
    the_stand: stand.Stand, reader: readers.Reader, checkout: pathlib.Path, chart: None, clean: None
) -> None:
    assert "nova-compute-operator   1/1" in reader.does(START, "Install the operator")
    assert "NAMESPACE" in reader.does(START, "Install the kubectl plugin")
    # An export of one shell: whoever reads on has it in the next one too.
    reader.environment["PATH"] = f"{checkout / 'build/plugin/bin'}:{reader.environment['PATH']}"
    assert "REVISION: 2" in reader.does("docs/how-to/upgrade.md", "Upgrade")

    manifest = yaml.safe_load(reader.shown(START, "Make a pool", "yaml"))
    # The lab's Nova has another name, and its computes boot no real servers.
    manifest["spec"] = pools.manifest("pool-a", manifest["spec"]["nodeSelector"])["spec"]
    (reader.folder / "pool-a.yaml").write_text(yaml.safe_dump(manifest))
    assert NODE in reader.does(START, "Make a pool")

    shown = reader.does(START, "Look at it")
    assert "Active" in shown
    assert "AllReady" in shown
    reader.does("docs/conditions.md", "Conditions of a NovaCompute", name="pool-a", namespace="openstack")

    reader.does(START, "Let a node go")
    assert cluster.phases(the_stand.cluster.read("NovaCompute", "pool-a")) == {}
    assert the_stand.cloud.services() == {}

    reader.does(START, "Take it away")
    assert the_stand.cluster.get("NovaCompute", "pool-a") is None
    assert the_stand.cloud.aggregates() == {}


PASS = "ansible-playbook playbooks/reconcile.yml --limit openstack/pool-a"


@page("README.md", "helm install nova-compute-operator charts/nova-compute-operator -n openstack")
@page("README.md", "ansible-playbook playbooks/reconcile.yml --limit openstack/pool-a")
@page("README.md", "ansible-playbook playbooks/reconcile.yml --limit openstack/pool-a --check --diff")
@page("README.md", "ansible-playbook playbooks/reconcile.yml --limit openstack/pool-a --tags daemonset")
@page("README.md", "kubectl novacompute status")
@page("README.md", "kubectl novacompute nodes")
@page("README.md", "kubectl novacompute drain --watch")
@page("README.md", "kubectl novacompute events")
@page("README.md", "kubectl novacompute why NODE")
@page("README.md", "nova-compute-operator --help")
def test_ways_that_the_readme_names(the_stand: stand.Stand, reader: readers.Reader, chart: None, clean: None) -> None:
    assert "--namespace" in reader.types(README, "nova-compute-operator --help")
    reader.types(README, "helm install nova-compute-operator charts/nova-compute-operator -n openstack")
    the_stand.output("kubectl", "rollout", "status", "deployment/nova-compute-operator", "-n", "openstack")
    the_stand.cluster.set_labels(NODE, {LABEL: "a"})
    the_stand.cluster.apply(pools.manifest("pool-a", {LABEL: "a"}))
    waiting.wait_for(
        "the pool is Ready",
        lambda: cluster.verdict(the_stand.cluster.read("NovaCompute", "pool-a"), "Ready"),
        lambda verdict: verdict == "True AllReady",
        seconds=worlds.DEADLINE,
    )
    for options in ("", " --check --diff", " --tags daemonset"):
        assert "failed=0" in reader.types(README, f"{PASS}{options}")

    # The plugin shows the namespace of the kubeconfig's context, as kubectl does.
    reader.turn_to("openstack")
    assert re.search(r"pool-a +\S+ +True +1/1", reader.types(README, "kubectl novacompute status"))
    assert NODE in reader.types(README, "kubectl novacompute nodes")
    assert "AggregateCreated" in reader.types(README, "kubectl novacompute events")
    assert f"{NODE} is in openstack/pool-a" in reader.types(README, "kubectl novacompute why NODE", NODE=NODE)
    the_stand.cluster.set_labels(NODE, {LABEL: None})
    reader.types(README, "kubectl novacompute drain --watch")
    assert cluster.phases(the_stand.cluster.read("NovaCompute", "pool-a")) == {}


@page("README.md", "make lab")
@page("README.md", 'eval "$(lab/lab.py env)"')
def test_lab_of_the_readme_is_found_by_its_exports(
    the_stand: stand.Stand, reader: readers.Reader, checkout: pathlib.Path
) -> None:
    before = [row.process for row in bringup.status(the_stand.lab)]
    reader.types(README, "make lab")
    assert [row.process for row in bringup.status(the_stand.lab)] == before
    del reader.environment["KUBECONFIG"]
    shown = reader.types(README, 'eval "$(lab/lab.py env)"', then="kubectl get nodes --output=name")
    assert all(f"node/{node}\n" in shown for node in stand.NODES)


@page("docs/how-to/drain.md", "Without it")
def test_drain_by_moving_the_servers(world: worlds.World, reader: readers.Reader) -> None:
    name = new_pool(world, "a", NODE, OTHER_NODE)
    world.wait_settled(name, NODE, OTHER_NODE)
    server = world.boot(NODE)
    assert server in reader.does(DRAIN, "Without it", server=server)
    assert world.cloud.server(server)["OS-EXT-SRV-ATTR:host"] == OTHER_NODE
    world.wait_dropped(name, NODE)
    assert world.cloud.server(server)["status"] == "ACTIVE"


@page("docs/how-to/move-a-node.md", "Move a node to another pool")
def test_node_moves_to_another_pool(world: worlds.World, reader: readers.Reader) -> None:
    old = new_pool(world, "a", NODE)
    new = new_pool(world, "b")
    world.wait_settled(old, NODE)
    before = world.cloud.services()[NODE]["id"]
    assert NODE in reader.does(MOVE, "Move a node to another pool")
    world.wait_settled(new, NODE)
    assert cluster.phases(world.cluster.read("NovaCompute", old)) == {}
    assert world.cloud.services()[NODE]["id"] == before
    assert world.cloud.services()[NODE]["status"] == "enabled"


@page("docs/how-to/move-a-node.md", "Move a whole pool")
def test_all_nodes_of_a_pool_move_to_another(world: worlds.World, reader: readers.Reader) -> None:
    nodes, new = (NODE, OTHER_NODE), "pool-b"
    old = new_pool(world, "a", *nodes)
    world.wait_settled(old, *nodes)
    before = world.cloud.services()
    # The reader makes it, so the end of the test has to be told of it.
    world.undo.callback(world.wait_gone, new)
    world.undo.callback(world.cluster.delete, "NovaCompute", new)
    shown = reader.does(MOVE, "Move a whole pool")
    assert all(node in shown for node in nodes)
    assert world.cluster.get("NovaCompute", old) is None
    world.wait_settled(new, *nodes)
    after = world.cloud.services()
    assert {node: (after[node]["id"], after[node]["status"]) for node in nodes} == {
        node: (before[node]["id"], "enabled") for node in nodes
    }
    assert world.witness.hosts("disabled") == []


@page("docs/how-to/take-over-a-node.md", "Take over a node")
def test_node_of_another_deployment_is_taken_over(world: worlds.World, reader: readers.Reader) -> None:
    # A nova-compute that ran without this operator: its pods are gone, its service is still in Nova.
    foreign, _ = world.new_pool(NODE)
    world.wait_settled(foreign, NODE)
    world.operator.stop()
    before = world.cloud.services()[NODE]["id"]
    world.cluster.delete("NovaCompute", foreign)
    world.cluster.patch("NovaCompute", foreign, {"metadata": {"finalizers": None}})
    world.wait("its pods are gone", lambda: world.pods_on(foreign, NODE), lambda found: not found)
    world.operator.start()

    new_pool(world, "a")
    shown = reader.does("docs/how-to/take-over-a-node.md", "Take over a node")
    world.undo.callback(world.cluster.set_labels, NODE, {LABEL: None})
    assert before in shown
    assert " up " in shown


@pytest.fixture
def service_user(world: worlds.World, reader: readers.Reader) -> Iterator[dict[str, str]]:
    """What the reader fills in of the service user, for whom he has a new password; he has the old one in the end."""
    nova = world.cluster.read("Nova", stand.NOVA)
    user, contract = nova["spec"]["serviceUser"], nova["status"]["computeConfigSecretRef"]["name"]
    named = {"user": user["username"], "secret": user["secretRef"]["name"], "contract": contract}
    old = world.cluster.read("Secret", named["secret"])["data"]["password"]
    reader.environment["NEW_PASSWORD"] = f"new-{uuid.uuid4().hex}"
    yield named
    world.stand.output("openstack", "user", "set", "--password", base64.b64decode(old).decode(), named["user"])
    for name in (named["secret"], named["contract"]):
        world.cluster.patch("Secret", name, {"data": {"password": old}})
    restart_nova(world)


def restart_nova(world: worlds.World) -> None:
    """Do what Nova's own operator does when the Secret of its user changes."""
    world.stand.stop_part("nova-api")
    world.stand.start_stopped_parts()


#: What is said between two steps: Nova, too, has the password that Keystone takes no more, and answers nobody.
IN_KEYSTONE = ("In Keystone", r"(POST /v3/auth/tokens: HTTP 401|.*/os-\w+: HTTP 503)")
IN_THE_SECRET = ("In the Secret of the service user", r"POST /v3/auth/tokens: HTTP 401")


@pytest.mark.parametrize(
    ("first", "second"),
    [(IN_KEYSTONE, IN_THE_SECRET), (IN_THE_SECRET, IN_KEYSTONE)],
    ids=["Keystone first", "Secret first"],
)
@page("docs/how-to/rotate-the-service-user.md", "In Keystone")
@page("docs/how-to/rotate-the-service-user.md", "In the Secret of the service user")
@page("docs/how-to/rotate-the-service-user.md", "In the compute contract")
def test_service_user_is_rotated_and_nothing_but_the_pods_restarts(
    world: worlds.World,
    reader: readers.Reader,
    service_user: dict[str, str],
    first: tuple[str, str],
    second: tuple[str, str],
) -> None:
    name = new_pool(world, "a", NODE)
    world.wait_settled(name, NODE)
    service = world.cloud.services()[NODE]["id"]
    (old,) = world.pods_on(name, NODE)
    children = world.cluster.children(name)

    def is_untouched() -> bool:
        pods = [pod["metadata"]["uid"] for pod in world.pods_on(name, NODE)]
        return pods == [old["metadata"]["uid"]] and world.cluster.children(name) == children

    reader.does(ROTATE, first[0], **service_user)
    for condition in ("AggregatesReady", "ServicesReady"):
        said = world.wait_verdict(name, condition, "False ComputeAPIError")
        assert re.match(first[1], said["message"]), said
    world.wait_passes(name, 2)
    pool = world.cluster.read("NovaCompute", name)
    assert cluster.verdict(pool, "Ready") == "False NotAllReady"
    assert cluster.phases(pool) == {NODE: "Active"}
    assert is_untouched()

    reader.does(ROTATE, second[0], **service_user)
    restart_nova(world)
    world.wait_settled(name, NODE)
    assert is_untouched()

    reader.does(ROTATE, "In the compute contract", **service_user)
    (new,) = world.pods_on(name, NODE)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert passwords_of(new) == {reader.environment["NEW_PASSWORD"]}
    world.wait_settled(name, NODE)
    assert (world.cloud.services()[NODE]["id"], world.cloud.services()[NODE]["status"]) == (service, "enabled")
    assert world.witness.notes() == []


def passwords_of(pod: cluster.Object) -> set[str]:
    """The passwords in the environment of a pod's nova-compute."""
    environment = pathlib.Path(f"/proc/{benches.process_of(pod)}/environ").read_text().split("\0")
    return {
        value for variable, _, value in (each.partition("=") for each in environment) if variable.endswith("__PASSWORD")
    }


@page("docs/how-to/downgrade-with-traits.md", "Downgrade with traits")
def test_traits_are_taken_back_before_a_downgrade(world: worlds.World, reader: readers.Reader) -> None:
    name = new_pool(world, "a", traits=["CUSTOM_PAGES"])
    world.wait_pool(name, "the traits are judged", lambda seen: "TraitsReady" in cluster.conditions(seen))
    reader.does("docs/how-to/downgrade-with-traits.md", "Downgrade with traits")
    assert not {"traits", "hostTraits"} & set(world.cluster.read("NovaCompute", name)["spec"])


@page("docs/by-hand.md", "One pass")
@page("docs/by-hand.md", "A look")
@page("docs/wrapper.md", "What a pass is given, and what is read from it")
@page("docs/how-to/stuck-drain.md", "When a drain does not finish")
@page("docs/how-to/drain.md", "What follows")
@page("docs/how-to/stuck-drain.md", "The way out")
def test_drain_that_does_not_finish_and_the_way_out(world: worlds.World, reader: readers.Reader) -> None:
    name = new_pool(world, "a", NODE)
    world.wait_settled(name, NODE)
    server = world.boot(NODE)
    reader.does("docs/by-hand.md", "One pass")
    reader.does("docs/wrapper.md", "What a pass is given, and what is read from it")
    world.unlabel(NODE, {LABEL: "a"})
    world.wait_draining(name, NODE, 1)
    assert server in reader.does("docs/by-hand.md", "A look")
    assert server in reader.does(STUCK, "When a drain does not finish")

    # The owner changes his mind. Nobody but a person enables the service again.
    world.label(NODE, {LABEL: "a"})
    world.wait_settled(name, NODE)
    assert world.cloud.services()[NODE]["status"] == "disabled"
    world.note_enabled(NODE)
    reader.does(DRAIN, "What follows")
    assert world.cloud.services()[NODE]["status"] == "enabled"

    world.cluster.delete("NovaCompute", name)
    world.wait_draining(name, NODE, 1)
    reader.does(STUCK, "The way out")
    world.wait_gone(name)
    assert world.cloud.services()[NODE]["disabled_reason"] == f"c5c3.io: leaving NovaCompute openstack/{name}"
    # A pool of the same name takes over what it finds, and drains it in order.
    world.label(NODE, {LABEL: "a"})
    world.apply(pools.manifest(name, {LABEL: "a"}))
    world.wait_settled(name, NODE)


@page("lab/README.md", "Commands")
def test_lab_that_is_up_is_left_as_it_is_and_found_by_its_exports(
    the_stand: stand.Stand, checkout: pathlib.Path, reader: readers.Reader
) -> None:
    before = [row.process for row in bringup.status(the_stand.lab)]
    shown = reader.does(LAB, "Commands")
    assert all(node in shown for node in stand.NODES)
    assert "nova-scheduler" in shown
    assert [row.process for row in bringup.status(the_stand.lab)] == before


@page("lab/README.md", "The hypervisor operator")
def test_hypervisor_operator_of_the_lab_makes_a_hypervisor(
    the_stand: stand.Stand, checkout: pathlib.Path, reader: readers.Reader, no_hypervisors: None
) -> None:
    assert "ha=True" in reader.does(LAB, "The hypervisor operator")
    shown = the_stand.output("kubectl", "get", "hypervisors", "--output=name")
    assert shown.split() == [f"hypervisor.kvm.cloud.sap/{NODE}"]
