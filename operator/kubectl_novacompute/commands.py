# SPDX-License-Identifier: Apache-2.0
"""What each command shows. Rows and words are those of the playbooks: `rules/report.py` and `rules/stuck.py`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from ansible_collections.c5c3.nova.plugins.module_utils import tables
from ansible_collections.c5c3.nova.plugins.module_utils.rules import report

from kubectl_novacompute import drains, screen, source

Command = Callable[[argparse.Namespace, source.Source, screen.Screen], int]


def status(told: argparse.Namespace, pools: source.Source, out: screen.Screen) -> int:
    found = pools.pools(told.pool)
    if out.as_json:
        out.data({"pools": [_as_data(pool) for pool in found]})
    elif told.pool is None:
        out.table(report.POOL_HEADER, [report.pool_row(pool) for pool in found])
    else:
        for pool in found:
            out.lines(report.screen(pool, width=out.width, colour=out.colour))
    return 0


def _as_data(pool: source.Object) -> source.Object:
    found = pool.get("status") or {}
    return {
        "namespace": pool["metadata"]["namespace"],
        "name": pool["metadata"]["name"],
        "nova": pool["spec"]["novaRef"]["name"],
        "ready": report.condition(pool, "Ready").get("status", "Unknown"),
        "shortfall": report.shortfall(pool),
        "conditions": found.get("conditions") or [],
        "nodes": report.ledger_of(pool),
    }


def nodes(told: argparse.Namespace, pools: source.Source, out: screen.Screen) -> int:
    held = [(pool, each) for pool in pools.pools(told.pool) for each in report.ledger_of(pool)]
    if out.as_json:
        out.data({"nodes": [{"pool": report.name_of(pool), **each} for pool, each in held]})
    else:
        rows = report.node_rows([each for _pool, each in held])
        named: list[tables.Row] = [[report.name_of(pool), *row] for (pool, _each), row in zip(held, rows, strict=True)]
        out.table(("POOL", *report.NODE_HEADER), named)
    return 0


def events(told: argparse.Namespace, pools: source.Source, out: screen.Screen) -> int:
    found = [(report.name_of(pool), each) for pool in pools.pools(told.pool) for each in pools.events(pool)]
    found.sort(key=lambda named: str(named[1]["at"]))
    if out.as_json:
        out.data({"events": [{"pool": name, **each} for name, each in found]})
    else:
        rows = report.event_rows([each for _name, each in found])
        named: list[tables.Row] = [[name, *row] for (name, _each), row in zip(found, rows, strict=True)]
        out.table(("POOL", *report.EVENT_HEADER), named)
    return 0


def why(told: argparse.Namespace, pools: source.Source, out: screen.Screen) -> int:
    holders = [pool for pool in pools.pools() if any(each["name"] == told.node for each in report.ledger_of(pool))]
    if not holders:
        where = f"namespace {pools.namespace}" if pools.namespace else "any namespace"
        raise source.NotFoundError(f"no NovaCompute in {where} holds the node {told.node}")
    explained = [pools.explain(pool, told.node, clusters_namespace=told.clusters_namespace) for pool in holders]
    if out.as_json:
        out.data({"nodes": explained})
    else:
        out.lines(report.explanation(explained, colour=out.colour)[1:])
    return 0


_LOOKS_FOR_A_BEGINNING = 5


def drain(told: argparse.Namespace, pools: source.Source, out: screen.Screen) -> int:
    course, began = drains.Course(), time.monotonic()
    course.see(pools.pools(told.pool))
    show = _Drawing(course, out, following=told.watch)
    show()
    # Whoever has just taken a label off is here before the pool has seen it.
    looks = 0
    while told.watch and not (course.is_over and (course.has_begun or looks >= _LOOKS_FOR_A_BEGINNING)):
        looks += 1
        if told.timeout is not None and time.monotonic() - began > told.timeout:
            return 1
        time.sleep(told.interval)
        # A pool that is being deleted goes with its last node.
        course.see([] if told.pool and not pools.exists(told.pool) else pools.pools(told.pool))
        show()
    return 0


class _Drawing:
    """Shows a course again and again: on a terminal in one place, elsewhere whenever it says something new."""

    def __init__(self, course: drains.Course, out: screen.Screen, *, following: bool) -> None:
        self._course, self._out, self._following = course, out, following
        self._shown: object = None

    def __call__(self) -> None:
        out, rows = self._out, self._course.rows()
        lines = tables.columns((), rows, width=out.width, colour=out.colour) or ["No node leaves a pool."]
        if self._following and out.is_terminal and not out.as_json:
            out.redraw(lines)
            return
        says: object = self._course.as_data() if out.as_json else lines
        if says == self._shown:
            return
        if out.as_json:
            out.data({"nodes": says}, compact=self._following)
        else:
            out.lines(lines)
        self._shown = says
