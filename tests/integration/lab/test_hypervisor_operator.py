# SPDX-License-Identifier: Apache-2.0
"""The kinds of other operators on a real API server, and the stand-in for the hypervisor operator as a process."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from novalab import lab as labs

#: The fixtures' classes live in the conftest, which is no module to import.
Cluster = LabCommand = Any


@pytest.fixture(scope="module", autouse=True)
def _kinds(lab_command: LabCommand) -> Iterator[None]:
    """Both sets, for these tests alone."""
    for which in ("hypervisors", "vpa"):
        lab_command("crds", "install", which)
    yield
    for which in ("hypervisors", "vpa"):
        lab_command("crds", "remove", which)


@pytest.fixture
def name(cluster: Cluster) -> Iterator[str]:
    """The name of a Hypervisor that is deleted when the test ends."""
    made = f"hv-{uuid.uuid4().hex[:8]}"
    yield made
    cluster.kubectl("delete", "hypervisor,node", made, "--ignore-not-found")


def hypervisor(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor", "metadata": {"name": name}, "spec": spec}


def create(cluster: Cluster, item: dict[str, Any]) -> None:
    """Create the object as any client may: kubectl would miss the fields that the API server fills in."""
    cluster.kubectl("create", "--validate=false", "--filename=-", stdin=json.dumps(item))


def refusal(act: Callable[[], Any]) -> str:
    """The API server's complaint about what must not pass."""
    with pytest.raises(AssertionError, match=r"Invalid|invalid|Unsupported") as refused:
        act()
    return str(refused.value)


def patch(cluster: Cluster, name: str, **spec: Any) -> None:
    cluster.kubectl("patch", "hypervisor", name, "--type=merge", f"--patch={json.dumps({'spec': spec})}")


# --- the Hypervisor


def test_fields_that_nobody_sets_get_the_published_defaults(cluster: Cluster, name: str) -> None:
    create(cluster, hypervisor(name))
    assert cluster.get("hv", name)["spec"] == {
        "lifecycleEnabled": True,
        "highAvailability": True,
        "installCertificate": True,
        "evacuateOnReboot": True,
        "skipTests": False,
        "reboot": False,
        "createCertManagerCertificate": False,
        "customTraits": [],
        "aggregates": [],
        "allowedProjects": [],
    }


def test_order_and_repetition_of_custom_traits_are_kept(cluster: Cluster, name: str) -> None:
    create(cluster, hypervisor(name, customTraits=["CUSTOM_B", "CUSTOM_A", "CUSTOM_B", "any text"]))
    assert cluster.get("hv", name)["spec"]["customTraits"] == ["CUSTOM_B", "CUSTOM_A", "CUSTOM_B", "any text"]


@pytest.mark.parametrize("value", ["", "auto", "ha", "termination"])
def test_maintenance_takes_its_values_without_a_reason(cluster: Cluster, name: str, value: str) -> None:
    create(cluster, hypervisor(name, maintenance=value))
    assert cluster.get("hv", name)["spec"]["maintenance"] == value


def test_maintenance_takes_no_other_value(cluster: Cluster, name: str) -> None:
    assert "maintenance" in refusal(lambda: create(cluster, hypervisor(name, maintenance="later")))


@pytest.mark.parametrize("reason", [{}, {"maintenanceReason": ""}])
def test_manual_needs_a_reason_when_it_is_created(cluster: Cluster, name: str, reason: dict[str, str]) -> None:
    assert "maintenanceReason" in refusal(lambda: create(cluster, hypervisor(name, maintenance="manual", **reason)))


def test_manual_needs_a_reason_when_it_is_set(cluster: Cluster, name: str) -> None:
    create(cluster, hypervisor(name))
    assert "maintenanceReason" in refusal(lambda: patch(cluster, name, maintenance="manual"))
    patch(cluster, name, maintenance="manual", maintenanceReason="a person's")
    assert cluster.get("hv", name)["spec"]["maintenance"] == "manual"


