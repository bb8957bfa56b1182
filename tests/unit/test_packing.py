# SPDX-License-Identifier: Apache-2.0
"""What is large is text on its way through a play, and data for whoever looks at it."""

from __future__ import annotations

from typing import Any

from ansible_collections.c5c3.nova.plugins.filter import pool as filters
from ansible_collections.c5c3.nova.plugins.module_utils import entry, packing

LEDGER = [{"name": "n1", "phase": "Active", "zone": "ä{{ 1/0 }}"}, {"name": "n2", "phase": "Draining"}]
POOL = {"metadata": {"name": "a"}, "spec": {}, "status": {"numberReady": 2, "nodes": LEDGER}}


def run(arguments: dict[str, Any], result: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments that a module got, and what its result became."""
    got: list[Any] = []

    def module(task: entry.Task) -> dict[str, Any]:
        got.append(dict(task.params))
        return result

    returned = entry.outcome(module, entry.Task(params=arguments), module="c5c3.nova.x")
    return got[0] if got else None, returned


def test_a_result_is_text_where_it_is_large() -> None:
    _, returned = run({}, {"ledger": LEDGER, "pool": POOL, "moved": True})
    assert returned == {
        "changed": False,
        "ledger": packing.pack(LEDGER),
        "pool": packing.pack(POOL),
        "moved": True,
    }


def test_a_module_gets_what_another_returned_as_data() -> None:
    _, returned = run({}, {"ledger": LEDGER, "pool": POOL})
    got, _ = run({"ledger": returned["ledger"], "pool": returned["pool"]}, {})
    assert got == {"ledger": LEDGER, "pool": POOL}


def test_data_that_was_never_text_is_as_good() -> None:
    given = {"ledger": LEDGER, "pool": POOL, "services": {}}
    assert run(given, {})[0] == given


def test_text_that_is_no_json_fails_the_task_and_nothing_else() -> None:
    got, returned = run({"ledger": "n1, n2"}, {})
    assert got is None
    assert returned["failed"]


def test_filters_take_either() -> None:
    in_phase = filters.FilterModule().filters()["nodes_in_phase"]
    assert in_phase(LEDGER, "Draining") == in_phase(packing.pack(LEDGER), "Draining") == ["n2"]


def test_the_pool_without_its_ledger_is_otherwise_the_same() -> None:
    assert packing.unpack(filters.without_ledger(POOL)) == {**POOL, "status": {"numberReady": 2}}
    assert POOL["status"]["nodes"] == LEDGER
