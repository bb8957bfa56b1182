# SPDX-License-Identifier: Apache-2.0
"""A pool whose name is as long as admission lets it be: what its children are called, and what they are listed by."""

from __future__ import annotations

import pytest
from e2e.conditions import bench as benches
from e2e.world import cluster, pools

condition = pytest.mark.condition

NAME = "pool-".ljust(63, "x")


@condition("ConfigReady", "ConfigRendered")
@condition("DaemonSetReady", "DaemonSetReady")
def test_pool_with_the_longest_name_runs_its_pod_and_prunes_its_config_maps(
    bench: benches.Bench, crowd: tuple[str, ...]
) -> None:
    selector = {"conditions.c5c3.io/longest": "name"}
    bench.label(crowd[0], selector)
    bench.undo.callback(bench.discard, NAME)
    bench.cluster.create(pools.manifest(NAME, selector, nova=benches.NOVA))
    said = bench.expect(NAME, "ConfigReady", "True ConfigRendered")
    assert said.message.split()[-1].startswith(f"{NAME}-config-")
    bench.wait_observed(NAME)
    bench.wait_pod(NAME, crowd[0])
    bench.run_until(
        NAME, "its pod is ready", lambda seen: cluster.verdict(seen, "DaemonSetReady") == "True DaemonSetReady"
    )
    for downtime in ("501", "502", "503", "504", "505"):
        bench.set_spec(NAME, {"extraConfig": {"libvirt": {"live_migration_downtime": downtime}}})
        bench.expect(NAME, "ConfigReady", "True ConfigRendered")
    # The mounted one and the three newest before it.
    assert len([child for child in bench.cluster.children(NAME) if child.startswith("ConfigMap/")]) == 4
