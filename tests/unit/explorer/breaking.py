# SPDX-License-Identifier: Apache-2.0
"""Rules that are broken on purpose, to see that an explorer notices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

Rule = Callable[..., Any]
#: The module and the name of a rule, what stands in its place and is given it first, and the invariant that must fail.
Broken = tuple[Any, str, Rule, str]


def each(rows: Sequence[Broken]) -> pytest.MarkDecorator:
    """Run a test for each of these, as its argument ``broken``."""
    return pytest.mark.parametrize("broken", rows, ids=[replacement.__name__ for _, _, replacement, _ in rows])


def put(monkeypatch: pytest.MonkeyPatch, broken: Broken) -> str:
    """Break the rule for this test; returns the invariant that must fail."""
    module, name, replacement, invariant = broken
    monkeypatch.setattr(module, name, functools.partial(replacement, getattr(module, name)))
    return invariant
