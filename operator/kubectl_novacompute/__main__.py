# SPDX-License-Identifier: Apache-2.0
"""The command itself. kubectl finds it as `kubectl-novacompute` on the PATH."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors

from kubectl_novacompute import commands, screen, source

EXIT_INTERRUPTED = 130

_COLOURS = ("auto", "always", "never")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out the command line; returns the exit code: 0, 1 for what failed or was not found, 2 for a misuse."""
    told = _parser().parse_args(arguments)
    terminal = screen.Screen(sys.stdout, colour=told.color, as_json=told.output == "json")
    try:
        pools = source.Source(
            kubeconfig=told.kubeconfig, context=told.context, namespace=told.namespace, everywhere=told.all_namespaces
        )
        code: int = told.command(told, pools, terminal)
        sys.stdout.flush()
    except (errors.CallError, source.NotFoundError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever reads has seen enough; nothing is left to be flushed when Python ends.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add("-n", "--namespace", help="the namespace of the pools (that of the kubeconfig's context)")
    add("-A", "--all-namespaces", action="store_true", help="the pools of every namespace")
    add("-o", "--output", choices=["table", "json"], default="table", help="how it is shown (%(default)s)")
    add(
        "--color", choices=_COLOURS, default="auto", help="when there is colour: auto is on a terminal, unless NO_COLOR"
    )
    add("--kubeconfig", help="the kubeconfig ($KUBECONFIG, ~/.kube/config)")
    add("--context", help="the context of the kubeconfig")
    parser = argparse.ArgumentParser(
        prog="kubectl novacompute",
        description="Shows node pools of OpenStack Nova computes. It only reads.",
        allow_abbrev=False,
    )
    every = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: commands.Command, text: str, *, pool: bool = True) -> argparse.ArgumentParser:
        made = every.add_parser(name, parents=[shared], help=text, description=text, allow_abbrev=False)
        made.set_defaults(command=run)
        if pool:
            made.add_argument("pool", nargs="?", metavar="POOL", help="one pool; without it, all of them")
        return made

    command("status", commands.status, "How the pools stand; of one pool, its conditions and nodes")
    command("nodes", commands.nodes, "The ledger: the nodes that a pool holds, and their phase")
    drain = command("drain", commands.drain, "How far the nodes are that leave a pool")
    drain.add_argument("-w", "--watch", action="store_true", help="follow them until none is left")
    drain.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="give up, with exit code 1, after so long")
    drain.add_argument("--interval", type=_seconds, default=2.0, help="seconds between two looks (%(default)s)")
    command("events", commands.events, "What happened to a pool")
    why = command("why", commands.why, "What holds a node, and what to do", pool=False)
    why.add_argument("node", metavar="NODE")
    why.add_argument(
        "--clusters-namespace",
        default=source.CLUSTERS_NAMESPACE,
        help="where target clusters are registered; empty = none is served (%(default)s)",
    )
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
