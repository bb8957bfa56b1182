# SPDX-License-Identifier: Apache-2.0
"""What the clients count of their calls, and how a module's result tells it."""

from __future__ import annotations

from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import calls, errors


def test_only_the_calls_of_the_block_count() -> None:
    calls.count("nova", "GET", 200)
    with calls.counted() as made:
        calls.count("nova", "GET", 200)
        calls.count("nova", "GET", 200)
        calls.count("kubernetes", "PATCH", None)
    assert calls.as_data(made) == [
        {"system": "kubernetes", "method": "PATCH", "status": "none", "count": 1},
        {"system": "nova", "method": "GET", "status": "200", "count": 2},
    ]


def told(fail: bool) -> dict[str, Any]:  # noqa: FBT001
    def run(task: entry.Task) -> dict[str, Any]:
        calls.count("nova", "GET", 503 if fail else 200)
        if fail:
            raise errors.CallError(system="nova", call="GET /os-services", status=503, detail="down")
        return {}

    return entry.outcome(run, entry.Task(params={}), module="c5c3.nova.x")


def test_a_result_tells_its_calls_whether_it_went_well_or_not() -> None:
    assert [told(fail)["api_calls"][0]["status"] for fail in (False, True)] == ["200", "503"]


def test_a_module_that_calls_nobody_says_nothing_of_calls() -> None:
    assert entry.outcome(lambda _: {}, entry.Task(params={}), module="c5c3.nova.x") == {"changed": False}
