# SPDX-License-Identifier: Apache-2.0
"""What `kubectl novacompute` prints, and the exit code it ends with."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from kubectl_novacompute import __main__ as command
from kubectl_novacompute import screen
from unit.clients import draining
from unit.kubectl.conftest import Cluster

Run = Callable[..., tuple[int, str, str]]


def pool(name: str, *nodes: dict[str, Any], namespace: str = "openstack", ready: bool = True) -> dict[str, Any]:
    status = {"type": "Ready", "status": str(ready), "reason": "AllReady" if ready else "NotAllReady", "message": ""}
    return {
        "kind": "NovaCompute",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "generation": 1},
        "spec": {"novaRef": {"name": "nova"}, "nodeSelector": {"pool": "a"}},
        "status": {"observedGeneration": 1, "conditions": [status], "nodes": list(nodes)},
    }


def entry(phase: str, name: str = "compute-1", **fields: Any) -> dict[str, Any]:
    return {"name": name, "phase": phase, "zone": "az1", "serviceStatus": "enabled", "serviceState": "up", **fields}


def test_status_lists_the_pools_of_the_namespace_of_the_context(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Active")), pool("pool-b", namespace="other")]
    code, printed, _ = run("status")
    assert code == 0
    assert [line.split() for line in printed.splitlines()] == [
        ["NAMESPACE", "NAME", "NOVA", "READY", "NODES", "PODS", "LEAVING", "NOTE"],
        ["openstack", "pool-a", "nova", "True", "1/1", "0/0", "0"],
    ]


def test_status_of_all_namespaces(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a"), pool("pool-b", namespace="other")]
    _, printed, _ = run("status", "-A", "-o", "json")
    assert [one["name"] for one in json.loads(printed)["pools"]] == ["pool-a", "pool-b"]


def test_status_of_one_pool_shows_conditions_and_nodes(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Draining", instances=2), ready=False)]
    _, printed, _ = run("status", "pool-a")
    assert "Ready       False    NotAllReady" in printed
    assert "compute-1   Draining   az1    enabled   up      2" in printed


def test_nodes_is_the_ledger(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Active"), entry("Conflict", "compute-2", conflictsWith="pool-b"))]
    _, printed, _ = run("nodes")
    assert printed.splitlines()[2].split() == [
        *("openstack/pool-a", "compute-2", "Conflict", "az1", "enabled", "up", "-", "held", "by", "pool-b")
    ]
    _, printed, _ = run("nodes", "-o", "json")
    assert json.loads(printed)["nodes"][0] == {"pool": "openstack/pool-a", **entry("Active")}


def test_events_are_told_oldest_first(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a")]
    cluster.events = [
        {"metadata": {}, "lastTimestamp": at, "type": "Normal", "reason": reason, "message": "m", "count": 1}
        for at, reason in (("2026-02-01T00:00:00Z", "Second"), ("2026-01-01T00:00:00Z", "First"))
    ]
    _, printed, _ = run("events", "pool-a")
    assert [line.split()[3] for line in printed.splitlines()[1:]] == ["First", "Second"]


def test_pool_that_is_not_there_is_an_error(run: Run) -> None:
    assert run("status", "pool-x") == (1, "", "Error: there is no NovaCompute pool-x in namespace openstack\n")


def test_node_that_nobody_holds_is_an_error(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a")]
    assert run("why", "compute-9")[::2] == (
        1,
        "Error: no NovaCompute in namespace openstack holds the node compute-9\n",
    )


def test_why_tells_which_call_fails(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Draining"))]
    code, printed, _ = run("why", "compute-1")
    assert code == 0
    assert "compute-1 leaves openstack/pool-a: its servers were not counted yet" in printed
    assert "a call fails: GET /api/v1/nodes/compute-1: HTTP 403: no right" in printed


@pytest.mark.parametrize("phase", ["Draining", "Releasing"])
def test_why_names_the_secret_that_is_refused_where_all_else_is_read(run: Run, cluster: Cluster, phase: str) -> None:
    cluster.pools = [pool("pool-a", entry(phase, instances=2))]
    cluster.answers = draining.answers()
    code, printed, _ = run("why", "compute-1")
    assert code == 0
    assert printed.splitlines()[1:] == [
        f"  * a call fails: GET {draining.SECRET}: HTTP 403: no right",
        "    do: whoever runs this lacks the right: give it, or run it as the operator's service account",
    ]
    assert draining.PODS in cluster.asked


def test_why_in_json_has_no_servers_where_they_could_not_be_read(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Draining", instances=2))]
    cluster.answers = draining.answers()
    (explained,) = json.loads(run("why", "compute-1", "-o", "json")[1])["nodes"]
    assert explained["summary"] == "leaves openstack/pool-a: 2 servers on its host when the pool last counted"
    assert (explained["servers"], explained["migrations"]) == (None, None)


@pytest.mark.parametrize(
    ("flags", "namespace"), [((), "c5c3-clusters"), (("--clusters-namespace", "elsewhere"), "elsewhere")]
)
def test_why_looks_for_no_other_cluster_where_the_registration_is_refused(
    run: Run, cluster: Cluster, flags: tuple[str, ...], namespace: str
) -> None:
    placed = pool("pool-a", entry("Draining", instances=2))
    placed["spec"]["targetClusterRef"] = {"name": "edge"}
    cluster.pools = [placed]
    cluster.answers = draining.answers()
    _, printed, _ = run("why", "compute-1", *flags)
    failed, action = printed.splitlines()[1:]
    assert failed == f"  * a call fails: GET /api/v1/namespaces/{namespace}/secrets/edge: HTTP 403: no right"
    assert action.startswith("    do: whoever runs this lacks the right: give it, or run it as the operator's service")
    assert action.endswith("; on edge it is the account of its registration")
    assert draining.HERE.isdisjoint(cluster.asked)


def test_drain_shows_how_far_a_node_is(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Draining", instances=2), entry("Active", "compute-2"))]
    code, printed, _ = run("drain")
    assert (code, printed) == (
        0,
        "openstack/pool-a   compute-1   ░░░░░░░░░░░░░░░░░░░░   Draining: 2 of 2 servers left\n",
    )


def test_watched_drain_ends_when_the_node_has_left(run: Run, cluster: Cluster) -> None:
    nodes = [entry("Draining", instances=2)]
    cluster.pools = [pool("pool-a")]
    cluster.pools[0]["status"]["nodes"] = nodes

    def then(**fields: Any) -> Callable[[], None]:
        return lambda: nodes[0].update(fields)

    cluster.after_list = [then(instances=1), then(phase="Releasing", instances=0), nodes.clear]
    code, printed, _ = run("drain", "--watch", "--interval", "0.01")
    assert code == 0
    assert [line.split("   ")[-1] for line in printed.splitlines()] == [
        "Draining: 2 of 2 servers left",
        "Draining: 1 of 2 servers left",
        "Releasing: its pod and its compute service go",
        "has left",
    ]


def test_watched_drain_waits_a_moment_for_a_node_that_the_pool_has_not_seen_leave(run: Run, cluster: Cluster) -> None:
    nodes = [entry("Active")]
    cluster.pools = [pool("pool-a")]
    cluster.pools[0]["status"]["nodes"] = nodes
    cluster.after_list = [lambda: None, lambda: nodes[0].update(phase="Draining", instances=1), nodes.clear]
    code, printed, _ = run("drain", "--watch", "--interval", "0.01")
    assert code == 0
    assert printed.splitlines()[-1].endswith("has left")


def test_watched_drain_ends_where_nothing_leaves(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Active"))]
    assert run("drain", "--watch", "--interval", "0.01")[0] == 0


def test_watched_drain_of_a_pool_that_is_deleted_ends_with_it(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Releasing"))]
    cluster.after_list = [cluster.pools.clear]
    code, printed, _ = run("drain", "pool-a", "--watch", "--interval", "0.01", "-o", "json")
    assert code == 0
    assert [json.loads(line)["nodes"][0]["progress"] for line in printed.splitlines()] == [0.9, 1.0]


def test_watched_drain_that_does_not_end_gives_up_in_time(run: Run, cluster: Cluster) -> None:
    cluster.pools = [pool("pool-a", entry("Draining", instances=1))]
    assert run("drain", "--watch", "--interval", "0.01", "--timeout", "0.02")[0] == 1


def test_node_selected_again_is_back_with_its_service_as_it_is(run: Run, cluster: Cluster) -> None:
    nodes = [entry("Draining", serviceStatus="disabled")]
    cluster.pools = [pool("pool-a")]
    cluster.pools[0]["status"]["nodes"] = nodes
    cluster.after_list = [lambda: nodes[0].update(phase="Active")]
    _, printed, _ = run("drain", "--watch", "--interval", "0.01")
    assert printed.splitlines()[-1].endswith("is back in the pool: Active, its compute service disabled")


class Terminal(io.StringIO):
    """Something that is written to and says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("out", "no_color", "choice", "coloured"),
    [
        (Terminal(), "", "auto", True),
        (Terminal(), "1", "auto", False),
        (io.StringIO(), "", "auto", False),
        (io.StringIO(), "1", "always", True),
        (Terminal(), "", "never", False),
    ],
)
def test_colour_is_for_a_terminal_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, out: io.StringIO, no_color: str, choice: str, *, coloured: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    assert screen.Screen(out, colour=choice, as_json=False).colour is coloured


def test_redrawing_goes_back_over_the_lines_before() -> None:
    out = io.StringIO()
    drawn = screen.Screen(out, colour="never", as_json=False)
    drawn.redraw(["a", "b"])
    drawn.redraw(["c"])
    assert out.getvalue() == "a\nb\n\x1b[2F\x1b[Jc\n"


@pytest.mark.parametrize("arguments", [(), ("drain", "--interval", "0"), ("status", "-o", "yaml"), ("why",)])
def test_misuse_is_told_with_exit_code_2(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
