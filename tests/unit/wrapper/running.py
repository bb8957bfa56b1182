# SPDX-License-Identifier: Apache-2.0
"""A dispatcher for tests, and how they wait for what it does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from nova_compute_operator import dispatch, folders, metrics


def dispatcher(runs: Any, store: folders.Folders, **keywords: Any) -> dispatch.Dispatcher:
    """One of two slots whose pools are looked at rarely, unless the keywords say otherwise."""
    usual: dict[str, Any] = {
        "numbers": metrics.Metrics(),
        "slots": 2,
        "sync_period": 600,
        "on_unfinished": lambda *_: None,
        "on_death": lambda _: None,
    }
    return dispatch.Dispatcher(runs=runs, store=store, **usual | keywords)


def eventually(fact: Callable[[], object], what: str = "what was waited for", *, seconds: float = 10) -> None:
    """Wait until the fact holds. Raises AssertionError when it does not in time."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)
