# SPDX-License-Identifier: Apache-2.0
"""The rules of traits hold in every state that two pools can reach, and none can be broken unnoticed."""

from __future__ import annotations

from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import status, traits
from unit.explorer import breaking, reports, trait_worlds
from unit.explorer.breaking import Rule


def test_invariants_hold_and_lists_come_to_rest_in_every_order_of_events(record_property: reports.Record) -> None:
    report = trait_worlds.explore(events=1)
    reports.explored(record_property, report)
    assert report.states > 800


def record_only_what_is_about_to_be_written(rule: Rule, pool: Any, ledger: Any, hypervisors: Any) -> Any:
    forgotten = {
        node: {**state, "custom_traits": state["custom_traits"] if state["maintenance"] else []}
        for node, state in hypervisors.items()
    }
    return rule(pool, ledger, forgotten)


def record_nothing(_rule: Rule, _pool: Any, ledger: Any, _hypervisors: Any) -> Any:
    return [dict(entry) for entry in ledger]


def own_whatever_is_declared(rule: Rule, created: Any, made: Any, dropped: Any = ()) -> Any:
    return rule([*created, trait_worlds.TRAIT], made, dropped)


def delete_what_others_declare(rule: Rule, pool: Any, created: Any, ledger: Any, _siblings: Any) -> Any:
    return rule(pool, created, ledger, [])


def delete_what_a_node_records(rule: Rule, pool: Any, created: Any, _ledger: Any, siblings: Any) -> Any:
    return rule(pool, created, [], siblings)


def delete_what_the_pool_declares(rule: Rule, pool: Any, created: Any, ledger: Any, siblings: Any) -> Any:
    return rule({**pool, "spec": {**pool["spec"], "traits": []}}, created, ledger, siblings)


def never_delete(_rule: Rule, *_read: Any) -> list[str]:
    return []


def leave_nothing_to_others(_rule: Rule, *_read: Any) -> list[str]:
    return []


def create_nothing(_rule: Rule, *_read: Any) -> list[str]:
    return []


def let_go_of_created_traits(rule: Rule, pool: Any, *read: Any) -> Any:
    return rule({**pool, "status": {}}, *read)


BROKEN: list[breaking.Broken] = [
    (traits, "next_ledger", record_only_what_is_about_to_be_written, "at rest"),
    (traits, "next_ledger", record_nothing, "record before"),
    (traits, "created_after", own_whatever_is_declared, "no pool of ours|at rest|come to rest"),
    (traits, "to_delete", delete_what_others_declare, "declares it"),
    (traits, "to_delete", delete_what_a_node_records, "records it"),
    (traits, "to_delete", delete_what_the_pool_declares, "declares it|records it"),
    (traits, "to_delete", never_delete, "at rest"),
    (traits, "to_keep", leave_nothing_to_others, "at rest"),
    (traits, "to_create", create_nothing, "names only traits|at rest"),
    (status, "may_release", let_go_of_created_traits, "without a created trait"),
]


@breaking.each(BROKEN)
def test_broken_rule_is_caught(record_property: reports.Record, broken: breaking.Broken) -> None:
    with breaking.caught(broken, record_property):
        trait_worlds.explore(events=1)
