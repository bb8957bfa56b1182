# SPDX-License-Identifier: Apache-2.0
"""Target clusters of a lab: names of their own, and an operator there with few rights."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml
from novalab import lab as labs
from novalab import nodes, targets


def documents() -> list[dict[str, Any]]:
    found = [
        document
        for path in sorted(targets.RIGHTS.glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if document
    ]
    assert found
    return found


def rules() -> list[dict[str, Any]]:
    return [rule for document in documents() for rule in document.get("rules", [])]


@pytest.fixture
def edge(tmp_path: pathlib.Path) -> labs.Lab:
    return labs.Lab(name="x-edge", root=tmp_path, slot=1, family="edge")


def test_nodes_of_a_target_are_called_after_it(edge: labs.Lab) -> None:
    assert nodes.names(edge) == ["control", "edge-1", "edge-2"]
    assert edge.node_address("edge-1") == labs.Lab(name="x", root=edge.root, slot=1).node_address("compute-1")
    with pytest.raises(ValueError, match="edge-1 to edge-14"):
        edge.node_address("compute-1")


def test_first_nodes_of_a_target_are_in_the_pool_of_the_guide(edge: labs.Lab) -> None:
    assert nodes.labels(edge, "edge-2")["openstack.c5c3.io/nova-compute-pool"] == "a"
    assert "openstack.c5c3.io/nova-compute-pool" not in nodes.labels(edge, "edge-3")


@pytest.mark.parametrize("family", ["compute", "edge"])
def test_last_node_is_alone_in_its_zone(tmp_path: pathlib.Path, family: str) -> None:
    made = labs.Lab(name="x", root=tmp_path, slot=1, family=family)
    zones = [nodes.labels(made, node)["topology.kubernetes.io/zone"] for node in made.compute_nodes]
    assert zones == [*("az1" for _ in made.compute_nodes[1:]), "az2"]


def test_target_is_found_again_with_its_names(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("LAB_STATE", str(tmp_path))
    made = labs.Lab(name="x-edge", root=tmp_path / "x-edge", slot=3, family="edge")
    made.save()
    assert targets.of(labs.Lab(name="x", root=tmp_path / "x", slot=0)) == [made]


def test_operator_has_no_right_to_everything() -> None:
    for rule in rules():
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"]), rule


def test_operator_writes_no_node_and_gives_nobody_rights() -> None:
    written = {"create", "update", "patch", "delete", "deletecollection"}
    for rule in rules():
        assert not ("nodes" in rule["resources"] and written & set(rule["verbs"])), rule
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"], rule
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), rule


def test_operator_is_bound_to_roles_of_these_files_alone() -> None:
    made = {(one["kind"], one["metadata"]["name"]) for one in documents() if "rules" in one}
    bound = {(one["roleRef"]["kind"], one["roleRef"]["name"]) for one in documents() if "roleRef" in one}
    assert bound == made
    subjects = {(subject["namespace"], subject["name"]) for one in documents() for subject in one.get("subjects", [])}
    assert subjects == {(targets.ACCESS_NAMESPACE, targets.ACCOUNT)}
