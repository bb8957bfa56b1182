# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends a run of the playbooks with one screen about each pool."""

from __future__ import annotations

DOCUMENTATION = r"""
name: summary
type: aggregate
short_description: One screen about each pool at the end of a run
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Shows, for each pool, its conditions, the nodes that are not settled, what the run changed or would change, the
    calls that failed, and, where the run asked for it, its events and what holds the nodes that leave.
  - All of it comes from the results of the modules of this collection, which other callbacks have as data.
  - Under ansible-runner it shows nothing.
requirements:
  - enabled in the configuration, C(callbacks_enabled = c5c3.nova.summary)
"""

import shutil
import sys
from collections.abc import Iterator
from typing import Any

from ansible import constants
from ansible.plugins.callback import CallbackBase
from ansible.utils import color
from ansible_collections.c5c3.nova.plugins.module_utils import packing, tables
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, report

COLLECTION = "c5c3.nova."
PIPED_WIDTH = 160


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Gathers the results by host, and draws them when the run ends."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "c5c3.nova.summary"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        # Who starts a run through ansible-runner reads its events.
        self.disabled = constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK") == "awx_display"
        self._seen: dict[str, dict[str, Any]] = {}
        self._checked = False

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._checked = bool(play.check_mode)

    def v2_runner_on_ok(self, result: Any) -> None:
        if not result._task.action.startswith(COLLECTION):  # noqa: SLF001 - the only way to it
            return
        found, seen = result._result, self._of(result)  # noqa: SLF001
        seen.update({key: packing.unpack(found[key]) for key in ("pool", "events") if key in found})
        if result._task.action == f"{COLLECTION}drain_info":  # noqa: SLF001
            seen["explained"] = found["nodes"]
        if found.get("changed"):
            seen["changed"].append(result._task.name)  # noqa: SLF001
        seen["failed"] += [conditions.describe(error) for error in found.get("errors") or ()]

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002
        del ignore_errors
        if result._task.action.startswith(COLLECTION):  # noqa: SLF001
            told = f"{result._task.name}: {result._result.get('msg', '')}"  # noqa: SLF001
            self._of(result)["failed"].append(told)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        del stats
        for host, seen in sorted(self._seen.items()):
            if any(seen.values()):
                for line in self._screen(host, seen):
                    self._display.display(line)

    def _of(self, result: Any) -> dict[str, Any]:
        fresh: dict[str, Any] = {"pool": None, "events": None, "explained": None, "changed": [], "failed": []}
        return self._seen.setdefault(result._host.get_name(), fresh)  # noqa: SLF001

    def _screen(self, host: str, seen: dict[str, Any]) -> Iterator[str]:
        colour = bool(color.ANSIBLE_COLOR)
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
        note = " (check mode: nothing was written)" if self._checked else ""
        yield ""
        yield tables.styled(f"NovaCompute {tables.printable(host)}", tables.Style.HEAD, colour=colour) + note
        if seen["pool"] and seen["explained"] is None:
            yield from report.screen(seen["pool"], width=width, colour=colour)
        if seen["events"]:
            yield ""
            rows = report.event_rows(seen["events"][-report.SHOWN_EVENTS :])
            yield from tables.columns(report.EVENT_HEADER, rows, width=width, colour=colour)
        if seen["explained"] is not None:
            yield from report.explanation(seen["explained"], colour=colour)
        for title, lines in (
            ("Would change" if self._checked else "Changed", seen["changed"]),
            ("Failed", seen["failed"]),
        ):
            if lines:
                yield ""
                yield tables.styled(f"{title}:", tables.Style.HEAD, colour=colour)
                yield from (tables.cut(f"  {tables.printable(line)}", width) for line in lines)