@pytest.mark.parametrize(
    "change",
    [{"customTraits": ["CUSTOM_A"]}, {"maintenance": ""}, {"maintenance": "auto"}, {"lifecycleEnabled": False}],
)
def test_spec_in_termination_is_closed(cluster: Cluster, name: str, change: dict[str, Any]) -> None:
    create(cluster, hypervisor(name, maintenance="termination"))
    assert "termination" in refusal(lambda: patch(cluster, name, **change))


def test_spec_in_termination_takes_what_it_says_already(cluster: Cluster, name: str) -> None:
    create(cluster, hypervisor(name, maintenance="termination", customTraits=["CUSTOM_A"]))
    patch(cluster, name, customTraits=["CUSTOM_A"])
    assert cluster.get("hv", name)["metadata"]["generation"] == 1


def test_spec_in_termination_may_go_to_ha_and_change_with_it(cluster: Cluster, name: str) -> None:
    create(cluster, hypervisor(name, maintenance="termination"))
    patch(cluster, name, maintenance="ha", customTraits=["CUSTOM_A"])
    assert cluster.get("hv", name)["spec"]["customTraits"] == ["CUSTOM_A"]


def test_status_in_termination_can_be_written(cluster: Cluster, name: str) -> None:
    create(cluster, hypervisor(name, maintenance="termination"))
    body = json.dumps({"status": {"traits": ["CUSTOM_A"]}})
    cluster.kubectl("patch", "hypervisor", name, "--subresource=status", "--type=merge", f"--patch={body}")
    assert cluster.get("hv", name)["status"] == {"traits": ["CUSTOM_A"], "numInstances": 0}


# --- the Eviction and the VerticalPodAutoscaler


def test_eviction_keeps_its_hypervisor(cluster: Cluster, name: str) -> None:
    eviction = {
        "apiVersion": "kvm.cloud.sap/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "spec": {"hypervisor": "one", "reason": "a test"},
    }
    create(cluster, eviction)
    body = json.dumps({"spec": {"hypervisor": "another"}})
    refusal(lambda: cluster.kubectl("patch", "evi", name, "--type=merge", f"--patch={body}"))
    cluster.kubectl("delete", "evi", name)


@pytest.mark.parametrize("lacking", ["hypervisor", "reason"])
def test_eviction_needs_both_of_its_fields(cluster: Cluster, name: str, lacking: str) -> None:
    spec = {key: "x" for key in ("hypervisor", "reason") if key != lacking}
    eviction = {"apiVersion": "kvm.cloud.sap/v1", "kind": "Eviction", "metadata": {"name": name}, "spec": spec}
    assert lacking in refusal(lambda: create(cluster, eviction))


