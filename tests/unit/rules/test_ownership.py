# SPDX-License-Identifier: Apache-2.0
"""Whose child an object is, on the owner's own cluster and on a target cluster."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import ownership
from unit.rules import objects

LOCAL = ownership.of_pool(objects.novacompute())
PLACED = ownership.of_pool(objects.novacompute(targetClusterRef={"name": "edge"}))
LABELS = {
    "openstack.c5c3.io/owner-kind": "NovaCompute",
    "openstack.c5c3.io/owner-name": "pool-a",
    "openstack.c5c3.io/owner-namespace": "openstack",
}
BOTH = pytest.mark.parametrize("owner", [LOCAL, PLACED], ids=["local", "placed"])


def child(**metadata: Any) -> objects.Data:
    return {"metadata": {"name": "child", "namespace": "openstack", **metadata}}


def test_local_child_carries_a_controller_reference_and_no_label() -> None:
    assert LOCAL.marks() == {
        "labels": {},
        "ownerReferences": [
            {
                "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
                "kind": "NovaCompute",
                "name": "pool-a",
                "uid": "uid-pool-a",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def test_remote_child_carries_three_labels_and_no_reference() -> None:
    assert PLACED.marks() == {"labels": LABELS, "ownerReferences": []}


def test_child_of_a_nova_names_it() -> None:
    nova = {"name": "nova", "namespace": "openstack", "uid": "u1", "target": {"cluster": "edge"}}
    assert ownership.of_nova(nova).labels == {
        "openstack.c5c3.io/owner-kind": "Nova",
        "openstack.c5c3.io/owner-name": "nova",
        "openstack.c5c3.io/owner-namespace": "openstack",
    }


@BOTH
def test_child_that_carries_the_marks_is_owned(owner: ownership.Owner) -> None:
    assert owner.owns(child(**owner.marks()))


@BOTH
def test_child_without_a_mark_is_foreign(owner: ownership.Owner) -> None:
    assert not owner.owns(child())
    with pytest.raises(ValueError, match="DaemonSet openstack/child does not belong to NovaCompute pool-a"):
        owner.refuse_foreign(child(), "DaemonSet")


@BOTH
def test_own_child_and_no_child_are_not_refused(owner: ownership.Owner) -> None:
    owner.refuse_foreign(child(**owner.marks()), "DaemonSet")
    owner.refuse_foreign(None, "DaemonSet")


def test_local_child_of_a_namesake_of_an_earlier_life_is_foreign() -> None:
    marks = LOCAL.marks()
    marks["ownerReferences"][0]["uid"] = "earlier"
    assert not LOCAL.owns(child(**marks))


@pytest.mark.parametrize("label", LABELS)
def test_one_label_of_another_owner_makes_a_remote_child_foreign(label: str) -> None:
    assert not PLACED.owns(child(labels={**LABELS, label: "other"}))
    assert not PLACED.owns(child(labels={key: value for key, value in LABELS.items() if key != label}))


def test_reference_on_a_target_cluster_makes_nobody_an_owner() -> None:
    assert not PLACED.owns(child(**LOCAL.marks()))
