# SPDX-License-Identifier: Apache-2.0
"""The rules hold in every state that two pools can reach, and no rule can be broken without the explorer saying so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import aggregates, drain, phases, status, workload
from unit.rules import explorer

Rule = Callable[..., Any]


def test_invariants_hold_on_one_node_in_every_order_of_four_events(capsys: pytest.CaptureFixture[str]) -> None:
    report = explorer.explore(nodes=1, events=4)
    with capsys.disabled():
        print(f"\nexplored two pools over one node: {report}")
    assert report.states > 10_000


def test_invariants_hold_on_two_nodes_in_every_order_of_three_events(capsys: pytest.CaptureFixture[str]) -> None:
    report = explorer.explore(nodes=2, events=3)
    with capsys.disabled():
        print(f"\nexplored two pools over two nodes: {report}")
    assert report.states > 2_000


# --- the rules, each broken in one way

Module = Any


def delete_without_a_count(
    _rule: Rule,
    ledger: Sequence[Mapping[str, Any]],
    services: drain.Services,
    counts: drain.Counts,
    pods: Mapping[str, str],
    handed_over: Sequence[str],
) -> Any:
    return [
        {"node": name, "id": services[name]["id"]}
        for name in drain.released_nodes(ledger, pods, handed_over)
        if name in services
    ]


def release_before_the_count(rule: Rule, ledger: Any, **answers: Any) -> Any:
    counted = dict.fromkeys(phases.held(ledger, "Draining"), 0)
    return rule(ledger, **{**answers, "counts": {**answers["counts"], **counted}})


def disable_whatever_is_enabled(_rule: Rule, ledger: Any, services: drain.Services) -> Any:
    return [
        {"node": name, "id": services[name]["id"]}
        for name in phases.held(ledger, "Draining")
        if services.get(name, {}).get("status") == "enabled"
    ]


def disable_before_it_drains(_rule: Rule, ledger: Any, services: drain.Services) -> Any:
    return [
        {"node": name, "id": services[name]["id"]}
        for name in phases.held(ledger, "Draining", "Releasing")
        if services.get(name, {}).get("status") == "enabled"
    ]


def yield_to_nobody(rule: Rule, pool: phases.Pool, others: Sequence[phases.Pool], *read: Any) -> Any:
    """A pool keeps what it holds, whoever else holds it."""
    entry = read[0]
    mine = entry.get("phase") in {"Pending", "Active"}
    return rule(pool, [] if mine else others, *read)


def take_what_another_pool_holds(rule: Rule, pool: phases.Pool, _others: Any, *read: Any) -> Any:
    return rule(pool, [], *read)


def hand_nothing_over(_rule: Rule, *_read: Any) -> bool:
    return False


def forget_the_handover(_rule: Rule, *_read: Any) -> list[str]:
    return []


def ignore_the_pods(rule: Rule, ledger: Any, _pods: Any, handed_over: Any) -> Any:
    return rule(ledger, {}, handed_over)


def delete_what_is_handed_over(rule: Rule, ledger: Any, pods: Any, _handed_over: Any) -> Any:
    return rule(ledger, pods, [])


def release_when_the_label_goes(rule: Rule, others: Any, entry: Any, labels: Any) -> Any:
    moved = rule(others, entry, labels)
    return {**moved, "phase": "Releasing"} if moved else moved


def keep_on_draining_when_selected_again(rule: Rule, pool: Any, others: Any, entry: Any, labels: Any) -> Any:
    moved = rule(pool, others, entry, labels)
    return {**moved, "phase": "Draining"} if entry.get("phase") == "Draining" else moved


def keep_no_pod_of_a_draining_node(rule: Rule, pool: Any, ledger: Any) -> Any:
    return rule(pool, [entry for entry in ledger if entry["phase"] != "Draining"])


def drop_a_node_with_its_pod(rule: Rule, ledger: Any, **answers: Any) -> Any:
    settled = rule(ledger, **answers)
    return [entry for entry in settled if entry["name"] not in answers["handed_over"]]


def let_go_while_a_node_is_held(rule: Rule, pool: Any, _began_with: Any, outcomes: Any) -> Any:
    return rule(pool, [], outcomes)


def keep_the_aggregates(rule: Rule, *read: Any) -> Any:
    plan = rule(*read)
    return aggregates.Plan(create=plan.create, delete=(), keep=(), mismatched=())


def return_a_refused_node_to_nowhere(rule: Rule, ledger: Any, **answers: Any) -> Any:
    return rule(ledger, **{**answers, "deletions": dict.fromkeys(answers["deletions"], drain.DELETED)})


BROKEN: list[tuple[Module, str, Rule, str]] = [
    (drain, "services_to_delete", delete_without_a_count, "counted no server"),
    (drain, "next_ledger", release_before_the_count, "empty or handed over"),
    (drain, "services_to_disable", disable_whatever_is_enabled, "disabled once in a drain"),
    (drain, "services_to_disable", disable_before_it_drains, "only on a node that drains"),
    (phases, "_selected", yield_to_nobody, "no two pools hold"),
    (phases, "_selected", take_what_another_pool_holds, "no two pools hold"),
    (phases, "handed_over", hand_nothing_over, "takes over is not deleted"),
    (phases, "handovers", forget_the_handover, "takes over is not deleted"),
    (drain, "released_nodes", delete_what_is_handed_over, "takes over is not deleted"),
    (drain, "released_nodes", ignore_the_pods, "on the node are gone"),
    (phases, "_unselected", release_when_the_label_goes, "empty or handed over"),
    (phases, "_selected", keep_on_draining_when_selected_again, "selects does not leave it"),
    (workload, "affinity_terms", keep_no_pod_of_a_draining_node, "keeps its pod"),
    (drain, "next_ledger", drop_a_node_with_its_pod, "dropped only after its pod is gone"),
    (status, "may_release", let_go_while_a_node_is_held, "after every node is released"),
    (aggregates, "plan", keep_the_aggregates, "no aggregate of ours"),
    (drain, "next_ledger", return_a_refused_node_to_nowhere, "only with its service"),
]


@pytest.mark.parametrize(
    ("module", "name", "broken", "invariant"), BROKEN, ids=[broken.__name__ for _, _, broken, _ in BROKEN]
)
def test_broken_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, module: Module, name: str, broken: Rule, invariant: str
) -> None:
    monkeypatch.setattr(module, name, functools.partial(broken, getattr(module, name)))
    with pytest.raises(explorer.BrokenError, match=invariant):
        explorer.explore(nodes=1, events=4)
