# SPDX-License-Identifier: Apache-2.0
"""A registration withdrawn in the middle of a pass: the step that needed the cluster says so, whichever it is."""

from __future__ import annotations

import base64
import itertools
import json
import pathlib

import pytest
import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration
from e2e.conditions import bench as benches
from e2e.conditions import interposer
from e2e.world import cluster

EDGE = "conditions-edge"
SECRET = f"/namespaces/{cluster.NAMESPACE}/secrets/{EDGE}$"
_MOST_READS = 40
_MOST_PASSES_TO_THE_END = 10


def register(bench: benches.Bench) -> None:
    """Register the lab's own cluster as a target, reached through the interposer, until the test ends."""
    document = yaml.safe_load(bench.interposer.kubeconfig.read_text())
    # The interposer has credentials of its own.
    document["users"][0]["user"] = {"token": "of-no-use"}
    kubeconfig = base64.b64encode(yaml.safe_dump(document).encode()).decode()
    metadata = {"name": EDGE, "namespace": cluster.NAMESPACE, "labels": {registration.LABEL: "true"}}
    bench.make({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"kubeconfig": kubeconfig}})


class Reads:
    """Lets so many reads of the registration find it, and answers those that follow as if it were gone."""

    def __init__(self, good: int) -> None:
        self.left = good
        self.refused = 0

    def __call__(self) -> interposer.Reply | None:
        self.left -= 1
        if self.left >= 0:
            return None
        self.refused += 1
        details = {"name": EDGE, "kind": "secrets"}
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}
        return interposer.Reply(404, {**status, "message": f'secrets "{EDGE}" not found', "details": details})


@pytest.mark.condition("NovaReady", "TargetClusterUnavailable")
@pytest.mark.condition("TraitsReady", "TargetClusterUnavailable")
def test_each_step_says_what_it_could_not_reach(
    bench: benches.Bench, crowd: tuple[str, ...], hypervisor_kind: None, interposed: pathlib.Path
) -> None:
    register(bench)
    runner = bench.passes_of(benches.PLAYBOOK, clusters_namespace=cluster.NAMESPACE)
    name, _ = bench.new_pool(crowd[0], targetClusterRef={"name": EDGE}, traits=["CUSTOM_CONDITIONS"])
    bench.run(name, kubeconfig=interposed, runner=runner)
    assert cluster.verdict(bench.pool(name), "TraitsReady") == "False NodesWithoutHypervisor"
    children = bench.cluster.children(name)

    said: dict[str, str] = {}
    for good in itertools.count():
        reads = Reads(good)
        with bench.interposer.meddling("GET", SECRET, reads):
            bench.run(name, kubeconfig=interposed, runner=runner)
        if not reads.refused:
            break
        assert good < _MOST_READS, said
        found = bench.conditions(name)
        named = [one for one in found.values() if f"Secret {cluster.NAMESPACE}/{EDGE}" in one["message"]]
        said |= {one["type"]: f"{one['status']} {one['reason']}" for one in named}
        assert any(one["status"] == "False" for one in named), json.dumps(found, indent=1)
        assert cluster.verdict(bench.pool(name), "Ready") == "False NotAllReady"
        # What lies there is neither forgotten nor swept for it.
        assert bench.cluster.children(name) == children
        assert "deletionTimestamp" not in bench.pool(name)["metadata"]
        assert set(bench.pool(name)["metadata"]["finalizers"]) >= {cluster.DRAIN_FINALIZER}
    assert said["NovaReady"] == "False TargetClusterUnavailable"
    assert said["NodesReady"] == "False NodeListError"
    assert said["TraitsReady"] == "False TargetClusterUnavailable"

    # With the registration back, everything that lies there goes.
    bench.cluster.delete("NovaCompute", name)
    for _ in range(_MOST_PASSES_TO_THE_END):
        if bench.cluster.get("NovaCompute", name) is None:
            break
        bench.run(name, kubeconfig=interposed, runner=runner)
    assert bench.cluster.get("NovaCompute", name) is None
    bench.wait("the pods are gone", lambda: bench.cluster.pods(name), lambda found: not found)
