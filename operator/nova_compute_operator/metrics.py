# SPDX-License-Identifier: Apache-2.0
"""What Prometheus scrapes. The names of the step metrics are those of sibling operators, so that dashboards fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import prometheus_client
from prometheus_client import core, registry

from nova_compute_operator import outcomes

STEP_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
PASS_BUCKETS = (*STEP_BUCKETS, 60.0, 120.0, 300.0, 600.0)
LATENESS_BUCKETS = (*STEP_BUCKETS, 60.0, 300.0)

# The condition that each step of the playbook owns; what fails outside a step is counted as UNKNOWN.
CONDITION_OF_STEP = {
    "nova_resolve": "NovaReady",
    "nodes": "NodesReady",
    "config_render": "ConfigReady",
    "daemonset": "DaemonSetReady",
    "vpa": "VPAReady",
    "aggregates": "AggregatesReady",
    "traits": "TraitsReady",
    "services_drain": "ServicesReady",
}


class Metrics:
    """The numbers of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        self._passes = prometheus_client.Counter(
            "nova_compute_operator_passes_total", "Passes by how they ended", ["outcome"], registry=self.registry
        )
        for verdict in outcomes.Verdict:
            self._passes.labels(verdict.value)
        self._pass_seconds = prometheus_client.Histogram(
            "nova_compute_operator_pass_duration_seconds",
            "How long passes took",
            buckets=PASS_BUCKETS,
            registry=self.registry,
        )
        self._lateness = prometheus_client.Histogram(
            "nova_compute_operator_pass_lateness_seconds",
            "How long after its due time a pass began",
            buckets=LATENESS_BUCKETS,
            registry=self.registry,
        )
        self._changes = prometheus_client.Counter(
            "nova_compute_operator_changed_tasks_total", "Tasks that changed something", registry=self.registry
        )
        self._step_seconds = prometheus_client.Histogram(
            "nova_operator_reconcile_duration_seconds",
            "How long each step of a pass took",
            ["sub_reconciler"],
            buckets=STEP_BUCKETS,
            registry=self.registry,
        )
        self._step_errors = prometheus_client.Counter(
            "nova_operator_reconcile_errors_total",
            "Failures by step and by the condition that tells of them",
            ["sub_reconciler", "condition_type"],
            registry=self.registry,
        )

    def started(self, lateness: float) -> None:
        """A pass began that many seconds after it was due."""
        self._lateness.observe(max(0.0, lateness))

    def ended(self, outcome: outcomes.Outcome) -> None:
        """Count a pass."""
        self._passes.labels(outcome.verdict.value).inc()
        self._pass_seconds.observe(outcome.seconds)
        self._changes.inc(outcome.changed)
        for step, seconds in outcome.step_seconds.items():
            self._step_seconds.labels(step).observe(seconds)
        for failure in (*outcome.rescued, *([outcome.failure] if outcome.failure else [])):
            step = failure.step or "UNKNOWN"
            self._step_errors.labels(step, CONDITION_OF_STEP.get(step, "UNKNOWN")).inc()

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge that is read when it is scraped."""
        prometheus_client.Gauge(name, text, registry=self.registry).set_function(value)

    def watch_ages(self, ages: Callable[[], Iterable[tuple[str, float]]]) -> None:
        """Add the gauge of how long each watch has heard nothing."""
        self.registry.register(_Ages(ages))


class _Ages(registry.Collector):
    def __init__(self, ages: Callable[[], Iterable[tuple[str, float]]]) -> None:
        self._ages = ages

    def collect(self) -> Iterable[core.Metric]:
        family = core.GaugeMetricFamily(
            "nova_compute_operator_watch_age_seconds", "Time since a watch last heard of the server", labels=["kind"]
        )
        for kind, age in self._ages():
            family.add_metric([kind], age)
        yield family
