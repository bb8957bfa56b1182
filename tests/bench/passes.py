# SPDX-License-Identifier: Apache-2.0
"""How long a pass over a settled pool takes, against the same pass with ordinary modules.

Brings the lab up if it is not, settles a pool of three nodes, then runs the two ways in turn and prints the ratio of
their medians: a machine's speed and load fall out of it. The plain way is the same tree with the routing of the modules
taken out of a copy of the collection, so that each task starts a Python of its own.

    make bench [ROUNDS=5]
"""

from __future__ import annotations

import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import yaml
from rich import console, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
COLLECTION = "ansible_collections/c5c3/nova"
POOL = ROOT / "tests" / "bench" / "pool.yml"
SETTLED_WITHIN = 30
IN_PROCESS = "in the play's process"
PER_TASK = "a Python per task"

out = console.Console()


def lab_environment() -> dict[str, str]:
    """The environment that the lab's export lines give, with the lab up."""
    lab = [str(BIN / "python"), str(ROOT / "lab" / "lab.py")]
    subprocess.run([*lab, "up"], check=True, stdout=subprocess.DEVNULL)
    exports = subprocess.run([*lab, "env"], check=True, capture_output=True, text=True).stdout
    shell = subprocess.run(["sh", "-c", f"{exports}\nenv -0"], check=True, capture_output=True, text=True)
    return dict(line.split("=", 1) for line in shell.stdout.split("\0") if "=" in line)


def run_pass(environment: dict[str, str], collections: pathlib.Path) -> tuple[float, float, bool]:
    """Wall seconds, CPU seconds (user and system, with children) of one pass, and whether it changed anything."""
    cpu, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [BIN / "ansible-playbook", "playbooks/reconcile.yml", "--limit", "openstack/bench"],
        env={**environment, "ANSIBLE_COLLECTIONS_PATH": str(collections)},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout[-4000:] + done.stderr[-2000:])
    seconds = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
    return wall, seconds, "changed=0" not in done.stdout


def without_routing(folder: pathlib.Path) -> pathlib.Path:
    """A copy of the collection whose modules are ordinary ones."""
    shutil.copytree(ROOT / "collections", folder / "collections", ignore=shutil.ignore_patterns("__pycache__"))
    runtime = folder / "collections" / COLLECTION / "meta" / "runtime.yml"
    meta = yaml.safe_load(runtime.read_text())
    del meta["plugin_routing"]["action"]
    runtime.write_text(yaml.safe_dump(meta))
    return folder / "collections"


def main() -> None:
    rounds = int(os.environ.get("ROUNDS", "5"))
    environment = lab_environment()
    kubectl = ["kubectl", "apply", "--server-side", "-f"]
    subprocess.run([*kubectl, str(ROOT / "crds")], env=environment, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["kubectl", "wait", "--for=condition=Established", "crd/novacomputes.nova.openstack.c5c3.io"],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run([*kubectl, str(POOL)], env=environment, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder, out.status("settling the pool") as state:
        ways = {IN_PROCESS: ROOT / "collections", PER_TASK: without_routing(pathlib.Path(folder))}
        for _ in range(SETTLED_WITHIN):
            if not run_pass(environment, ways[IN_PROCESS])[2]:
                break
            time.sleep(2)
        else:
            sys.exit("the pool did not settle: kubectl -n openstack describe novacompute bench")
        figures: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for number in range(rounds):
            for way, collections in ways.items():
                state.update(f"round {number + 1} of {rounds}: {way}")
                wall, cpu, _ = run_pass(environment, collections)
                figures[way].append((wall, cpu))
    draw(figures)


def draw(figures: dict[str, list[tuple[float, float]]]) -> None:
    medians = {way: [statistics.median(column) for column in zip(*rows, strict=True)] for way, rows in figures.items()}
    base = medians[IN_PROCESS]
    shown = table.Table(
        "modules run in", "wall s", "CPU s", "wall ratio", "CPU ratio", title="a pass over a settled pool"
    )
    for way, (wall, cpu) in medians.items():
        shown.add_row(way, f"{wall:.2f}", f"{cpu:.2f}", f"{wall / base[0]:.1f}", f"{cpu / base[1]:.1f}")
    out.print(shown)


if __name__ == "__main__":
    main()
