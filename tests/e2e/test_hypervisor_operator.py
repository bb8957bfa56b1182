# SPDX-License-Identifier: Apache-2.0
"""A pool beside the hypervisor operator: aggregates, traits, the drain through maintenance, and a node's termination.

What the other operator does here is done by the lab's stand-in for it, on Hypervisors with the published rules.
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.world import cluster, operator_process, stand
from e2e.world import reader as readers
from e2e.world import world as worlds
from novalab import crds
from novalab.hypervisor_operator import process

POLL_SCALE = 0.2
#: The stand-in's seconds for ten of the operator's.
INTERVAL = 0.5

VIRT_DRIVER = "nova.openstack.cloud.sap/virt-driver"
LIFECYCLE = "cobaltcore.cloud.sap/node-hypervisor-lifecycle"
AGGREGATES = "nova.openstack.cloud.sap/aggregates"
TESTS = "tenant_filter_tests"
FIRST, SECOND = "compute-1", "compute-2"
_ADDED = re.compile(r"(\S+): added to aggregate ")


class HypervisorOperator:
    """The stand-in's process, and the Hypervisors that it keeps, by ``kubectl`` as a person has it."""

    def __init__(self, the_stand: stand.Stand) -> None:
        self._stand = the_stand
        self._log = the_stand.lab.logs / "hypervisor-operator.log"
        self._before = len(self._read_log())

    def start(self, *, ha: bool = True) -> None:
        process.start(self._stand.lab, interval=INTERVAL, ha=ha, agent_namespaces=cluster.NAMESPACE)

    def stop(self) -> None:
        process.stop(self._stand.lab)

    def log(self) -> str:
        """What the stand-in has said since the test began."""
        return self._read_log()[self._before :]

    def added(self) -> list[str]:
        """The hosts that it added to an aggregate, as often as it did."""
        return sorted(_ADDED.findall(self.log()))

    def hypervisor(self, name: str) -> dict[str, Any]:
        """The Hypervisor; empty when there is none."""
        shown = self._stand.output("kubectl", "get", "hypervisor", name, "--ignore-not-found", "--output=json")
        found: dict[str, Any] = json.loads(shown) if shown.strip() else {}
        return found

    def eviction(self, name: str) -> dict[str, Any]:
        """The Eviction; empty when there is none."""
        shown = self._stand.output("kubectl", "get", "eviction", name, "--ignore-not-found", "--output=json")
        found: dict[str, Any] = json.loads(shown) if shown.strip() else {}
        return found

    def patch(self, name: str, **spec: Any) -> None:
        """Set fields of a Hypervisor's spec."""
        body = json.dumps({"spec": spec})
        self._stand.output("kubectl", "patch", "hypervisor", name, "--type=merge", f"--patch={body}")

    def _read_log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""


