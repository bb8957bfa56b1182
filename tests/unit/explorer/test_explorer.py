# SPDX-License-Identifier: Apache-2.0
"""The rules hold in every state that pools can reach, and no rule can be broken without an explorer saying so."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import (
    aggregates,
    drain,
    phases,
    status,
    vocabulary,
    workload,
)
from unit.explorer import breaking, ledgers, one_pool, reports, several_pools
from unit.explorer.breaking import Rule


def test_invariants_hold_for_a_pool_in_any_surroundings(record_property: reports.Record) -> None:
    report = one_pool.explore()
    reports.explored(record_property, report)
    assert report.states > 250


# After more events, with two nodes and with three pools: `make test-explorer`.
@pytest.mark.parametrize(("pools", "nodes", "events", "at_least"), [(2, 1, 3, 1_500)])
def test_invariants_hold_and_pools_come_to_rest_in_every_order_of_some_events(
    record_property: reports.Record, pools: int, nodes: int, events: int, at_least: int
) -> None:
    report = several_pools.explore(pools=pools, nodes=nodes, events=events)
    reports.explored(record_property, report)
    assert report.states > at_least


# --- what lets one node, one older and one younger pool stand for any number


def situations(phases_of_entry: Sequence[str | None]) -> list[dict[str, Any] | None]:
    """Every entry that a ledger can have of a node, but for its name; None is no entry."""
    found: list[dict[str, Any] | None] = []
    for phase in phases_of_entry:
        if phase is None:
            found.append(None)
        elif phase in vocabulary.LEAVING_PHASES:
            for count, service in itertools.product((None, 0, 1), (None, "id")):
                entry = {"phase": phase, "instances": count, "serviceID": service}
                found.append({key: value for key, value in entry.items() if value is not None})
        else:
            found.append({"phase": phase})
    return found


ENTRIES = situations([None, *sorted(vocabulary.HELD_PHASES), vocabulary.CONFLICT])
LABEL_SETS = [None, *(set(some) for count in range(4) for some in itertools.combinations(ledgers.LABELS, count))]
HOLDINGS = (None, vocabulary.ACTIVE, vocabulary.RELEASING)


def pool(index: int, held: Mapping[str, str], *, deleting: bool = False) -> phases.Pool:
    return phases.Pool(
        name=ledgers.POOLS[index],
        created=ledgers.CREATED[index],
        deleting=deleting,
        selector={ledgers.LABELS[index]: "yes"},
        held=held,
    )


def decided(own: phases.Pool, rivals: Sequence[phases.Pool], nodes: Any, ledger: Sequence[Any]) -> dict[str, Any]:
    """Node to what the rules make of it."""
    after = phases.next_ledger(own, rivals, nodes, ledger)
    taken_over = phases.handovers(rivals, nodes, after)
    return {entry["name"]: (entry, entry["name"] in taken_over) for entry in after}


@pytest.mark.parametrize("deleting", [False, True])
def test_phase_of_a_node_rests_on_that_node_alone(deleting: bool) -> None:  # noqa: FBT001
    nodes, ledger, held = {}, [], {}
    for number, (entry, labels, holding) in enumerate(itertools.product(ENTRIES, LABEL_SETS, HOLDINGS)):
        name = f"node-{number:04}"
        if labels is not None:
            nodes[name] = dict.fromkeys(labels, "yes")
        if entry is not None:
            ledger.append({"name": name, **entry})
        if holding is not None:
            held[name] = holding
    own, rival = pool(1, {}, deleting=deleting), pool(0, held)
    together = decided(own, [rival], nodes, ledger)
    alone: dict[str, Any] = {}
    for name in nodes.keys() | {entry["name"] for entry in ledger}:
        only = {name: nodes[name]} if name in nodes else {}
        alone |= decided(own, [rival], only, [entry for entry in ledger if entry["name"] == name])
    assert together == alone


def answers() -> Iterator[dict[str, Any]]:
    """Every answer that the second half of a pass can have about a node."""
    service = (None, "enabled", "disabled")
    yes_no = (False, True)
    for found, count, pod, handed_over, mapped, deletion in itertools.product(
        service, (None, 0, 1), yes_no, yes_no, yes_no, (None, drain.DELETED, drain.REFUSED)
    ):
        yield {
            "service": found and {"id": "id", "status": found, "state": "up"},
            "count": count,
            "pod": pod,
            "handed_over": handed_over,
            "mapped": mapped,
            "deletion": deletion,
        }


def asked(of: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, list[Any]]:
    """What the rules of the second half make of nodes with such an entry and such answers."""

    def having(key: str) -> dict[str, Any]:
        return {name: answer[key] for name, (_, answer) in of.items() if answer[key] not in (None, False)}

    ledger = [{"name": name, **entry} for name, (entry, _) in of.items()]
    services, counts, pods, over = having("service"), having("count"), having("pod"), list(having("handed_over"))
    settled = drain.next_ledger(
        ledger,
        services=services,
        counts=counts,
        pods=pods,
        handed_over=over,
        mapped=list(having("mapped")),
        deletions=having("deletion"),
    )
    return {
        "disabled": drain.services_to_disable(ledger, services),
        "counted": drain.nodes_to_count(ledger, pods, over),
        "deleted": drain.services_to_delete(ledger, services, counts, pods, over),
        "mapped": drain.nodes_to_map(ledger, services),
        "settled": settled,
    }


def test_what_nova_is_asked_about_a_node_rests_on_that_node_alone() -> None:
    entries = [entry for entry in ENTRIES if entry is not None]
    of = {f"node-{number:05}": one for number, one in enumerate(itertools.product(entries, answers()))}
    together = asked(of)
    alone: dict[str, list[Any]] = {key: [] for key in together}
    for name, one in of.items():
        for key, found in asked({name: one}).items():
            alone[key] += found
    assert {key: sorted(map(str, found)) for key, found in together.items()} == {
        key: sorted(map(str, found)) for key, found in alone.items()
    }


def test_two_older_or_two_younger_pools_decide_no_other_way_than_one_of_them() -> None:
    def phases_among(rivals: Sequence[phases.Pool], labels: Any, entry: Any) -> tuple[str | None, bool]:
        nodes = {} if labels is None else {"node": dict.fromkeys(labels, "yes")}
        found = decided(own, rivals, nodes, [] if entry is None else [{"name": "node", **entry}]).get("node")
        return (found[0]["phase"], found[1]) if found else (None, False)

    for place, entry, labels, deleting in itertools.product((0, 2), ENTRIES, LABEL_SETS, (False, True)):
        own = pool(place, {}, deleting=deleting)
        first, second = (one for one in range(3) if one != place)
        for holdings, going in itertools.product(
            itertools.product(HOLDINGS, repeat=2), itertools.product((False, True), repeat=2)
        ):
            rivals = [
                pool(one, {"node": holding} if holding else {}, deleting=gone)
                for one, holding, gone in zip((first, second), holdings, going, strict=True)
            ]
            both = phases_among(rivals, labels, entry)
            assert both in [phases_among([one], labels, entry) for one in rivals], (own, rivals, labels, entry)


# --- the rules, each broken in one way


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
    return aggregates.Plan(create=plan.create, begun={}, delete=(), keep=(), mismatched=())


def return_a_refused_node_to_nowhere(rule: Rule, ledger: Any, **answers: Any) -> Any:
    return rule(ledger, **{**answers, "deletions": dict.fromkeys(answers["deletions"], drain.DELETED)})


def never_release(rule: Rule, ledger: Any, **answers: Any) -> Any:
    kept = {"phase": "Draining"}
    before = {entry["name"] for entry in ledger if entry["phase"] == "Draining"}
    return [{**entry, **kept} if entry["name"] in before else entry for entry in rule(ledger, **answers)]


def yield_to_whoever_selects(rule: Rule, pool: phases.Pool, others: Sequence[phases.Pool], *read: Any) -> Any:
    """A pool leaves its node to any other that selects it, and so does the other."""
    moved = rule(pool, others, *read)
    taker = next((other for other in others if other.selects(read[1])), None)
    return {"name": moved["name"], "phase": "Conflict", "conflictsWith": taker.name} if taker else moved


def never_let_go(_rule: Rule, *_read: Any) -> bool:
    return False


BROKEN: list[breaking.Broken] = [
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

#: Nothing that a pool does is wrong here; it is what becomes of it.
RESTLESS: list[breaking.Broken] = [
    (drain, "next_ledger", never_release, "at rest"),
    (phases, "_selected", yield_to_whoever_selects, "at rest"),
    (status, "may_release", never_let_go, "at rest"),
]


@breaking.each(BROKEN)
def test_broken_rule_is_caught(record_property: reports.Record, broken: breaking.Broken) -> None:
    with breaking.caught(broken, record_property):
        one_pool.explore()


@breaking.each(RESTLESS)
def test_rule_that_never_ends_or_ends_elsewhere_is_caught(
    record_property: reports.Record, broken: breaking.Broken
) -> None:
    with breaking.caught(broken, record_property):
        several_pools.explore(pools=2, nodes=1, events=3)
