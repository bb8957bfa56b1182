# SPDX-License-Identifier: Apache-2.0
"""The guide "How-to: Drain a Compute Node", command by command, with exactly the outputs that it names.

The poll times are the guide's own: nothing is shortened here.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
import yaml
from e2e.world import cluster, operator_process, pools, stand, waiting

NODE = "compute-1"
POOL = pools.GUIDE_NAME
NS = ("-n", "openstack")
REASON = "c5c3.io: leaving NovaCompute openstack/controlplane-pool-a"
#: The guide selects the one node of its cluster; here the pool has a label of its own, so that it has one node too.
LABEL = "e2e.c5c3.io/guide-pool"


@pytest.fixture
def shell(the_stand: stand.Stand, log_folder: pathlib.Path) -> Iterator[stand.Stand]:
    """The lab beside a running operator; whatever the guide has not cleaned up goes at the end."""
    operator = operator_process.OperatorProcess(the_stand, log_folder / "guide.log")
    assert the_stand.cloud.services() == {}, "an earlier test left compute services behind"
    # The node has its zone already; the guide sets it and takes it away.
    zone = the_stand.cluster.read("Node", NODE)["metadata"]["labels"][cluster.ZONE_LABEL]
    operator.start()
    try:
        yield the_stand
    finally:
        for row in the_stand.cloud.servers():
            the_stand.cloud.delete_server(row["id"])
        if the_stand.cluster.delete("NovaCompute", POOL):
            waiting.wait_for(
                "the pool is gone",
                lambda: the_stand.cluster.get("NovaCompute", POOL),
                lambda seen: seen is None,
                seconds=300,
            )
        the_stand.cluster.set_labels(NODE, {LABEL: None, cluster.ZONE_LABEL: zone})
        operator.stop()


def table(text: str) -> list[dict[str, str]]:
    """The rows of a table as ``openstack`` prints it, by the titles of their columns."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [dict(zip(lines[0], row, strict=True)) for row in lines[1:]]


def test_walk_through_prints_what_the_guide_says(shell: stand.Stand, tmp_path: pathlib.Path) -> None:
    run = shell.output

    # Set up a pool to drain
    run("kubectl", "label", "node", NODE, f"{LABEL}=a", "topology.kubernetes.io/zone=az1", "--overwrite")
    manifest = yaml.safe_load(pools.GUIDE)
    manifest["spec"]["nodeSelector"] = {LABEL: "a"}
    file = tmp_path / "controlplane-pool-a.yaml"
    file.write_text(yaml.safe_dump(manifest))
    run("kubectl", "apply", "-f", str(file))
    ready = run("kubectl", "wait", f"novacompute/{POOL}", *NS, "--for=condition=Ready", "--timeout=10m")
    assert ready == f"novacompute.nova.openstack.c5c3.io/{POOL} condition met\n"

    run("openstack", "--insecure", "flavor", "create", "--vcpus", "1", "--ram", "128", "--disk", "1", "m1.nano")
    image = tmp_path / "boot-image.raw"
    image.write_bytes(bytes(2**20))
    create = ("image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", str(image))
    run("openstack", "--insecure", *create, "boot-image")
    waiting.wait_for(
        "the image is active",
        lambda: run("openstack", "--insecure", "image", "show", "boot-image", "-f", "value", "-c", "status"),
        lambda status: status == "active\n",
        seconds=60,
    )
    boot = ("server", "create", "--image", "boot-image", "--flavor", "m1.nano", "--nic", "none", "--wait")
    run("openstack", "--insecure", *boot, "drain-server")
    show = ("server", "show", "drain-server", "-c", "OS-EXT-SRV-ATTR:host", "-f", "value")
    assert run("openstack", "--insecure", *show) == f"{NODE}\n"

    # 1. Take the node out of the pool
    run("kubectl", "label", "node", NODE, f"{LABEL}-")
    run(
        *("kubectl", "wait", f"novacompute/{POOL}", *NS, "--timeout=2m"),
        "--for=jsonpath={.status.nodes[0].phase}=Draining",
    )
    get = ("kubectl", "get", "novacompute", POOL, *NS, "-o")
    paths = "{.status.nodes[0].phase} {.status.nodes[0].instances} {.status.nodes[0].serviceStatus}"
    # The phase is written before anything is done about it; the service and its servers follow in the same pass. A
    # drain that starts rolls the pods, and Nova waits up to a minute for a nova-compute that ends when it is told.
    waiting.wait_for(
        "the guide's line",
        lambda: run(*get, f'jsonpath={paths}{{"\\n"}}'),
        lambda line: line == "Draining 1 disabled\n",
        seconds=150,
    )
    condition = '{.status.conditions[?(@.type=="ServicesReady")]'
    which = f"{condition}.status}} {condition}.reason}}"
    assert run(*get, f'jsonpath={which}{{"\\n"}}') == "True Draining\n"
    rows = table(run("openstack", "--insecure", "compute", "service", "list", "--service", "nova-compute", "--long"))
    assert [(row["Host"], row["Status"], row["Disabled Reason"]) for row in rows] == [(NODE, "disabled", REASON)]
    selector = f"app.kubernetes.io/instance={POOL},app.kubernetes.io/component=nova-compute"
    waiting.wait_for(
        "the pod runs on the node",
        lambda: run("kubectl", "get", "pods", *NS, "-l", selector, "-o", "wide", "--no-headers").split(),
        lambda words: words[1:3] == ["1/1", "Running"] and NODE in words,
        seconds=120,
    )

    # 2. Empty the host
    run("openstack", "--insecure", "server", "delete", "--wait", "drain-server")
    empty = waiting.wait_for(
        "no node is held", lambda: run(*get, "jsonpath={.status.nodes}"), lambda text: text == "", seconds=180
    )
    assert empty == ""
    assert run(*get, 'jsonpath={.status.nodes}{"\\n"}') == "\n"
    # An earlier test may have had a pool of this name, whose events live on; the guide's reader had none.
    about = f"involvedObject.name={POOL},involvedObject.uid={run(*get, 'jsonpath={.metadata.uid}')}"
    told = waiting.wait_for(
        "the event of the aggregate",
        lambda: run("kubectl", "get", "events", *NS, "--field-selector", about),
        lambda text: "AggregateDeleted" in text,
        seconds=120,
    )
    assert "ComputeServiceDisabled" in told
    assert "ComputeServiceDeleted" in told
    assert "az1" in next(line for line in told.splitlines() if "AggregateDeleted" in line)
    assert (
        table(run("openstack", "--insecure", "compute", "service", "list", "--service", "nova-compute") or "||") == []
    )
    aggregates = table(run("openstack", "--insecure", "aggregate", "list"))
    assert [row["Name"] for row in aggregates] == ["tenant_filter_tests"]
    assert (shell.host_mappings(), shell.cloud.providers()) == (set(), {})

    # 3. Clean up
    run("kubectl", "delete", "novacompute", POOL, *NS)
    run("kubectl", "label", "node", NODE, "topology.kubernetes.io/zone-")
    run("openstack", "--insecure", "image", "delete", "boot-image")
    run("openstack", "--insecure", "flavor", "delete", "m1.nano")
    assert shell.cluster.get("NovaCompute", POOL) is None
    assert run("openstack", "--insecure", "aggregate", "list").strip() == ""
