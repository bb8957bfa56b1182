# SPDX-License-Identifier: Apache-2.0
"""What Prometheus scrapes. The names of the step metrics are those of sibling operators, so that dashboards fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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

        self._calls = prometheus_client.Counter(
            "nova_compute_operator_api_calls_total",
            "Calls of passes and of the operator's own, by API, method and HTTP status",
            ["system", "method", "status"],
            registry=self.registry,
        )

    def called(self, system: str, method: str, status: str, times: int = 1) -> None:
        """That many calls were answered so; `none` is no answer."""
        self._calls.labels(system, method, status).inc(times)

    def started(self, lateness: float) -> None:
        """A pass began that many seconds after it was due."""
        self._lateness.observe(max(0.0, lateness))

    def ended(self, outcome: outcomes.Outcome) -> None:
        """Count a pass."""
        self._passes.labels(outcome.verdict.value).inc()
        self._pass_seconds.observe(outcome.seconds)
        self._changes.inc(outcome.changed)
        for call, times in outcome.calls.items():
            self.called(*call, times)
        for step, seconds in outcome.step_seconds.items():
            self._step_seconds.labels(step).observe(seconds)
        for failure in (*outcome.rescued, *([outcome.failure] if outcome.failure else [])):
            step = failure.step or "UNKNOWN"
            self._step_errors.labels(step, CONDITION_OF_STEP.get(step, "UNKNOWN")).inc()

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge that is read when it is scraped."""
        prometheus_client.Gauge(name, text, registry=self.registry).set_function(value)

    def gauges(
        self, name: str, text: str, labels: Sequence[str], values: Callable[[], Iterable[tuple[Sequence[str], float]]]
    ) -> None:
        """Add a gauge with labels, whose values are asked for when it is scraped."""
        self.registry.register(_Gauges(name, text, labels, values))


class _Gauges(registry.Collector):
    def __init__(
        self, name: str, text: str, labels: Sequence[str], values: Callable[[], Iterable[tuple[Sequence[str], float]]]
    ) -> None:
        self._family = (name, text, None, labels)
        self._values = values

    def collect(self) -> Iterable[core.Metric]:
        family = core.GaugeMetricFamily(*self._family)
        for labels, value in self._values():
            family.add_metric(labels, value)
        yield family