def test_autoscaler_of_a_daemon_set_is_kept_as_written(cluster: Cluster) -> None:
    spec = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "pool-nova-compute"},
        "updatePolicy": {"updateMode": "Recreate", "minReplicas": 1},
        "resourcePolicy": {
            "containerPolicies": [
                {
                    "containerName": "*",
                    "controlledValues": "RequestsOnly",
                    "controlledResources": ["cpu", "memory"],
                    "minAllowed": {"cpu": "50m"},
                    "maxAllowed": {"memory": "1Gi"},
                }
            ]
        },
    }
    metadata = {"name": "pool"}
    cluster.apply(
        {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": metadata, "spec": spec}
    )
    assert cluster.get("vpa", "pool")["spec"] == spec


def test_kinds_are_there_only_while_they_are_installed(cluster: Cluster, lab_command: LabCommand) -> None:
    lab_command("crds", "remove", "vpa")
    try:
        assert "autoscaling.k8s.io" not in cluster.kubectl("api-versions")
        assert "kvm.cloud.sap/v1" in cluster.kubectl("api-versions")
    finally:
        lab_command("crds", "install", "vpa")
    assert "autoscaling.k8s.io/v1" in cluster.kubectl("api-versions")


# --- the process


@pytest.fixture
def stand_in(lab_command: LabCommand) -> Iterator[LabCommand]:
    """The command of a lab whose stand-in runs, and runs no more when the test ends."""
    lab_command("hypervisor-operator", "start", "--interval", "0.5")
    yield lab_command
    lab_command("hypervisor-operator", "stop")


def row(shown: str) -> str | None:
    """The process in the stand-in's row of ``status``."""
    found = re.search(r"^hypervisor operator +(\S+)", shown, re.MULTILINE)
    return found[1] if found else None


def test_stand_in_is_listed_from_its_start_to_its_stop(lab_command: LabCommand) -> None:
    assert row(lab_command.run("status").stdout) is None
    lab_command("hypervisor-operator", "start")
    try:
        assert (row(lab_command.run("status").stdout) or "").isdigit()
    finally:
        lab_command("hypervisor-operator", "stop")
    assert row(lab_command.run("status").stdout) is None


def test_stand_in_that_is_started_again_takes_the_new_switches(stand_in: LabCommand, lab: labs.Lab) -> None:
    before = row(stand_in.run("status").stdout)
    stand_in("hypervisor-operator", "start", "--ha", "--interval", "0.25")
    assert row(stand_in.run("status").stdout) != before
    log = lab.logs / "hypervisor-operator.log"
    deadline = time.monotonic() + 20
    while "interval=0.25, ha=True" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_start_without_the_kinds_says_how_to_install_them(lab_command: LabCommand) -> None:
    lab_command("crds", "remove", "hypervisors")
    try:
        done = lab_command.run("hypervisor-operator", "start")
    finally:
        lab_command("crds", "install", "hypervisors")
    assert done.returncode == 1
    assert "lab/lab.py crds install hypervisors" in done.stderr.replace("\n", " ")


def node(name: str, *, annotation: str | None = None) -> dict[str, Any]:
    """A Node that nothing runs on."""
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": "az1",
        "nova.openstack.cloud.sap/virt-driver": "kvm",
    }
    annotations = {} if annotation is None else {"nova.openstack.cloud.sap/custom-traits": annotation}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"unschedulable": True}}


def wait_made(cluster: Cluster, name: str) -> None:
    """Return when the Node has its Hypervisor."""
    deadline = time.monotonic() + 30
    while not cluster.exists("hypervisor", name):
        assert time.monotonic() < deadline, "no Hypervisor was made"
        time.sleep(0.1)


@pytest.mark.usefixtures("stand_in")
def test_hypervisor_comes_and_goes_with_its_node(cluster: Cluster, name: str) -> None:
    cluster.apply(node(name))
    wait_made(cluster, name)
    found = cluster.wait("hypervisor", name, lambda seen: "conditions" in seen.get("status", {}))
    assert (found["spec"]["lifecycleEnabled"], found["spec"]["evacuateOnReboot"]) == (False, False)
    cluster.kubectl("delete", "node", name)
    cluster.wait_gone("hypervisor", name, seconds=60)


@pytest.mark.usefixtures("stand_in")
def test_writes_of_the_stand_in_are_its_own_in_the_managed_fields(cluster: Cluster, name: str) -> None:
    cluster.apply(node(name, annotation="CUSTOM_A"))
    wait_made(cluster, name)
    cluster.wait("hypervisor", name, lambda seen: seen["spec"]["customTraits"] == ["CUSTOM_A"])
    found = cluster.get("hypervisor", name, "--show-managed-fields")
    assert {entry["manager"] for entry in found["metadata"]["managedFields"]} == {"lab-hypervisor-operator"}


@pytest.mark.usefixtures("stand_in")
def test_list_that_somebody_else_writes_is_left_to_them(cluster: Cluster, name: str) -> None:
    cluster.apply(node(name))
    wait_made(cluster, name)
    patch(cluster, name, customTraits=["CUSTOM_POOL"])
    # The label of the lifecycle is carried over after the list was written, so the list was seen and left alone.
    cluster.kubectl("label", "node", name, "cobaltcore.cloud.sap/node-hypervisor-lifecycle=true")
    found = cluster.wait("hypervisor", name, lambda seen: seen["spec"]["lifecycleEnabled"])
    assert found["spec"]["customTraits"] == ["CUSTOM_POOL"]