class SharedWorld(worlds.World):
    """A world in which another operator acts on the same hosts."""

    def __init__(self, *arguments: Any, hypervisors: HypervisorOperator, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.hypervisors = hypervisors
        #: The services that the other operator was made to enable after it had disabled them.
        self.enabled_by_other: list[str] = []

    def hand_over(self, *nodes: str, aggregates: str | None = "") -> None:
        """Label nodes for the hypervisor operator, without smoke test, and with the annotation unless it is None."""
        for node in nodes:
            self.undo.callback(self._take_back, node)
            annotations = {AGGREGATES: aggregates}
            labels = {VIRT_DRIVER: "kvm", LIFECYCLE: "skip-tests"}
            self.cluster.patch("Node", node, {"metadata": {"labels": labels, "annotations": annotations}})

    def _take_back(self, node: str) -> None:
        labels = {VIRT_DRIVER: None, LIFECYCLE: None}
        metadata = {"labels": labels, "annotations": {AGGREGATES: None}}
        self.cluster.patch("Node", node, {"metadata": metadata})
        self.stand.output("kubectl", "delete", "hypervisor", node, "--ignore-not-found")
        self.cluster.patch("Node", node, {"spec": {"taints": None}})

    def onboarded_pool(
        self, *nodes: str, traits: tuple[str, ...] = ("CUSTOM_E2E",), selector: dict[str, str] | None = None
    ) -> tuple[str, dict[str, str]]:
        """A settled pool of these nodes, whose onboarding by the hypervisor operator is complete."""
        self.hypervisors.start()
        name, selector = self.new_pool(*nodes, traits=list(traits), selector=selector)
        self.wait_pool(
            name, "the nodes are Active", lambda seen: cluster.phases(seen) == dict.fromkeys(nodes, "Active")
        )
        self.hand_over(*nodes)
        for node in nodes:
            self.wait_hypervisor(node, "Onboarding", "False Succeeded")
        self.wait_verdict(name, "TraitsReady", "True TraitsApplied")
        self.wait_verdict(name, "AggregatesReady", "True AggregatesEnsured")
        self.wait_settled(name, *nodes)
        return name, selector

    def wait_hypervisor(self, name: str, condition: str, verdict: str) -> dict[str, Any]:
        """The condition of a Hypervisor once it reads ``Status Reason``."""
        latest: dict[str, Any] = {}

        def look() -> dict[str, str]:
            latest.update(self.hypervisors.hypervisor(name))
            return {one: cluster.verdict(latest, one) for one in cluster.conditions(latest)}

        self.wait(f"Hypervisor {name}: {condition} reads {verdict}", look, lambda seen: seen.get(condition) == verdict)
        return cluster.conditions(latest)[condition]

    def members(self, host: str) -> set[str]:
        """The aggregates that a host is in."""
        return {name for name, row in self.cloud.aggregates().items() if host in row["hosts"]}

    def wait_members(self, host: str, *aggregates: str) -> None:
        self.wait(f"{host} is in {aggregates}", lambda: self.members(host), lambda seen: seen == set(aggregates))

    def provider_traits(self, host: str) -> set[str]:
        """The custom traits of a host's resource provider, as Placement has them."""
        provider = self.cloud.providers()[host]
        shown = self.stand.output(
            *("openstack", "resource", "provider", "trait", "list", provider),
            *("--os-placement-api-version", "1.6", "--format", "json"),
        )
        return {row["name"] for row in json.loads(shown) if row["name"].startswith("CUSTOM_")}

    def custom_traits(self) -> set[str]:
        """The names of custom traits that Placement knows."""
        shown = self.stand.output("openstack", "trait", "list", "--os-placement-api-version", "1.6", "--format", "json")
        return {row["name"] for row in json.loads(shown) if row["name"].startswith("CUSTOM_")}

    def evidence(self) -> str:
        """What the other operator did last, too."""
        last = "\n".join(self.hypervisors.log().splitlines()[-60:])
        return f"{super().evidence()}\n--- hypervisor operator, end of its log\n{last}"

    def expect_kept_promises(self) -> None:
        """What the pool never does; whatever was done of it has been done by the other operator."""
        assert self.witness.hosts("enabled") == sorted([*self._enabled, *self.enabled_by_other])
        assert self.witness.hosts("added to an aggregate") == self.hypervisors.added()


@pytest.fixture(scope="module", autouse=True)
def _kinds(the_stand: stand.Stand) -> Iterator[None]:
    """The kinds of the hypervisor operator, for these tests alone."""
    crds.install(the_stand.lab, "hypervisors")
    yield
    crds.remove(the_stand.lab, "hypervisors")


@pytest.fixture
def idle_world(
    request: pytest.FixtureRequest, the_stand: stand.Stand, flavor: str, image: str, log_folder: pathlib.Path
) -> Iterator[SharedWorld]:
    """A world with the stand-in at hand, which the test starts."""
    log = log_folder / f"{request.node.name[:80].replace('/', '-')}.log"
    operator = operator_process.OperatorProcess(the_stand, log, poll_scale=POLL_SCALE)
    assert the_stand.cloud.services() == {}, "an earlier test left compute services behind"
    assert the_stand.cloud.aggregates() == {}, "an earlier test left aggregates behind"
    hypervisors = HypervisorOperator(the_stand)
    world = SharedWorld(the_stand, operator, flavor=flavor, image=image, hypervisors=hypervisors)
    try:
        yield world
        world.clean_up()
        world.expect_kept_promises()
    finally:
        hypervisors.stop()
        operator.stop()


@pytest.fixture
def world(idle_world: SharedWorld) -> SharedWorld:
    """The world with a running operator."""
    idle_world.operator.start()
    return idle_world


def test_pool_names_nodes_outside_their_zone_until_they_are_onboarded_into_it(world: SharedWorld) -> None:
    name, _ = world.new_pool(FIRST)
    world.wait_settled(name, FIRST)
    outside = world.wait_verdict(name, "AggregatesReady", "True NodesOutsideZoneAggregate")
    assert FIRST in outside["message"]

    world.hypervisors.start()
    world.hand_over(FIRST)
    world.wait_verdict(name, "AggregatesReady", "True AggregatesEnsured")
    # A host without a custom trait is never told that its traits are applied, and so stays where it was tested.
    world.wait_hypervisor(FIRST, "Onboarding", "True Handover")
    world.wait_hypervisor(FIRST, "AggregatesUpdated", "False WaitingForTraits")
    assert world.members(FIRST) == {"az1", TESTS}


def test_host_keeps_its_zone_after_onboarding_only_by_the_annotation(world: SharedWorld) -> None:
    world.hypervisors.start()
    name, _ = world.new_pool(FIRST, SECOND, traits=["CUSTOM_E2E"])
    world.hand_over(FIRST)
    world.hand_over(SECOND, aggregates=None)
    for node in (FIRST, SECOND):
        world.wait_hypervisor(node, "Onboarding", "False Succeeded")
    world.wait_members(FIRST, "az1")
    world.wait_members(SECOND)
    world.wait_pool(name, f"{SECOND} alone is outside its zone", lambda seen: outside_zone(seen) == [SECOND])
    world.wait_settled(name, FIRST, SECOND)

    world.hand_over(SECOND)
    world.wait_members(SECOND, "az1")
    world.wait_verdict(name, "AggregatesReady", "True AggregatesEnsured")


def test_traits_of_a_pool_reach_placement_through_the_hypervisor_operator_and_leave_the_same_way(
    world: SharedWorld,
) -> None:
    world.hypervisors.start()
    name, _ = world.new_pool(FIRST, SECOND)
    world.wait_settled(name, FIRST, SECOND)
    world.hand_over(FIRST, SECOND)
    for node in (FIRST, SECOND):
        world.wait_hypervisor(node, "Onboarding", "True Handover")
    world.hypervisors.stop()

    own = [{"nodeName": SECOND, "mode": "Append", "traits": ["CUSTOM_E2E_A"]}]
    world.cluster.patch("NovaCompute", name, {"spec": {"traits": ["CUSTOM_E2E_B"], "hostTraits": own}})
    waits = world.wait_verdict(name, "TraitsReady", "True WaitingForHypervisorOperator")
    assert FIRST in waits["message"]
    assert world.hypervisors.hypervisor(SECOND)["spec"]["customTraits"] == ["CUSTOM_E2E_A", "CUSTOM_E2E_B"]
    assert world.provider_traits(FIRST) == set()
    world.wait_settled(name, FIRST, SECOND)

    world.hypervisors.start()
    world.wait_verdict(name, "TraitsReady", "True TraitsApplied")
    assert world.provider_traits(FIRST) == {"CUSTOM_E2E_B"}
    assert world.provider_traits(SECOND) == {"CUSTOM_E2E_A", "CUSTOM_E2E_B"}
    assert world.cluster.read("NovaCompute", name)["status"]["createdTraits"] == ["CUSTOM_E2E_A", "CUSTOM_E2E_B"]

    world.cluster.patch("NovaCompute", name, {"spec": {"hostTraits": None}})
    world.wait("the trait is deleted", world.custom_traits, lambda seen: seen == {"CUSTOM_E2E_B"})
    assert world.provider_traits(SECOND) == {"CUSTOM_E2E_B"}

    world.cluster.patch("NovaCompute", name, {"spec": {"traits": None}})
    world.wait_verdict(name, "TraitsReady", "True NoTraitsDeclared")
    assert world.custom_traits() == set()
    assert (world.provider_traits(FIRST), world.provider_traits(SECOND)) == (set(), set())
    reasons = collections.Counter(world.reasons(name))
    assert (reasons["TraitCreated"], reasons["TraitDeleted"]) == (2, 2)


@pytest.mark.page("docs/how-to/drain.md", "Under the hypervisor operator")
def test_node_in_manual_maintenance_is_emptied_by_migration_and_then_leaves_its_pool(
    no_pool_labels: None, world: SharedWorld, reader: readers.Reader
) -> None:
    name, _ = world.onboarded_pool(FIRST, SECOND, selector={cluster.POOL_LABEL: "a"})
    servers = [world.boot(FIRST), world.boot(FIRST)]
    reader.does("docs/how-to/drain.md", "Under the hypervisor operator")
    assert cluster.verdict(world.hypervisors.eviction(FIRST), "Evicting") == "False Succeeded"
    assert {world.cloud.server(server)["OS-EXT-SRV-ATTR:host"] for server in servers} == {SECOND}
    assert [world.cloud.server(server)["status"] for server in servers] == ["ACTIVE", "ACTIVE"]
    world.wait_dropped(name, FIRST)
    # The row stays in the table after the service is deleted, with the reason that it had at the end.
    rows = world.stand.sql(
        "nova", f"SELECT disabled_reason FROM services WHERE host='{FIRST}' ORDER BY id DESC LIMIT 1"
    )
    assert rows == ["Hypervisor CRD: spec.maintenance=manual"]
    assert (world.witness.hosts("disabled"), world.witness.hosts("deleted")) == ([FIRST], [FIRST])
    assert FIRST not in world.cloud.services()
    assert FIRST not in world.cloud.providers()
    assert world.pods_on(name, FIRST) == []
    reasons = world.reasons(name)
    assert ("ComputeServiceDisabled" in reasons, "ComputeServiceDeleted" in reasons) == (False, True)


def test_server_that_does_not_run_is_migrated_cold_and_confirmed(world: SharedWorld) -> None:
    # Nova takes the state of a server's host from the first row that its service ever had, also a deleted one, and
    # refuses to move the server when that one is long silent. Who runs a Nova archives such rows.
    world.stand.sql("nova", "DELETE FROM services WHERE deleted <> 0")
    world.onboarded_pool(FIRST, SECOND)
    server = world.boot(FIRST)
    world.stand.output("openstack", "server", "stop", server)
    world.wait("the server is stopped", lambda: world.cloud.server(server)["status"], lambda seen: seen == "SHUTOFF")

    world.hypervisors.patch(FIRST, maintenance="manual", maintenanceReason="a test")
    world.wait_hypervisor(FIRST, "Evicting", "False Succeeded")
    world.wait(
        f"the server is stopped on {SECOND}",
        lambda: world.cloud.server(server),
        lambda seen: (seen["OS-EXT-SRV-ATTR:host"], seen["status"]) == (SECOND, "SHUTOFF"),
    )


def test_maintenance_that_is_called_off_before_the_label_is_off_brings_the_node_back(world: SharedWorld) -> None:
    name, _ = world.onboarded_pool(FIRST, SECOND)
    world.hypervisors.patch(FIRST, maintenance="manual", maintenanceReason="a test")
    world.wait_hypervisor(FIRST, "Evicting", "False Succeeded")
    assert world.cloud.services()[FIRST]["status"] == "disabled"

    world.enabled_by_other.append(FIRST)
    world.hypervisors.patch(FIRST, maintenance="")
    world.wait(
        "the service is enabled", lambda: world.cloud.services()[FIRST]["status"], lambda seen: seen == "enabled"
    )
    world.wait("the Eviction is gone", lambda: world.hypervisors.eviction(FIRST), lambda seen: not seen)
    world.wait_passes(name, 1)
    world.wait_settled(name, FIRST, SECOND)


def test_terminated_node_loses_its_service_to_the_hypervisor_operator_and_is_dropped_without_a_delete(
    world: SharedWorld,
) -> None:
    name, selector = world.onboarded_pool(FIRST, SECOND)
    server = world.boot(FIRST)
    world.make(stubborn_pod(FIRST))
    world.wait(
        "the stubborn pod runs",
        lambda: world.cluster.read("Pod", "stubborn")["status"].get("phase"),
        lambda seen: seen == "Running",
    )

    world.hypervisors.patch(FIRST, maintenance="termination")
    world.wait_hypervisor(FIRST, "Evicting", "False Succeeded")
    assert world.cloud.server(server)["OS-EXT-SRV-ATTR:host"] == SECOND
    world.wait(f"no pod of the pool is on {FIRST}", lambda: world.pods_on(name, FIRST), lambda seen: not seen)
    taints = world.cluster.read("Node", FIRST)["spec"]["taints"]
    assert [(taint["key"], taint["effect"], taint.get("value")) for taint in taints] == [
        ("kvm.cloud.sap/offboarding", "NoExecute", None)
    ]
    # Kubernetes has evicted it, but it takes its time: the service is deleted after the last pod is gone.
    running = world.wait_hypervisor(FIRST, "AgentPodsEvicted", "False AgentPodsRunning")
    assert "openstack/stubborn" in running["message"]
    down = world.wait_verdict(name, "ServicesReady", "False ServicesDown")
    assert FIRST in down["message"]
    assert FIRST in world.cloud.services()

    world.stand.output("kubectl", "delete", "pod", "-n", "openstack", "stubborn", "--force", "--grace-period=0")
    world.wait_hypervisor(FIRST, "Offboarded", "True Offboarded")
    waits = world.wait_verdict(name, "ServicesReady", "False WaitingForServices")
    assert FIRST in waits["message"]
    assert cluster.verdict(world.cluster.read("NovaCompute", name), "Ready") == "False NotAllReady"
    assert FIRST not in world.cloud.services()
    assert FIRST not in world.cloud.providers()
    assert f"{FIRST}: service deleted" in world.hypervisors.log()

    world.unlabel(FIRST, selector)
    world.wait_dropped(name, FIRST)
    world.wait_settled(name, SECOND)
    assert (world.witness.hosts("disabled"), world.witness.hosts("deleted")) == ([FIRST], [FIRST])
    assert set(world.reasons(name)) & {"ComputeServiceDisabled", "ComputeServiceDeleted"} == set()


def test_hypervisor_in_termination_refuses_a_list_and_the_pool_serves_its_other_nodes(world: SharedWorld) -> None:
    name, _ = world.onboarded_pool(FIRST, SECOND, traits=("CUSTOM_E2E_A",))
    world.hypervisors.stop()
    world.hypervisors.patch(SECOND, maintenance="termination")
    with pytest.raises(cluster.RefusedError) as refusal:
        write_custom_traits(world, SECOND, ["CUSTOM_E2E_B"])
    assert refusal.value.status == 422

    world.cluster.patch("NovaCompute", name, {"spec": {"traits": ["CUSTOM_E2E_A", "CUSTOM_E2E_B"]}})
    waits = world.wait_verdict(name, "TraitsReady", "True WaitingForHypervisorOperator")
    assert (FIRST in waits["message"], SECOND in waits["message"]) == (True, False)
    assert world.hypervisors.hypervisor(FIRST)["spec"]["customTraits"] == ["CUSTOM_E2E_A", "CUSTOM_E2E_B"]
    assert world.hypervisors.hypervisor(SECOND)["spec"]["customTraits"] == ["CUSTOM_E2E_A"]

    world.hypervisors.start()
    applied = world.wait_verdict(name, "TraitsReady", "True TraitsApplied")
    assert SECOND in applied["message"]
    assert world.provider_traits(FIRST) == {"CUSTOM_E2E_A", "CUSTOM_E2E_B"}


def outside_zone(pool: cluster.Object) -> list[str]:
    """The nodes that AggregatesReady names as outside their zones."""
    found = cluster.conditions(pool).get("AggregatesReady", {})
    if found.get("reason") != "NodesOutsideZoneAggregate":
        return []
    return [node for node in stand.NODES if node in found["message"]]


def write_custom_traits(world: SharedWorld, name: str, traits: list[str]) -> None:
    """Write a Hypervisor's list as the pool does, and raise what the API server answers."""
    body = {"spec": {"customTraits": traits}}
    path = f"/apis/kvm.cloud.sap/v1/hypervisors/{name}"
    world.cluster._call("PATCH", path, body, content_type="application/merge-patch+json")


def stubborn_pod(node: str) -> dict[str, Any]:
    """A pod that does not end when it is told to."""
    script = "trap '' TERM; while :; do sleep 1; done"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stubborn", "namespace": cluster.NAMESPACE},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "terminationGracePeriodSeconds": 600,
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "any", "command": ["sh", "-c", script]}],
        },
    }
