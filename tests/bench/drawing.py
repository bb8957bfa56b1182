# SPDX-License-Identifier: Apache-2.0
"""What was measured, beside what it is meant to be: a table and a chart, on the terminal and in a file."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import rich.console
import rich.table

_WIDTH = 100
_BARS = 36

# Key, what it is, and its bound: at most (<=) or at least (>=).
GOALS = (
    ("settled_wall_ratio_plain_over_engine", "plain runner over engine, wall", ">=", 40.0),
    ("settled_cpu_ratio_plain_over_engine", "plain runner over engine, CPU", ">=", 40.0),
    ("settled_cpu_ratio_engine_over_bare_loop", "engine over bare loop, CPU", "<=", 2.5),
    ("settled_openstack_calls", "calls of Nova and Placement in a settled pass", "<=", 6),
    ("settled_tokens", "tokens in a settled pass", "<=", 1),
    ("cpu_ratio_1000_over_10_nodes", "1,000 nodes over 10, CPU", "<=", 4.0),
    ("cpu_ratio_5000_over_1000_nodes", "5,000 nodes over 1,000, CPU", "<=", 5.0),
    ("passes_per_minute", "passes per minute", ">=", 150.0),
    ("lateness_p99_s_200_pools", "lateness with 200 pools, p99, s", "<=", 5.0),
    ("label_to_draining_p99_s", "label to Draining beside 50 pools, p99, s", "<=", 2.0),
    ("idle_pss_mib", "memory when idle, MiB", "<=", 150.0),
    ("pass_pss_mib", "memory of each pass more, MiB", "<=", 40.0),
    ("disk_mib_after_1000_passes", "disk after 1,000 passes, MiB", "<=", 50.0),
    ("growth_after_1000_passes", "growth of memory over 1,000 passes", "<=", 0.02),
)

_console = rich.console.Console(width=_WIDTH, highlight=False)


def say(text: str) -> None:
    """A line of progress."""
    _console.print(text, style="bold")


def draw(found: Mapping[str, Any], file: pathlib.Path) -> None:
    """Print the table with its chart, and write both to an SVG file."""
    recorder = rich.console.Console(width=_WIDTH, highlight=False, record=True)
    recorder.print(_goals(found))
    charts = (
        ("CPU of a settled pass, s", {way: found.get(f"settled_{way}_cpu_s") for way in ("plain", "engine", "bare")}),
        ("CPU of a pass by nodes, s", {str(n): found.get(f"nodes_{n}_cpu_s") for n in (10, 100, 1000, 5000)}),
        ("lateness p99 by pools, s", {str(n): found.get(f"lateness_p99_s_{n}_pools") for n in (1, 50, 200)}),
    )
    for title, values in charts:
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            recorder.print(_chart(title, known))
    recorder.save_svg(str(file), title="make bench")


def _goals(found: Mapping[str, Any]) -> rich.table.Table:
    table = rich.table.Table("what", "measured", "goal", "", title="nova-compute operator")
    for key, text, sign, bound in GOALS:
        if key in found:
            met = found[key] <= bound if sign == "<=" else found[key] >= bound
            table.add_row(text, f"{found[key]:.3g}", f"{sign} {bound:g}", "met" if met else "[red]missed[/red]")
    return table


def _chart(title: str, values: Mapping[str, float]) -> rich.table.Table:
    table = rich.table.Table("", "", "", title=title, box=None, show_header=False)
    most = max(values.values()) or 1.0
    for name, value in values.items():
        table.add_row(name, "█" * max(1, round(_BARS * value / most)), f"{value:.3g}")
    return table
