# SPDX-License-Identifier: Apache-2.0
"""Starts the operator, and ends it in good order.

The process ends with 0 when it was asked to, and with 1 when something it cannot do without is lost: the Lease, a
watch, the dispatcher. Kubernetes then starts it anew, which is the one recovery that always works.
"""

from __future__ import annotations

import contextlib
import logging
import queue as stdlib_queue
import signal
import sys
import time
from collections.abc import Iterator, Sequence

import kubernetes

from nova_compute_operator import (
    api,
    dispatch,
    folders,
    health,
    leadership,
    log,
    metrics,
    outcomes,
    passes,
    processes,
    settings,
    slots,
    target_watches,
    triggers,
    unfinished,
    watches,
)
from nova_compute_operator.admission import process as admission_process

logger = logging.getLogger(f"{log.ROOT}.main")

# How often silence is looked for.
_LOOK_ROUND = 5.0


class Operator:
    """All parts of one process, wired together."""

    def __init__(
        self, told: settings.Settings, server: api.ApiServer, store: folders.Folders, arguments: Sequence[str]
    ) -> None:
        """``arguments`` is the command line that ``told`` was read from."""
        self._told = told
        self._server = server
        # What ends the process: None for a signal, else the reason. This queue may be put to from a signal handler.
        self._endings: stdlib_queue.SimpleQueue[str | None] = stdlib_queue.SimpleQueue()
        self._numbers = metrics.Metrics()
        server.on_call = lambda method, status: self._numbers.called("kubernetes", method, str(status or "none"))
        self._store = store
        self._slots = _slots(told.max_concurrent_reconciles)
        self._engine = passes.warm_engine(told.playbook, store) if told.warm_engine else None
        runs = passes.Passes(
            playbook=told.playbook,
            store=store,
            timeout=told.pass_timeout,
            default_image_pull_policy=told.default_image_pull_policy,
            clusters_namespace=told.clusters_namespace,
            engine=self._engine,
        )
        self._dispatcher = dispatch.Dispatcher(
            runs=runs,
            store=store,
            numbers=self._numbers,
            slots=self._slots,
            sync_period=told.sync_period,
            on_unfinished=self._report_unfinished,
            on_death=self._endings.put,
        )
        self._watches = [
            watches.Watch(
                server,
                kind,
                namespace=told.namespace,
                clock=time.monotonic,
                on_change=self._take,
                on_death=self._endings.put,
            )
            for kind in triggers.KINDS
        ]
        self._targets = target_watches.TargetWatches(
            server,
            clusters_namespace=told.clusters_namespace,
            clock=time.monotonic,
            on_change=self._dispatcher.take,
            on_death=self._endings.put,
        )
        self._admission = admission_process.AdmissionProcess(arguments, told=told, on_death=self._endings.put)
        self._leading = not told.leader_elect
        self._leadership = leadership.Leadership(
            client=server.client,
            name=settings.LEASE_NAME,
            namespace=settings.lease_namespace(told),
            on_started=self._lead,
            on_lost=self._endings.put,
        )

    def run(self) -> int:
        """Work until a signal or a loss ends it; returns the process's exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._endings.put(None))
        self._publish()
        with contextlib.ExitStack() as stack:
            for server in self._servers():
                stack.callback(server.close)
            stack.callback(self._admission.close)
            if self._engine is not None:
                stack.callback(self._engine.close)
            self._dispatcher.start()
            for watch in self._watches:
                watch.start()
            self._targets.start()
            if self._told.leader_elect:
                self._leadership.start()
            reason = self._until_the_end()
            if reason is None:
                logger.info("Asked to end: no new pass starts", extra=log.fields(running=self._dispatcher.running))
            else:
                logger.error("Ending, to be started anew", extra=log.fields(reason=reason))
            for watch in self._watches:
                watch.stop()
            self._targets.stop()
            # Without the Lease another operator may already be at work: what runs here must stop at once.
            in_order = self._dispatcher.close(grace=self._told.shutdown_grace if reason is None else 0.0)
            if self._told.leader_elect:
                self._leadership.release()
            logger.info("Ended", extra=log.fields(passes_cut_off=not in_order))
        return 0 if reason is None else 1

    def _take(self, change: triggers.Change) -> None:
        self._dispatcher.take(change)
        self._targets.take(change)

    def _until_the_end(self) -> str | None:
        opened = False
        while True:
            self._admission.start_when_wanted()
            if not opened and self._leading and all(watch.settled for watch in self._watches):
                logger.info("Passes start", extra=log.fields(pools=self._dispatcher.pools))
                self._dispatcher.open()
                opened = True
            try:
                return self._endings.get(timeout=_LOOK_ROUND if opened else 0.1)
            except stdlib_queue.Empty:
                pass
            for watch in self._watches:
                if watch.kind.required and watch.silent:
                    return f"the watch of {watch.kind.plural} has been silent for {watch.age:.0f} s"

    def _lead(self) -> None:
        logger.info("The Lease is ours")
        self._leading = True

    def _publish(self) -> None:
        numbers = self._numbers
        numbers.gauge("nova_compute_operator_pools", "Pools there are", lambda: self._dispatcher.pools)
        numbers.gauge(
            "nova_compute_operator_queue_length", "Pools with a look ahead of them", lambda: self._dispatcher.waiting
        )
        numbers.gauge("nova_compute_operator_passes_running", "Passes that run", lambda: self._dispatcher.running)
        numbers.gauge("nova_compute_operator_leading", "Whether this process runs passes", lambda: self._leading)
        if self._engine is not None:
            engine = self._engine
            numbers.gauge(
                "nova_compute_operator_cold_passes",
                "Passes that the warm process could not run",
                lambda: engine.cold_runs,
            )
        numbers.gauge("nova_compute_operator_slots", "Passes that may run at one time", lambda: self._slots)
        numbers.gauge("nova_compute_operator_kept_bytes", "Files of passes on disk", lambda: self._store.kept_bytes)
        numbers.gauges(
            "nova_compute_operator_watch_age_seconds",
            "Time since a watch last heard of the server",
            ["kind"],
            lambda: [([watch.kind.name], watch.age) for watch in self._watches],
        )
        numbers.gauges(
            "nova_compute_operator_nodes",
            "Nodes of each pool by phase",
            ["namespace", "pool", "phase"],
            lambda: [([*pool.split("/"), phase], nodes) for pool, phase, nodes in self._dispatcher.phases],
        )

    def _servers(self) -> Iterator[health.Server]:
        probes = {"/healthz": health.check_page(self._unhealthy), "/readyz": health.check_page(self._unready)}
        pages = {"/metrics": health.metrics_page(self._numbers.registry)}
        if self._told.health_probe_bind_address:
            yield health.Server(self._told.health_probe_bind_address, probes)
        if self._told.metrics_bind_address:
            yield health.Server(self._told.metrics_bind_address, pages)

    def _unhealthy(self) -> list[str]:
        silent = [f"watch-{watch.kind.plural}" for watch in self._watches if watch.kind.required and watch.silent]
        return silent + ([] if self._dispatcher.alive else ["dispatcher"])

    def _unready(self) -> list[str]:
        # One that may not be watched, or is not installed, counts as listed.
        unlisted = [watch for watch in self._watches if not (watch.listed if watch.kind.required else watch.settled)]
        unserved = ["webhooks"] if self._admission.unready else []
        return [f"list-{watch.kind.plural}" for watch in unlisted] + unserved + self._unhealthy()

    def _report_unfinished(self, pool: str, outcome: outcomes.Outcome) -> None:
        unfinished.report(self._server, pool, outcome, limit=self._told.pass_timeout)


def _slots(wanted: int) -> int:
    limit = slots.memory_limit()
    given = slots.affordable(wanted, limit)
    if given < wanted:
        logger.warning(
            "The memory limit allows fewer passes at one time than were asked for",
            extra=log.fields(slots=given, asked=wanted, limit_bytes=limit),
        )
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the operator; returns the process's exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    told = settings.parse(given)
    log.set_up(level=told.zap_log_level, encoder=told.zap_encoder)
    try:
        server = api.ApiServer.connect()
        store = folders.Folders(told.private_data_dir)
    except (kubernetes.config.ConfigException, folders.FolderInUseError, OSError) as error:
        return _cannot_start(error)
    leftovers = processes.end_leftovers()
    if leftovers:
        logger.warning("Ended what an operator that was killed had left", extra=log.fields(processes=leftovers))
    processes.adopt_orphans()
    try:
        return Operator(told, server, store, given).run()
    except OSError as error:
        return _cannot_start(error)
    finally:
        store.close()


def _cannot_start(error: Exception) -> int:
    logger.error("Cannot start", extra=log.fields(error=str(error)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
