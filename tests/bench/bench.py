#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a pass costs and what the operator keeps up with, as ratios within one run, against a real Kubernetes and Nova.

    make bench [PARTS=abcde] [KEEP=1]

Writes build/bench.json and build/bench.svg. It brings up a lab of its own and takes it down. The parts:

(a) a settled pass of ten nodes: by plain runner, by the engine, and its API calls alone;
(b) passes of 10 to 5,000 nodes;
(c) 1, 50 and 200 pools that are looked at every minute;
(d) from a label to Draining beside 50 pools;
(e) memory, disk and growth over 1,000 passes.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Python puts the script's own folder there, whose modules are to be found as those of a package.
sys.path[0:1] = [str(ROOT / name) for name in ("tests", "lab", "operator", "collections")]

from bench import costs, drawing, ground, operating, ways  # noqa: E402 - found only now
from e2e.world import stand  # noqa: E402
from nova_compute_operator import api, folders, triggers  # noqa: E402

LAB = os.environ.get("LAB") or "bench"
SIZES = (10, 100, 1000, 5000)
POOL_COUNTS = (1, 50, 200)
NODES_OF_A_SMALL_POOL = 1
LABELS_TAKEN = 30
PASSES = 1000
SLOTS = 2
WATCHED_SECONDS = 80.0

Results = dict[str, Any]


