# SPDX-License-Identifier: Apache-2.0
"""What a rule costs grows with the nodes and not with their square: it searches no list of them for each of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.c5c3.nova.plugins.filter import pool as filters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import aggregates, drain, workload
from unit.rules import objects


class Listed(list[str]):
    """A list of nodes that may be gone through, and not be searched."""

    def __contains__(self, node: object) -> bool:
        raise AssertionError(f"the whole list was searched for {node}")


NAMES = [f"node-{number}" for number in range(3)]


def ledger(phase: str) -> list[dict[str, Any]]:
    return [objects.entry(phase, name, zone="az1", serviceID=f"id-{name}") for name in NAMES]


def test_nodes_outside_their_zone() -> None:
    settled = aggregates.settle(
        aggregates.judge([], [], aggregates.plan(objects.novacompute(), [], [], [])), ledger("Active"), Listed(NAMES)
    )
    assert settled["condition"]["reason"] == "NodesOutsideZoneAggregate"


def test_nodes_that_are_handed_over() -> None:
    assert drain.released_nodes(ledger("Releasing"), {}, Listed(NAMES[:2])) == NAMES[2:]


def test_nodes_that_are_mapped_or_handed_over() -> None:
    services = {name: objects.service(name)[name] for name in NAMES}
    after = drain.next_ledger(
        [*ledger("Pending")[:1], *ledger("Releasing")[1:]],
        services=services,
        counts={},
        pods={},
        handed_over=Listed(NAMES[1:]),
        mapped=Listed(NAMES[:1]),
        deletions={},
    )
    assert [(entry["name"], entry["phase"]) for entry in after] == [(NAMES[0], "Active")]


def test_pods_of_nodes_that_are_handed_over() -> None:
    pods = [
        {"metadata": {"name": f"pod-{name}", "labels": workload.labels("pool-b")}, "spec": {"nodeName": name}}
        for name in NAMES
    ]
    siblings = [objects.novacompute("pool-b")]
    found = workload.pods_by_node(pods, objects.novacompute(), siblings, Listed(NAMES[:2]))
    assert found == {NAMES[2]: f"pod-{NAMES[2]}"}


def test_nodes_with_the_annotation_of_the_traits() -> None:
    pool = objects.novacompute(traits=["CUSTOM_A"])
    outcome = filters.traits_outcome(pool, ledger("Active"), {}, Listed(NAMES), [], [])
    assert all(name in outcome["condition"]["message"] for name in NAMES)
