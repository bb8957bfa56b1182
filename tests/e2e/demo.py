#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job on the real thing, to be watched: a pool comes up, a node drains, the pool goes. ``make demo``.

TARGET=1 has the pool on a target cluster, TARGET_NOVA=1 its Nova as well; with TARGET=2 they are on two different ones.
IMAGE=<tag> runs the operator from that image, IMAGE=1 from the one of this tree, which is built: by the engine that
DOCKER_HOST names, else by one that is brought up for the demo.

Every step is asserted. A miss ends it with exit code 1 and the evidence. KEEP=1 leaves everything up, else all that
the demo made is taken away again.
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
# Python puts the script's own folder there, whose modules are to be found as those of a package.
sys.path[0] = str(TESTS)

from e2e import setting, stage, steps  # noqa: E402 - found only now
from e2e.scene import Scene  # noqa: E402
from e2e.world import operator_process, waiting  # noqa: E402

_MISSES = (AssertionError, *waiting.UNREACHABLE)


def main() -> int:
    """Perform all steps; returns the exit code."""
    keep = os.environ.get("KEEP", "") not in ("", "0")
    if keep and os.environ.get("IMAGE") == "1" and not os.environ.get("DOCKER_HOST"):
        raise SystemExit("KEEP=1 with IMAGE=1 takes an engine that is there after the demo: DOCKER_HOST names it")
    the_setting = setting.Setting.asked_for()
    the_stage = stage.Stage(len(steps.of(the_setting)))
    scene = Scene(the_stage, the_setting)
    # A demo that is told to end takes down what it made, as one that is interrupted does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    interrupted = False
    try:
        perform(scene)
    except KeyboardInterrupt:
        interrupted = True
        the_stage.say("interrupted")
    except _MISSES as error:
        the_stage.evidence(f"{type(error).__name__}: {error}", scene.evidence())
    tidy = True if keep else take_down(scene)
    passed = the_stage.summary()
    if keep:
        say_what_next(scene)
    if interrupted:
        return 130
    return 0 if passed and tidy else 1


def perform(scene: Scene) -> None:
    """Run the steps in their order. Raises what the first miss raises."""
    for step in steps.of(scene.setting):
        with scene.stage.step(step.name, step.why):
            step.act(scene)


def take_down(scene: Scene) -> bool:
    """Undo what was done, newest first; whether all of it succeeded."""
    tidy = True
    scene.stage.say("taking down what the demo made; KEEP=1 leaves it up")
    while scene.undo:
        what, undo = scene.undo.pop()
        try:
            undo()
        except _MISSES as error:
            tidy = False
            scene.stage.evidence(f"not so: {what}", f"{type(error).__name__}: {error}")
        else:
            scene.stage.fact(what)
    return tidy


def say_what_next(scene: Scene) -> None:
    """Print the exports of the lab that was left up, and what to do with it."""
    try:
        the_lab, operator = scene.stand, scene.operator
    except AssertionError:
        return
    name = the_lab.lab.name
    print("Everything is left up. In a shell:\n")
    print(f'  eval "$(.venv/bin/python lab/lab.py env --name {name})"\n')
    print("Then, for example:\n")
    there = f" --kubeconfig={scene.home.lab.kubeconfig}" if scene.home else ""
    print(f"  kubectl{there} label node {scene.setting.drained} openstack.c5c3.io/nova-compute-pool=a --overwrite")
    print("  kubectl get novacomputes -n openstack -w          # after applying the pool of step 4 again")
    print("  openstack compute service list --service nova-compute --long")
    print(f"  tail -f {operator.log}")
    # In a pod it goes with the lab.
    ends = f"kill {operator.pid}; " if isinstance(operator, operator_process.OperatorProcess) else ""
    print(f"\nTo take it away: {ends}make lab-down LAB={name}")


if __name__ == "__main__":
    sys.exit(main())
