# SPDX-License-Identifier: Apache-2.0
"""What a settled pass does does not grow with the nodes of its pool: counted against the real APIs."""

from __future__ import annotations

import pathlib
import uuid
from typing import Any

import pytest
from bench import ground, ways
from e2e.world import stand
from nova_compute_operator import folders


def test_two_hundred_nodes_take_the_calls_and_the_tasks_of_ten(
    the_stand: stand.Stand,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    passes_seen: list[list[dict[str, Any]]],
) -> None:
    the_ground = ground.Ground(the_stand)
    for name, value in the_stand.environment.items():
        monkeypatch.setenv(name, value)
    pool = f"s{uuid.uuid4().hex[:6]}"
    play = ways.Play(folders.Folders(tmp_path / "data"), warm=True)
    seen = []
    try:
        names = the_ground.nodes(pool, range(10))
        the_ground.pool(pool, names)
        for size in (10, 200):
            names += the_ground.nodes(pool, range(len(names), size))
            the_ground.hold(pool, names)
            the_ground.beat()
            settled = play.settle(pool)
            seen.append((settled.calls, [event["event"] for event in passes_seen[-1]]))
    finally:
        play.close()
        the_ground.forget([pool])
        # The pool went without a drain, and so without its aggregates.
        for row in the_stand.cloud.aggregates().values():
            the_stand.cloud._compute("DELETE", f"/os-aggregates/{row['id']}")
    small, large = seen
    assert large == small
    assert small[1].count("playbook_on_task_start") > 10
    calls = {system: sum(n for (api, *_), n in small[0].items() if api == system) for system in ("nova", "keystone")}
    # Six calls of Nova and Placement and one token are the most that a settled pass may ask for.
    assert calls == {"nova": 2, "keystone": 1}
