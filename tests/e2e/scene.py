# SPDX-License-Identifier: Apache-2.0
"""What the steps of the demo share: the lab, the operator, the pool, and the eyes that follow them."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from e2e import setting, stage
from e2e.world import cluster, evidence, installed, operator_process, placed, pools, stand, waiting

POOL = pools.GUIDE_NAME
_NOT_CARRIED_OUT = "-"

Operator = operator_process.OperatorProcess | installed.InstalledOperator


class MissError(AssertionError):
    """Something that the demo promises did not come about."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sight:
    """The pool, its pods and its events at one moment. ``pool`` is None when there is none."""

    pool: cluster.Object | None
    pods: list[cluster.Object]
    events: list[cluster.Object]

    def __str__(self) -> str:
        """What of it says why something has not come about yet; the evidence has the rest."""
        if self.pool is None:
            return f"no pool, {len(self.pods)} pods"
        rows = [
            f"{row.node} {row.phase} servers={row.instances} service={row.service} pod={row.pod}" for row in self.rows
        ]
        verdicts = {one: cluster.verdict(self.pool, one) for one in cluster.conditions(self.pool)}
        unready = [f"{one}={verdict}" for one, verdict in verdicts.items() if not verdict.startswith("True ")]
        return "; ".join([*rows, *unready, f"{len(self.pods)} pods"])

    @property
    def phases(self) -> dict[str, str]:
        return cluster.phases(self.pool)

    @property
    def rows(self) -> list[stage.Row]:
        """The ledger, joined with the pods, by node."""
        pods = {cluster.node_of(pod): pod for pod in sorted(self.pods, key=_age)}
        ledger = cluster.ledger(self.pool)
        return [
            stage.Row(
                node=node,
                zone=entry.get("zone", "-"),
                phase=entry["phase"],
                instances=str(entry.get("instances", "-")),
                service=f"{entry.get('serviceStatus', '-')}/{entry.get('serviceState', '-')}",
                pod=evidence.pod_state(pods.get(node)),
            )
            for node, entry in ledger.items()
        ]

    def verdicts(self, *conditions: str) -> dict[str, str]:
        return {name: cluster.verdict(self.pool, name) for name in conditions}

    def reasons(self) -> list[str]:
        """The reasons of all events, oldest first."""
        return [event["reason"] for event in self.events]


class Scene:
    """One performance of the demo."""

    def __init__(self, the_stage: stage.Stage, the_setting: setting.Setting) -> None:
        self.stage = the_stage
        self.setting = the_setting
        #: The target clusters, in the order of their names.
        self.targets: list[placed.Target] = []
        self._stand: stand.Stand | None = None
        self._operator: Operator | None = None
        self._told: set[str] = set()
        self._uid = ""
        #: What later steps need to know of earlier ones: ids of the flavor, the image and the server.
        self.known: dict[str, str] = {}
        #: What is undone at the end whatever happens, newest first.
        self.undo: list[tuple[str, Callable[[], Any]]] = []

    @property
    def stand(self) -> stand.Stand:
        assert self._stand is not None
        return self._stand

    @stand.setter
    def stand(self, value: stand.Stand) -> None:
        self._stand = value

    @property
    def home(self) -> placed.Target | None:
        """The target cluster that the pool is on; None for the lab's own cluster."""
        return self.targets[-1] if self.targets else None

    @property
    def there(self) -> cluster.Cluster:
        """The cluster with the pool's nodes and children."""
        return self.home.cluster if self.home else self.stand.cluster

    @property
    def operator(self) -> Operator:
        assert self._operator is not None
        return self._operator

    @operator.setter
    def operator(self, value: Operator) -> None:
        self._operator = value

    def evidence(self) -> str:
        """Everything that may explain a miss."""
        if self._stand is None:
            return "there is no lab yet"
        return evidence.gather(self._stand, self._operator, [POOL], pods_in=self.there)

    def look(self) -> Sight:
        """The pool as it is now. An event that was not told yet is told, and the ledger drawn when it changed."""
        the_cluster = self.stand.cluster
        pool = the_cluster.get("NovaCompute", POOL)
        self._uid = pool["metadata"]["uid"] if pool else self._uid
        # Not those of a pool of this name that was here before.
        events = [event for event in the_cluster.events(POOL) if event["involvedObject"].get("uid") == self._uid]
        sight = Sight(pool=pool, pods=self.there.pods(POOL), events=events)
        for event in sight.events:
            key = f"{event['metadata']['uid']}/{event.get('count')}"
            if key not in self._told:
                self._told.add(key)
                self.stage.event(f"{event['reason']}: {event['message']}", warning=event["type"] != "Normal")
        if sight.pool is not None:
            self.stage.ledger(sight.rows, sight.verdicts("Ready", "ServicesReady", "AggregatesReady"))
        return sight

    def follow(self, what: str, good: Callable[[Sight], object], *, seconds: float) -> Sight:
        """Watch the pool, drawing each change, until it is good. Raises NotInTimeError."""
        if not self.operator.runs:
            raise MissError("the operator has ended")
        with self.stage.waiting(what):
            return waiting.wait_for(what, self.look, good, seconds=seconds)

    def kubectl(self, *arguments: str, there: bool = False, stdin: str = "") -> None:
        """Run kubectl and show what it says; with ``there`` in the cluster of the pool's nodes."""
        kubeconfig = (f"--kubeconfig={self.home.lab.kubeconfig}",) if there and self.home else ()
        command = ("kubectl", *kubeconfig, *arguments)
        self.stage.command(" ".join(command))
        self.stage.say(self.stand.output(*command, stdin=stdin).strip())

    def follow_command(self, *command: str, seconds: float) -> None:
        """Run a command that waits, and watch the pool meanwhile. Raises MissError unless it ends with 0."""
        self.stage.command(" ".join(command))
        process = subprocess.Popen(
            command, env=self.stand.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            self.follow(" ".join(command[:2]), lambda _: process.poll() is not None, seconds=seconds)
        finally:
            process.kill()
            printed = process.communicate()[0].strip()
        for line in printed.splitlines():
            self.stage.say(line)
        self.expect(process.returncode == 0, f"{command[0]} {command[1]} ends with 0", printed)

    def expect(self, holds: object, fact: str, seen: object = "") -> None:
        """Mark a fact as true. Raises MissError with what was seen instead."""
        if not holds:
            raise MissError(f"{fact} - but: {seen}")
        self.stage.fact(fact)

    def expect_equal(self, seen: object, wanted: object, fact: str) -> None:
        self.expect(seen == wanted, fact, f"{seen!r}, not {wanted!r}")

    def until(self, fact: str, look: Callable[[], Any], good: Callable[[Any], object], *, seconds: float) -> Any:
        """Wait for a fact and mark it as true; returns what was seen then."""
        with self.stage.waiting(fact):
            seen = waiting.wait_for(fact, look, good, seconds=seconds)
        self.stage.fact(fact)
        return seen


def markers(aggregates: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Aggregate name to the marker that says which Nova's pools made it."""
    return {name: row["metadata"].get("c5c3.io:nova", _NOT_CARRIED_OUT) for name, row in aggregates.items()}


def _age(pod: cluster.Object) -> str:
    return str(pod["metadata"]["creationTimestamp"])
