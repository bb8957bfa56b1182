# SPDX-License-Identifier: Apache-2.0
"""Alerts and dashboard ask for metrics that the operator has, with labels that these have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import published_metrics
import pytest
from chart import helm

#: What a scrape adds to each series, and what tells the parts of a histogram apart.
OF_THE_SCRAPE = {"namespace", "job", "pod", "instance", "le"}
ENABLED = {"monitoring": {name: {"enabled": True} for name in ("serviceMonitor", "prometheusRule", "dashboard")}}
METRIC = re.compile(r"\b((?:nova|process)_[a-z_]+)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
GROUPING = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
LEGEND = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")

Series = Mapping[str, set[str]]


@pytest.fixture(scope="module")
def series() -> Series:
    """Name to labels of every series that a whole operator publishes, as Prometheus keeps them."""
    return {
        name: {"exported_namespace" if label == "namespace" else label for label in family.labels}
        for family in published_metrics.families()
        for name in family.series
    }


def check(expression: str, series: Series) -> None:
    """Assert that an expression names nothing that the operator does not have."""
    labels = set(OF_THE_SCRAPE)
    named = METRIC.findall(expression)
    assert named, f"no metric in: {expression}"
    for name, selector in named:
        assert name in series, f"{name} is no metric of the operator: {expression}"
        unknown = set(MATCHER.findall(selector)) - series[name] - OF_THE_SCRAPE
        assert not unknown, f"{name} has no label {unknown}: {expression}"
        labels |= series[name]
    for group in GROUPING.findall(expression):
        unknown = {label.strip() for label in group.split(",")} - labels
        assert not unknown, f"grouped by {unknown}, which no series has: {expression}"


def test_alerts_ask_for_metrics_of_the_operator(chart: helm.Chart, series: Series) -> None:
    rule = chart.rendered(**ENABLED)["PrometheusRule", helm.FULLNAME]
    (group,) = rule["spec"]["groups"]
    assert len({alert["alert"] for alert in group["rules"]}) == len(group["rules"])
    for alert in group["rules"]:
        check(alert["expr"], series)
        used = set(LEGEND.findall(json.dumps(alert["annotations"])))
        grouped = {label.strip() for part in GROUPING.findall(alert["expr"]) for label in part.split(",")}
        assert used <= grouped, f"{alert['alert']} tells of {used - grouped}, which it does not keep"
        assert f'job="{helm.FULLNAME}-metrics"' in alert["expr"], "it would tell of other operators too"


def test_the_dashboard_asks_for_metrics_of_the_operator(chart: helm.Chart, series: Series) -> None:
    data = chart.rendered(**ENABLED)["ConfigMap", f"{helm.FULLNAME}-dashboard"]["data"]
    dashboard = json.loads(data["nova-compute-operator.json"])
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            check(target["expr"], series)
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            check(variable["query"].removeprefix("label_values("), series)


def test_the_dashboard_shows_every_metric_that_the_operator_has(series: Series) -> None:
    text = (helm.CHART / "dashboards" / "nova-compute-operator.json").read_text()
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in series if name.startswith("nova_")}
    assert {family for family in families if family not in text} == set()


def test_prometheus_scrapes_the_port_of_the_metrics(chart: helm.Chart) -> None:
    objects = chart.rendered(**ENABLED)
    monitor = objects["ServiceMonitor", helm.FULLNAME]["spec"]
    service = objects["Service", f"{helm.FULLNAME}-metrics"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [endpoint["port"] for endpoint in monitor["endpoints"]] == [
        port["name"] for port in service["spec"]["ports"]
    ]
    webhook = objects["Service", helm.FULLNAME]["metadata"]["labels"]
    assert not monitor["selector"]["matchLabels"].items() <= webhook.items()
