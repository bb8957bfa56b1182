# SPDX-License-Identifier: Apache-2.0
"""What of an object says that a pool is due, and which pool."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from nova_compute_operator import triggers

Edit = Callable[[dict[str, Any]], object]

KIND = {kind.name: kind for kind in triggers.KINDS}
NOVA_API = "nova.openstack.c5c3.io/v1alpha1"


def pool(
    name: str = "a", *, nova: str = "nova", selector: dict[str, str] | None = None, **phases: str
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "openstack",
            "uid": f"uid-{name}",
            "generation": 3,
            "resourceVersion": "10",
            "labels": {"team": "x"},
            "annotations": {"note": "y"},
        },
        "spec": {"novaRef": {"name": nova}, "nodeSelector": selector or {"pool": name}},
        "status": {
            "observedGeneration": 3,
            "nodes": [
                {"name": node, "phase": phase, "serviceState": "up"}
                for node, phase in (phases or {f"{name}1": "Active"}).items()
            ],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def item(kind: str, **fields: Any) -> dict[str, Any]:
    owner = {"DaemonSet": "NovaCompute", "ConfigMap": "NovaCompute", "Job": "Nova"}.get(kind)
    metadata: dict[str, Any] = {"name": "thing", "namespace": "openstack", "uid": "uid-1", "resourceVersion": "5"}
    if owner:
        owned_by = "a" if owner == "NovaCompute" else "nova"
        metadata["ownerReferences"] = [{"apiVersion": NOVA_API, "kind": owner, "name": owned_by}]
    return {"metadata": metadata | fields.pop("metadata", {}), **fields}


def change(
    kind: str, before: dict[str, Any] | None, after: dict[str, Any] | None, *, initial: bool = False
) -> triggers.Change:
    metadata = (after or before or {})["metadata"]
    view = KIND[kind].view
    return triggers.Change(
        kind=kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        before=view(before) if before else None,
        after=view(after) if after else None,
        initial=initial,
    )


def edited(original: dict[str, Any], edit: Edit) -> dict[str, Any]:
    new = copy.deepcopy(original)
    edit(new)
    new["metadata"]["resourceVersion"] = "11"
    return new


@pytest.fixture
def known() -> triggers.Triggers:
    """Pools a and b of one Nova, and a pool c of another."""
    index = triggers.Triggers()
    for one in (pool("a"), pool("b"), pool("c", nova="other")):
        index.wakes(change("NovaCompute", None, one, initial=True))
    return index


def woken(index: triggers.Triggers, *changes: triggers.Change) -> dict[str, str]:
    """The pools that became due, by short name, and how urgently."""
    wakes = [wake for one in changes for wake in index.wakes(one)]
    return {
        wake.pool.removeprefix("openstack/"): wake.urgency.name if wake.urgency is not None else "GONE"
        for wake in wakes
    }


@pytest.mark.parametrize(
    "edit",
    [
        lambda new: new["metadata"].update(generation=4),
        lambda new: new["metadata"]["labels"].update(team="z"),
        lambda new: new["metadata"]["annotations"].pop("note"),
        lambda new: new["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
        lambda new: new["metadata"].update(uid="made-anew"),
    ],
    ids=["spec", "label", "annotation", "deletion", "made anew"],
)
def test_a_change_of_the_pool_itself_is_urgent(known: triggers.Triggers, edit: Edit) -> None:
    assert woken(known, change("NovaCompute", pool(), edited(pool(), edit)))["a"] == "CHANGED"


@pytest.mark.parametrize(
    "edit",
    [
        lambda new: new["status"]["conditions"].append({"type": "NovaReady", "status": "False"}),
        lambda new: new["status"]["nodes"][0].update(serviceState="down"),
        lambda new: new["status"].update(observedGeneration=2),
        lambda new: new["metadata"].update(finalizers=["cleanup"]),
        lambda new: new["metadata"].update(managedFields=[{"manager": "x"}]),
    ],
    ids=["conditions", "service state", "observed generation", "finalizers", "managed fields"],
)
def test_a_write_of_the_passes_own_wakes_nobody(known: triggers.Triggers, edit: Edit) -> None:
    assert woken(known, change("NovaCompute", pool(), edited(pool(), edit))) == {}


HOLDS, DRAINS, YIELDS = {"n1": "Active"}, {"n1": "Draining"}, {"n1": "Conflict"}
WITHOUT = {"n2": "Active"}


@pytest.mark.parametrize(
    ("before", "after", "sibling", "expected"),
    [
        (HOLDS, DRAINS, YIELDS, {"b"}),
        (HOLDS, WITHOUT, YIELDS, {"b"}),
        (WITHOUT, YIELDS, HOLDS, {"b"}),
        # One of the two wrote before it could know of the other, and both have to look who yields.
        (WITHOUT, HOLDS, DRAINS, {"a", "b"}),
        (HOLDS, YIELDS, HOLDS, {"b"}),
        (HOLDS, DRAINS, WITHOUT, set()),
        (HOLDS, HOLDS | {"n3": "Pending"}, WITHOUT | {"n4": "Active"}, set()),
        (HOLDS, HOLDS, YIELDS, set()),
    ],
    ids=[
        *("a drain waited for", "a node let go", "a new conflict", "both took it", "a yield"),
        *("a drain of its own", "a node of its own", "nothing new"),
    ],
)
def test_what_a_pool_holds_concerns_the_siblings_that_have_the_node_too(
    before: dict[str, str], after: dict[str, str], sibling: dict[str, str], expected: set[str]
) -> None:
    index = triggers.Triggers()
    for one in (pool("a", **before), pool("b", **sibling), pool("c", nova="other", **YIELDS)):
        index.wakes(change("NovaCompute", None, one, initial=True))
    became = woken(index, change("NovaCompute", pool("a", **before), pool("a", **after)))
    assert became == dict.fromkeys(expected, "WOKEN")


def test_a_name_that_no_node_can_have_is_passed_over() -> None:
    view = KIND["NovaCompute"].view(pool("a", **{"two words": "Active", "": "Active", "n1": "Pending"}))
    assert view is not None
    assert view.ledger == {"n1": "Pending"}


def test_a_sibling_that_goes_leaves_its_nodes_to_the_others(known: triggers.Triggers) -> None:
    assert woken(known, change("NovaCompute", pool(), None)) == {"a": "GONE", "b": "WOKEN"}


def test_a_sibling_label_is_nobody_elses_business(known: triggers.Triggers) -> None:
    after = edited(pool(), lambda new: new["metadata"]["labels"].update(team="z"))
    assert woken(known, change("NovaCompute", pool(), after)) == {"a": "CHANGED"}


def test_a_new_pool_is_urgent_and_its_siblings_look_who_came(known: triggers.Triggers) -> None:
    assert woken(known, change("NovaCompute", None, pool("d"))) == {"d": "CHANGED", "a": "WOKEN", "b": "WOKEN"}


@pytest.mark.parametrize(
    ("edit", "urgency"),
    [
        (lambda _: None, "LOOK"),
        (lambda new: new["metadata"].update(generation=4), "CHANGED"),
        (lambda new: new.pop("status"), "CHANGED"),
        (lambda new: new["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"), "CHANGED"),
    ],
    ids=["seen", "changed meanwhile", "never seen", "being deleted"],
)
def test_after_a_start_what_no_pass_has_seen_goes_first(edit: Edit, urgency: str) -> None:
    first = change("NovaCompute", None, edited(pool(), edit), initial=True)
    assert woken(triggers.Triggers(), first) == {"a": urgency}


NOVA = {
    "metadata": {"name": "nova", "namespace": "openstack", "uid": "u", "generation": 1},
    "status": {"installedRelease": "2026.1", "computeConfigSecretRef": {"name": "nova-compute-config"}, "cells": []},
}


@pytest.mark.parametrize(
    "edit",
    [
        lambda new: new["metadata"].update(generation=2),
        lambda new: new["status"].update(installedRelease="2026.2"),
        lambda new: new["status"].update(computeConfigSecretRef={"name": "another"}),
        lambda new: new["status"].pop("computeConfigSecretRef"),
    ],
    ids=["spec", "release", "contract", "no contract"],
)
def test_what_a_nova_publishes_wakes_its_pools(known: triggers.Triggers, edit: Edit) -> None:
    assert woken(known, change("Nova", NOVA, edited(NOVA, edit))) == {"a": "WOKEN", "b": "WOKEN"}


def test_the_rest_of_a_novas_status_wakes_nobody(known: triggers.Triggers) -> None:
    after = edited(NOVA, lambda new: new["status"]["cells"].append({"name": "cell1"}))
    assert woken(known, change("Nova", NOVA, after)) == {}


def test_a_nova_that_appears_or_goes_wakes_its_pools(known: triggers.Triggers) -> None:
    assert woken(known, change("Nova", None, NOVA)) == {"a": "WOKEN", "b": "WOKEN"}
    assert woken(known, change("Nova", NOVA, None)) == {"a": "WOKEN", "b": "WOKEN"}


DAEMONSET = item("DaemonSet", metadata={"generation": 1}, status={"numberReady": 1, "conditions": []})


@pytest.mark.parametrize(
    "edit",
    [
        lambda new: new["metadata"].update(generation=2),
        lambda new: new["metadata"].update(labels={"foreign": "label"}),
        lambda new: new["status"].update(numberReady=2),
        lambda new: new["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
    ids=["template", "metadata", "counts", "deletion"],
)
def test_drift_and_progress_of_a_child_wake_its_pool_alone(known: triggers.Triggers, edit: Edit) -> None:
    assert woken(known, change("DaemonSet", DAEMONSET, edited(DAEMONSET, edit))) == {"a": "WOKEN"}


@pytest.mark.parametrize("kind", ["DaemonSet", "ConfigMap"])
def test_a_child_that_somebody_deletes_wakes_its_pool(known: triggers.Triggers, kind: str) -> None:
    assert woken(known, change(kind, item(kind), None)) == {"a": "WOKEN"}


@pytest.mark.parametrize("kind", ["DaemonSet", "ConfigMap", "Job"])
def test_an_object_without_our_owner_is_not_even_kept(kind: str) -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "NovaCompute", "name": "a"}, {"apiVersion": NOVA_API, "kind": "Other"}]
    assert KIND[kind].view(item(kind, metadata={"ownerReferences": owners, "name": "x-discover-hosts"})) is None


CONTRACT = item("Secret", metadata={"name": "nova-compute-config"})


def test_each_write_of_the_contract_wakes_the_pools_of_its_nova(known: triggers.Triggers) -> None:
    assert woken(known, change("Secret", CONTRACT, edited(CONTRACT, lambda _: None))) == {"a": "WOKEN", "b": "WOKEN"}


def test_another_secret_is_not_even_kept() -> None:
    assert KIND["Secret"].view(item("Secret", metadata={"name": "nova-password"})) is None


def test_of_secrets_and_configmaps_and_nodes_only_metadata_is_asked_for() -> None:
    assert {kind.name for kind in triggers.KINDS if kind.metadata_only} == {"Secret", "ConfigMap", "Node"}


def job(*conditions: tuple[str, str]) -> dict[str, Any]:
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    return item("Job", metadata={"name": "nova-discover-hosts"}, status={"active": 1, "conditions": listed})


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_the_end_of_a_host_discovery_wakes_the_pools_that_wait_for_one(known: triggers.Triggers, end: str) -> None:
    known.wakes(change("NovaCompute", pool("b"), pool("b", n1="Active", n2="Pending")))
    assert woken(known, change("Job", job(), job((end, "True")))) == {"b": "WOKEN"}


def test_the_life_of_a_host_discovery_before_and_after_wakes_nobody(known: triggers.Triggers) -> None:
    running, ended = job(("SuccessCriteriaMet", "True"), ("Complete", "False")), job(("Complete", "True"))
    changes = (change("Job", None, job()), change("Job", job(), running), change("Job", ended, None))
    assert woken(known, *changes) == {}


def node(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "uid": "u", "labels": labels, "resourceVersion": "1"}}


@pytest.fixture
def selecting() -> triggers.Triggers:
    """Pools that select by different keys."""
    index = triggers.Triggers()
    for one in (pool("a", selector={"pool": "a"}), pool("b", selector={"pool": "b", "gpu": "yes"})):
        index.wakes(change("NovaCompute", None, one, initial=True))
    return index


ZONE = triggers.ZONE_LABEL
B = {"pool": "b", "gpu": "yes"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (node(pool="a"), node(pool="none"), {"a"}),
        (node(), node(pool="a"), {"a"}),
        (node(**B), node(pool="b"), {"b"}),
        (node(pool="a", gpu="yes"), node(**B), {"a", "b"}),
        # The key is the one that they select by, the value is not.
        (node(pool="x"), node(pool="y"), set()),
        (node(pool="b"), node(pool="none"), set()),
        (node(pool="a"), node(pool="a", kernel="6.1"), set()),
        (node(**{ZONE: "az1"}, pool="a"), node(**{ZONE: "az2"}, pool="a"), {"a"}),
        (node(**{ZONE: "az1"}), node(**{ZONE: "az2"}), set()),
        (None, node(pool="a"), {"a"}),
        (node(pool="a"), None, {"a"}),
        (None, node(other="x"), set()),
    ],
    ids=[
        *("taken out", "put in", "one of two labels gone", "from one pool to the other", "another value"),
        *("never selected", "another label", "a zone", "a zone of no pool", "joins", "leaves", "joins no pool"),
    ],
)
def test_a_node_wakes_the_pools_that_count_it_in_or_out(
    selecting: triggers.Triggers,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    expected: set[str],
) -> None:
    assert woken(selecting, change("Node", before, after)) == dict.fromkeys(expected, "MOVED")


@pytest.mark.parametrize(
    "after",
    [None, node(**{ZONE: "az2"}), {"metadata": {"name": "n1", "uid": "made-anew", "labels": {ZONE: "az1"}}}],
    ids=["gone", "moved", "made anew"],
)
def test_a_node_that_goes_or_moves_wakes_the_pool_that_drains_it(after: dict[str, Any] | None) -> None:
    index = triggers.Triggers()
    for one in (pool("a", n1="Draining"), pool("b", n10="Draining")):
        index.wakes(change("NovaCompute", None, one, initial=True))
    assert woken(index, change("Node", node(**{ZONE: "az1"}), after)) == {"a": "MOVED"}


def test_a_node_of_another_cluster_wakes_no_pool_of_this_one(selecting: triggers.Triggers) -> None:
    there = dataclasses.replace(change("Node", node(pool="a"), None), cluster="edge")
    assert woken(selecting, there) == {}


def test_a_first_list_of_anything_but_pools_wakes_nobody(known: triggers.Triggers) -> None:
    assert woken(known, change("Nova", None, NOVA, initial=True)) == {}


@pytest.mark.parametrize("kind", list(KIND))
def test_an_object_with_nothing_in_it_breaks_no_view(kind: str) -> None:
    KIND[kind].view({"metadata": {}})
    KIND[kind].view({})


@pytest.mark.parametrize(("value", "verbosity"), [("0", 0), ("3", 3), ("4", None), ("true", None), (None, None)])
def test_an_annotation_asks_for_the_output_of_passes(value: str | None, verbosity: int | None) -> None:
    asking = pool()
    if value is not None:
        asking["metadata"]["annotations"]["nova.openstack.c5c3.io/log-output"] = value
    index = triggers.Triggers()
    index.wakes(change("NovaCompute", None, asking, initial=True))
    assert index.verbosity("openstack/a") == verbosity


def test_nodes_are_counted_by_pool_and_phase(known: triggers.Triggers) -> None:
    more = edited(pool("b"), lambda new: new["status"]["nodes"].append({"name": "n2", "phase": "Draining"}))
    known.wakes(change("NovaCompute", pool("b"), more))
    known.wakes(change("NovaCompute", pool("c", nova="other"), None))
    assert known.phases() == [
        ("openstack/a", "Active", 1),
        ("openstack/b", "Active", 1),
        ("openstack/b", "Draining", 1),
    ]
