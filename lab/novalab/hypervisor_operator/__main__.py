# SPDX-License-Identifier: Apache-2.0
"""``python -m novalab.hypervisor_operator``: one process, for one cluster and the cloud of ``OS_...``."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import threading
import time

from novalab.hypervisor_operator import cloud, cluster, loop, world

#: How soon a change is noticed.
_TICK_SECONDS = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=pathlib.Path, required=True)
    parser.add_argument("--interval", type=float, default=world.Options.interval)
    parser.add_argument("--ha", action="store_true")
    parser.add_argument("--agent-namespaces", default=",".join(world.Options.agent_namespaces))
    arguments = parser.parse_args()
    options = world.Options(
        interval=arguments.interval, ha=arguments.ha, agent_namespaces=tuple(arguments.agent_namespaces.split(","))
    )
    run(
        world.World(
            cluster=cluster.Cluster(arguments.kubeconfig), cloud=cloud.Cloud(os.environ), options=options, say=_say
        )
    )


def run(the_world: world.World) -> None:
    """Look at everything until SIGTERM."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    the_loop = loop.Loop(the_world)
    the_world.say(f"started: {the_world.options}")
    while not stop.wait(_TICK_SECONDS):
        try:
            the_loop.tick(time.monotonic())
        except Exception as error:
            # The API server may be away for a while; so may the kinds.
            the_world.say(f"cannot look: {type(error).__name__}: {error}")
            stop.wait(_TICK_SECONDS * 3)
    the_world.say("ended")


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    main()
