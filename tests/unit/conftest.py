# SPDX-License-Identifier: Apache-2.0
"""An OpenStack that is a thread of the test, dialled directly; and the explorers' report at the end of a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from unit.clients import openstack
from unit.explorer import reports


# Not in the folder of the explorers: under xdist the process that prints collects nothing, and reads the conftest.py of
# the folders in its command line alone.
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the explorers visited and caught."""
    for line in reports.lines(
        told for report in terminalreporter.getreports("passed") for told in report.user_properties
    ):
        terminalreporter.write_line(line)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[openstack.OpenStack]:
    monkeypatch.setenv("NOVA_COMPUTE_REACH", "direct")
    made = openstack.OpenStack()
    with made.server.running():
        yield made
