# SPDX-License-Identifier: Apache-2.0
"""Pools that got in while the webhook was down: what a pass makes of what admission would have refused."""

from __future__ import annotations

from typing import Any

import pytest
from e2e.conditions import bench as benches
from nova_compute_operator import outcomes

condition = pytest.mark.condition


@condition("ConfigReady", "ConfigError")
@condition("ConfigReady", "ConfigRendered")
def test_newline_in_an_extra_config_is_named_by_section_and_key_and_reaches_no_file(bench: benches.Bench) -> None:
    name, _ = bench.new_pool(extraConfig={"DEFAULT": {"debug": "true\nhost = elsewhere"}})
    said = bench.expect(name, "ConfigReady", "False ConfigError")
    assert (
        "spec.extraConfig[DEFAULT][debug]: Forbidden: extraConfig value must not contain a newline or carriage return"
        in said.message
    )
    assert "elsewhere" not in said.message
    assert said.look == 30
    assert bench.cluster.children(name) == []
    assert "DaemonSetReady" not in bench.conditions(name)
    bench.set_spec(name, {"extraConfig": {"DEFAULT": {"debug": "true"}}})
    bench.expect(name, "ConfigReady", "True ConfigRendered")


@condition("ConfigReady", "ConfigError")
def test_control_character_in_the_name_of_an_empty_section_is_named_by_the_section(bench: benches.Bench) -> None:
    name, _ = bench.new_pool(extraConfig={"lib\tvirt": {}})
    said = bench.expect(name, "ConfigReady", "False ConfigError")
    assert "spec.extraConfig[lib" in said.message
    assert (
        "extraConfig section must not contain a newline or carriage return or another control character" in said.message
    )
    assert bench.cluster.children(name) == []


@condition("DaemonSetReady", "DaemonSetReady")
def test_toleration_that_keeps_a_pod_on_a_node_taken_out_of_service_is_in_no_daemon_set_and_told(
    bench: benches.Bench,
) -> None:
    harmless = {"key": "conditions.c5c3.io/reserved", "operator": "Exists", "effect": "NoSchedule"}
    name, _ = bench.new_pool(tolerations=[harmless, {"operator": "Exists"}])
    told = [
        (
            "daemonset",
            "spec.tolerations[1] is left out of the pods: it tolerates kvm.cloud.sap/offboarding:NoExecute",
        )
    ]
    assert warnings_of(bench.run(name)) == told
    assert tolerations(bench, name) == [harmless]
    bench.wait_observed(name)
    # For as long as the pool asks for it, and no pass applies the DaemonSet anew for it.
    said = bench.expect(name, "DaemonSetReady", "True DaemonSetReady")
    assert warnings_of(said.outcome) == told
    assert bench.run(name).changed == 0
    bench.set_spec(name, {"tolerations": [harmless]})
    assert warnings_of(bench.run(name)) == []
    assert tolerations(bench, name) == [harmless]


def tolerations(bench: benches.Bench, pool: str) -> list[dict[str, Any]]:
    """What the pool's DaemonSet has its pods tolerate."""
    daemon_set = bench.cluster.read("DaemonSet", f"{pool}-nova-compute")
    found: list[dict[str, Any]] = daemon_set["spec"]["template"]["spec"].get("tolerations", [])
    return found


def warnings_of(outcome: outcomes.Outcome) -> list[tuple[str, str]]:
    """The step and the first words of each warning about a toleration."""
    return [(one.step, one.message.partition(";")[0]) for one in outcome.warnings if "spec.tolerations" in one.message]