class Bench:
    """One run: its lab, its scratch folder (in memory, as in a pod) and what was found."""

    def __init__(self, scratch: pathlib.Path) -> None:
        self.scratch = scratch
        found = stand.Stand.find(LAB)
        assert found is not None
        os.environ.update(found.environment)
        self.ground = ground.Ground(found)
        self.ground.clear()
        self.found: Results = {}
        self._small = 0

    @functools.cached_property
    def warm(self) -> ways.Play:
        return ways.Play(folders.Folders(self.scratch / "warm"), warm=True)

    def close(self) -> None:
        """End what it started."""
        if "warm" in self.__dict__:
            self.warm.close()

    # --- (a)

    def a_settled_pass(self) -> None:
        self.ground.pool("ten", self.ground.nodes("ten", range(10)))
        settled = self.warm.settle("ten")
        loop = ways.BareLoop(str(self.ground.stand.lab.kubeconfig), "ten")
        loop.run()
        plain_store = folders.Folders(self.scratch / "plain")
        plain = ways.Play(plain_store, ways.plain_tree(self.scratch / "tree"), warm=False)
        self._same_calls(settled.calls, loop)
        assert self.warm.engine is not None
        samples: dict[str, list[costs.Cost]] = {"plain": [], "engine": [], "bare": []}
        api_seconds = []
        for _ in range(3):
            samples["plain"].append(_measured(lambda: plain.run("ten")))
            samples["engine"].append(_measured(lambda: self.warm.run("ten"), 5, self.warm.engine.pid))
            samples["bare"].append(_measured(loop.run, 5))
            api_seconds.append(loop.api_seconds)
        medians = {way: _median(rows) for way, rows in samples.items()}
        calls = settled.calls
        self.found |= {
            "settled_wall_ratio_plain_over_engine": medians["plain"].wall / medians["engine"].wall,
            "settled_cpu_ratio_plain_over_engine": medians["plain"].cpu / medians["engine"].cpu,
            "settled_cpu_ratio_engine_over_bare_loop": medians["engine"].cpu / medians["bare"].cpu,
            "settled_openstack_calls": sum(n for (system, *_), n in calls.items() if system in ("nova", "placement")),
            "settled_tokens": sum(n for (system, *_), n in calls.items() if system == "keystone"),
            "settled_kubernetes_calls": sum(n for (system, *_), n in calls.items() if system == "kubernetes"),
            "settled_api_seconds": statistics.median(api_seconds),
            **{f"settled_{way}_wall_s": cost.wall for way, cost in medians.items()},
            **{f"settled_{way}_cpu_s": cost.cpu for way, cost in medians.items()},
            "settled_runs_plain": 3,
            "settled_runs_engine": 15,
            "settled_runs_bare": 15,
            "settled_plain_peak_pss_mib": _peak(lambda: plain.run("ten")),
            "settled_engine_peak_pss_mib": _peak(lambda: self.warm.run("ten")),
        }
        plain_store.close()
        self.ground.forget(["ten"])

    def _same_calls(self, calls: Any, loop: ways.BareLoop) -> None:
        """The loop makes the calls of the pass, and the one by which the inventory reads the pool."""
        made = dict(loop.made)
        made["kubernetes", "GET", "200"] -= 1
        assert made == dict(calls), f"the loop does not do what a pass does: {made} and {dict(calls)}"

    # --- (b)

    def b_nodes(self) -> None:
        names: list[str] = []
        self.ground.pool("big", names)
        assert self.warm.engine is not None
        for size in SIZES:
            names += self.ground.nodes("big", range(len(names), size))
            self.ground.hold("big", names)
            self.warm.settle("big")
            runs = 6 if size < 1000 else 2
            cost = _measured(lambda: self.warm.run("big"), runs, self.warm.engine.pid)
            self.found |= {
                f"nodes_{size}_cpu_s": cost.cpu,
                f"nodes_{size}_wall_s": cost.wall,
                f"nodes_{size}_runs": runs,
            }
        self.found |= {
            "cpu_ratio_1000_over_10_nodes": self.found["nodes_1000_cpu_s"] / self.found["nodes_10_cpu_s"],
            "cpu_ratio_5000_over_1000_nodes": self.found["nodes_5000_cpu_s"] / self.found["nodes_1000_cpu_s"],
        }
        self.ground.forget(["big"])

    # --- (c), (d), (e)

    def _pools(self, count: int) -> None:
        """Have that many small pools, settled."""
        for number in range(self._small, count):
            name = f"p{number:03d}"
            self.ground.pool(name, self.ground.nodes(name, range(NODES_OF_A_SMALL_POOL)))
        new, self._small = count - self._small, max(count, self._small)
        if new > 0:
            with operating.operator(self.ground, self.scratch / f"settling-{count}", scale=0.01) as running:
                running.wait_for(lambda: _settled(running, self._small), "all pools settled", 1800)

    def c_lateness(self) -> None:
        for count in POOL_COUNTS:
            self._pools(count)
            with operating.operator(self.ground, self.scratch / f"minute-{count}") as running:
                running.wait_for(lambda: len(running.passes()) >= count, "a pass of each pool", 1200)  # noqa: B023
                since = time.time()
                time.sleep(WATCHED_SECONDS)
                late = operating.lateness(running.passes(), since)
            self.found |= {
                f"lateness_p99_s_{count}_pools": operating.percentile(late, 0.99),
                f"lateness_median_s_{count}_pools": statistics.median(late),
                f"lateness_runs_{count}_pools": len(late),
            }

    def d_draining(self) -> None:
        self._pools(50)
        with operating.operator(self.ground, self.scratch / "draining") as running:
            running.wait_for(lambda: len(running.passes()) >= self._small, "a pass of each pool", 1200)
            waits = sorted(self._label_to_draining(f"p{number:03d}") for number in range(LABELS_TAKEN))
        self.found |= {
            "label_to_draining_p99_s": operating.percentile(waits, 0.99),
            "label_to_draining_median_s": statistics.median(waits),
            "label_to_draining_runs": len(waits),
        }
        self.ground.forget([f"p{number:03d}" for number in range(LABELS_TAKEN)])

    def _label_to_draining(self, pool: str) -> float:
        """Seconds from the label's removal to the status that says Draining, as a watch of the pool tells it."""
        server = api.ApiServer.connect()
        kind = next(kind for kind in triggers.KINDS if kind.name == "NovaCompute")
        # That of the pool itself may be too old to watch from: it has been settled for long.
        version = next(server.pages(kind, ground.NAMESPACE)).resource_version
        node = f"{pool}-0000"
        with server.watch(kind, ground.NAMESPACE, version, server_timeout=120, read_timeout=100.0) as events:
            began = time.monotonic()
            self.ground.take_label(node)
            for event in events:
                item = event["object"]
                assert event["type"] != "ERROR", item
                if item["metadata"].get("name") == pool and ground.status_of(item).get(node) == "Draining":
                    return time.monotonic() - began
        raise AssertionError(f"{node} did not become Draining in two minutes")

    def e_bounds(self) -> None:
        self._pools(200)
        with operating.operator(self.ground, self.scratch / "idle") as running:
            running.wait_for(lambda: len(running.passes()) >= self._small, "a pass of each pool", 1200)
            # The least of what is seen between passes.
            idle = _least(running, 50)
        with operating.operator(self.ground, self.scratch / "bounds", scale=0.001, slots=SLOTS) as running:
            running.wait_for(lambda: len(running.passes()) >= PASSES // 10, "the first passes", 1200)
            first, first_things = _least(running, 200), operating.threads_and_files(running.process.pid)
            lasted = running.lasting()
            began, done = time.monotonic(), len(running.passes())
            beside = []
            while len(running.passes()) < done + PASSES:
                memory, passes_now = running.memory()
                if passes_now >= SLOTS:
                    beside.append((memory - first) / SLOTS)
                time.sleep(0.5)
            minutes = (time.monotonic() - began) / 60
            last, last_things = running.lasting(), operating.threads_and_files(running.process.pid)
            disk, files = costs.on_disk(running.data)
        self.found |= {
            "passes_per_minute": (len_passes := PASSES) / minutes,
            "passes_counted": len_passes,
            "idle_pss_mib": idle,
            "pass_pss_mib": operating.percentile(sorted(beside), 0.95),
            "pass_pss_samples": len(beside),
            "disk_mib_after_1000_passes": disk,
            "files_after_1000_passes": files,
            "growth_after_1000_passes": last / lasted - 1,
            "things_before_and_after": [first_things, last_things],
        }


PARTS: dict[str, Callable[[Bench], None]] = {
    "a": Bench.a_settled_pass,
    "c": Bench.c_lateness,
    "e": Bench.e_bounds,
    "d": Bench.d_draining,
    "b": Bench.b_nodes,
}
"""In the order that they run in: the pools of one part are those of the next, and the largest comes last."""


def pool_key(name: str) -> str:
    return f"{ground.NAMESPACE}/{name}"


def _settled(running: operating.Operator, count: int) -> bool:
    """Whether the last pass of each of the small pools changed nothing."""
    small = {pool_key(f"p{number:03d}") for number in range(count)}
    last = {line["pool"]: line["changed"] for line in running.passes() if line["pool"] in small}
    return last.keys() == small and not any(last.values())


def _measured(work: Callable[[], object], times: int = 1, other: int | None = None) -> costs.Cost:
    meter = costs.Meter(other)
    for _ in range(times):
        work()
    return meter.read(times)


def _median(rows: list[costs.Cost]) -> costs.Cost:
    return costs.Cost(wall=statistics.median(row.wall for row in rows), cpu=statistics.median(row.cpu for row in rows))


def _peak(work: Callable[[], object]) -> float:
    """The most memory, in MiB, that this process and all it started have at once while it works."""
    worker = threading.Thread(target=work)
    worker.start()
    most = 0.0
    while worker.is_alive():
        most = max(most, costs.pss(costs.family(os.getpid())))
        time.sleep(0.02)
    return most


def _least(running: operating.Operator, samples: int) -> float:
    seen = []
    for _ in range(samples):
        seen.append(running.memory()[0])
        time.sleep(0.05)
    return min(seen)


def main() -> int:
    """Run the parts that were asked for; returns the exit code."""
    parts = os.environ.get("PARTS") or "".join(PARTS)
    lab = [sys.executable, str(ROOT / "lab" / "lab.py")]
    was_up = stand.Stand.find(LAB) is not None
    subprocess.run([*lab, "up", "--name", LAB], check=True, stdout=subprocess.DEVNULL)
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
            bench = Bench(pathlib.Path(scratch))
            with contextlib.closing(bench), bench.ground.heartbeats():
                for name, part in PARTS.items():
                    if name in parts:
                        drawing.say(f"({name}) {part.__name__[2:].replace('_', ' ')}")
                        part(bench)
                        (build / "bench.json").write_text(json.dumps(bench.found, indent=1) + "\n")
    finally:
        if not was_up and not os.environ.get("KEEP"):
            subprocess.run([*lab, "down", "--name", LAB], check=True, stdout=subprocess.DEVNULL)
    drawing.draw(bench.found, build / "bench.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
