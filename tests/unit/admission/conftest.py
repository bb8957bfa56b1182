# SPDX-License-Identifier: Apache-2.0
"""Holds each test to its marks: it has to hear the message of every rule that it claims."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import spec_rows
from ansible_collections.c5c3.nova.plugins.module_utils.rules import violations

_Violation = violations.Violation


@pytest.fixture(autouse=True)
def _claimed_rules_are_heard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    heard: set[tuple[str, str]] = set()

    def hear(**said: Any) -> violations.Violation:
        # A rule asks for a kind of violation, and that makes the violation.
        rule = sys._getframe(2)
        heard.add((rule.f_globals["__name__"].rpartition(".")[2], said["message"]))
        return _Violation(**said)

    monkeypatch.setattr(violations, "Violation", hear)
    yield
    for mark in request.node.iter_markers("rule"):
        module, message = mark.args
        said = [text for teller, text in heard if teller == module]
        assert any(map(spec_rows.pattern(message).fullmatch, said)), f"the test did not hear {mark.args} but {said}"
