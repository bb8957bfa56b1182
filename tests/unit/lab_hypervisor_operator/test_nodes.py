# SPDX-License-Identifier: Apache-2.0
"""How a Hypervisor comes to be, and what it takes over from its Node."""

from __future__ import annotations

import pytest
from kubernetes import client as kubernetes
from novalab.hypervisor_operator import names, nodes
from unit.lab_hypervisor_operator import memory


def look(site: memory.Site) -> float | None:
    return nodes.reconcile(site.world, site.node)


def test_node_without_the_virt_driver_label_gets_no_hypervisor(site: memory.Site) -> None:
    site.cluster.delete("Hypervisor", memory.HOST)
    site.change_node(labels={names.VIRT_DRIVER: None})
    look(site)
    assert site.cluster.get("Hypervisor", memory.HOST) is None


def test_any_value_of_the_virt_driver_label_makes_a_hypervisor_named_as_the_node(site: memory.Site) -> None:
    site.cluster.delete("Hypervisor", memory.HOST)
    site.change_node(labels={names.VIRT_DRIVER: ""})
    look(site)
    assert site.hypervisor["metadata"]["name"] == memory.HOST


def test_hypervisor_that_lost_the_virt_driver_label_stays_and_is_not_synced(site: memory.Site) -> None:
    site.change_node(labels={names.VIRT_DRIVER: None}, annotations={names.CUSTOM_TRAITS: "CUSTOM_A"})
    look(site)
    assert site.hypervisor["spec"]["customTraits"] == []


def test_owner_is_the_node_but_no_controller() -> None:
    (owner,) = nodes.new_hypervisor(memory.node())["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": memory.HOST,
        "uid": "uid-host-1",
        "blockOwnerDeletion": True,
    }


def test_new_hypervisor_says_false_where_the_crd_would_say_true() -> None:
    plain = memory.node()
    del plain["metadata"]["labels"][names.LIFECYCLE]
    spec = nodes.new_hypervisor(plain)["spec"]
    assert (spec["lifecycleEnabled"], spec["evacuateOnReboot"], spec["skipTests"]) == (False, False, False)
    assert (spec["highAvailability"], spec["installCertificate"]) == (True, True)


@pytest.mark.parametrize(("value", "skips"), [("skip-tests", True), ("true", False), ("", False)])
def test_lifecycle_label_enables_and_its_value_decides_about_tests(value: str, skips: bool) -> None:  # noqa: FBT001
    spec = nodes.new_hypervisor(memory.node(labels={names.LIFECYCLE: value}))["spec"]
    assert (spec["lifecycleEnabled"], spec["skipTests"]) == (True, skips)


def test_lifecycle_label_that_goes_leaves_both_fields_as_they_are(site: memory.Site) -> None:
    site.change_node(labels={names.LIFECYCLE: None})
    look(site)
    spec = site.hypervisor["spec"]
    assert (spec["lifecycleEnabled"], spec["skipTests"]) == (True, True)


def test_lifecycle_label_on_a_known_hypervisor_switches_it_on(site: memory.Site) -> None:
    site.spec(lifecycleEnabled=False, skipTests=False)
    look(site)
    spec = site.hypervisor["spec"]
    assert (spec["lifecycleEnabled"], spec["skipTests"]) == (True, True)


@pytest.mark.parametrize(
    ("annotation", "aggregates"),
    [
        ("", ["az1"]),
        (" , ", ["az1"]),
        ("b, a ,", ["b", "a", "az1"]),
        ("az1", ["az1", "az1"]),
    ],
)
def test_aggregates_are_the_annotations_items_and_the_zone(
    site: memory.Site, annotation: str, aggregates: list[str]
) -> None:
    site.change_node(annotations={names.AGGREGATES: annotation})
    look(site)
    assert site.hypervisor["spec"]["aggregates"] == aggregates


def test_aggregates_of_a_node_without_zone_are_the_annotations_alone(site: memory.Site) -> None:
    site.change_node(labels={names.ZONE: None}, annotations={names.AGGREGATES: "a"})
    look(site)
    assert site.hypervisor["spec"]["aggregates"] == ["a"]


def test_fields_without_an_annotation_belong_to_others(site: memory.Site) -> None:
    site.spec(customTraits=["CUSTOM_POOL"], aggregates=["by-hand"])
    look(site)
    spec = site.hypervisor["spec"]
    assert (spec["customTraits"], spec["aggregates"]) == (["CUSTOM_POOL"], ["by-hand"])


@pytest.mark.parametrize(
    ("annotation", "traits"), [("", []), ("CUSTOM_B, CUSTOM_A,", ["CUSTOM_B", "CUSTOM_A"]), (" ", [])]
)
def test_custom_traits_annotation_overwrites_in_its_own_order(
    site: memory.Site, annotation: str, traits: list[str]
) -> None:
    site.spec(customTraits=["CUSTOM_POOL"])
    site.change_node(annotations={names.CUSTOM_TRAITS: annotation})
    look(site)
    assert site.hypervisor["spec"]["customTraits"] == traits


def test_labels_are_copied_and_never_removed(site: memory.Site) -> None:
    site.change_node(labels={names.ZONE: "az2", "kubernetes.metal.cloud.sap/bb": "bb1"})
    look(site)
    site.change_node(labels={"kubernetes.metal.cloud.sap/bb": None, "other": "x"})
    look(site)
    assert site.hypervisor["metadata"]["labels"] == {
        names.HOSTNAME: memory.HOST,
        names.ZONE: "az2",
        "kubernetes.metal.cloud.sap/bb": "bb1",
    }


def terminating(site: memory.Site) -> None:
    item = site.node
    item["status"]["conditions"] = [{"type": "Terminating", "status": "True"}]
    site.cluster.put(item)


def test_hypervisor_of_a_terminating_node_is_created_in_termination(site: memory.Site) -> None:
    site.cluster.delete("Hypervisor", memory.HOST)
    terminating(site)
    look(site)
    assert site.hypervisor["spec"]["maintenance"] == "termination"


def test_known_hypervisor_of_a_terminating_node_only_says_so(site: memory.Site) -> None:
    terminating(site)
    look(site)
    assert site.hypervisor["spec"]["maintenance"] == ""
    assert site.reads("Terminating").startswith("True")


def test_node_that_is_being_deleted_counts_as_terminating() -> None:
    item = memory.node()
    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert nodes.new_hypervisor(item)["spec"]["maintenance"] == "termination"


def test_address_of_the_node_is_in_the_status(site: memory.Site) -> None:
    look(site)
    assert site.status["internalIp"] == "192.0.2.1"


def test_refused_change_of_the_spec_ends_the_pass_before_the_status(site: memory.Site) -> None:
    site.spec(maintenance="termination")
    site.change_node(annotations={names.CUSTOM_TRAITS: "CUSTOM_A"})
    with pytest.raises(kubernetes.ApiException):
        look(site)
    assert "internalIp" not in site.status


def test_second_look_writes_nothing(site: memory.Site) -> None:
    look(site)
    written = len(site.cluster.written)
    look(site)
    assert site.cluster.written[written:] == []
