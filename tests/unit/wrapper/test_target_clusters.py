# SPDX-License-Identifier: Apache-2.0
"""Whom a change on a target cluster concerns, and that a cluster which does not answer holds up nobody else."""

from __future__ import annotations

import base64
import functools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration
from nova_compute_operator import api, folders, outcomes, passes, queue, target_watches, triggers
from unit.clients import answering
from unit.wrapper import running

Reply = answering.Reply
POOL_LABEL = "pool"


def novacompute(name: str, cluster: str = "") -> dict[str, Any]:
    ref = {"targetClusterRef": {"name": cluster}} if cluster else {}
    return {
        "metadata": {"name": name, "namespace": "openstack", "uid": name, "generation": 1},
        "spec": {"novaRef": {"name": "nova"}, "nodeSelector": {POOL_LABEL: "a"}, **ref},
    }


@pytest.fixture
def known() -> triggers.Triggers:
    """Three pools of one selector: a local one and one on each of two clusters."""
    made = triggers.Triggers()
    for name, cluster in (("local", ""), ("east", "edge"), ("west", "west")):
        view = triggers.view_novacompute(novacompute(name, cluster))
        made.wakes(
            triggers.Change(kind="NovaCompute", namespace="openstack", name=name, before=None, after=view, initial=True)
        )
    return made


def woken(known: triggers.Triggers, kind: str, view: Any, *, name: str = "x", cluster: str = "") -> list[str]:
    change = triggers.Change(kind=kind, namespace="", name=name, before=None, after=view, cluster=cluster)
    return [wake.pool for wake in known.wakes(change)]


# --- whom a change concerns


@pytest.mark.parametrize(("cluster", "pool"), [("", "local"), ("edge", "east"), ("west", "west")])
def test_node_concerns_the_pools_of_its_own_cluster(known: triggers.Triggers, cluster: str, pool: str) -> None:
    view = triggers.view_node({"metadata": {"name": "node-1", "labels": {POOL_LABEL: "a"}}})
    assert woken(known, "Node", view, cluster=cluster) == [f"openstack/{pool}"]


@pytest.mark.parametrize(("cluster", "pools"), [("edge", ["openstack/east"]), ("nowhere", [])])
def test_registration_concerns_the_pools_that_name_its_cluster(
    known: triggers.Triggers, cluster: str, pools: list[str]
) -> None:
    view = triggers.view_registration({"metadata": {"uid": "u", "resourceVersion": "2"}})
    assert woken(known, "Registration", view, name=cluster) == pools


def daemon_set(pool: str, *, namespace: str = "openstack", owner_namespace: str = "openstack") -> dict[str, Any]:
    labels = {
        "openstack.c5c3.io/owner-kind": "NovaCompute",
        "openstack.c5c3.io/owner-name": pool,
        "openstack.c5c3.io/owner-namespace": owner_namespace,
    }
    return {"metadata": {"name": f"{pool}-nova-compute", "namespace": namespace, "uid": "d", "labels": labels}}


@pytest.mark.parametrize(("cluster", "pools"), [("edge", ["openstack/east"]), ("west", []), ("", [])])
def test_daemon_set_concerns_its_pool_only_on_the_cluster_that_the_pool_names(
    known: triggers.Triggers, cluster: str, pools: list[str]
) -> None:
    assert woken(known, "DaemonSet", triggers.view_remote_daemonset(daemon_set("east")), cluster=cluster) == pools


def test_daemon_set_outside_the_namespace_of_its_owner_concerns_nobody() -> None:
    assert triggers.view_remote_daemonset(daemon_set("east", namespace="elsewhere")) is None


def test_daemon_set_that_nobody_owns_concerns_nobody() -> None:
    assert triggers.view_remote_daemonset({"metadata": {"name": "d", "namespace": "openstack"}}) is None


# --- the watches


class Management:
    """An API server with one registration that a test changes."""

    def __init__(self, url: str) -> None:
        self.secret: dict[str, Any] | None = None
        self.version = 0
        self.register(url)

    def register(self, url: str | None, **user: str) -> None:
        self.version += 1
        document = {
            "current-context": "edge",
            "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "me"}}],
            "clusters": [{"name": "edge", "cluster": {"server": url}}],
            "users": [{"name": "me", "user": user or {"token": "edge-token"}}],
        }
        self.secret = {
            "metadata": {
                "name": "edge",
                "namespace": "clusters",
                "uid": "u",
                "resourceVersion": str(self.version),
                "labels": {registration.LABEL: "true"},
            },
            "data": {"kubeconfig": base64.b64encode(json.dumps(document).encode()).decode()},
        }

    def answer(self, request: answering.Request) -> Reply:
        if request.path.endswith("/secrets/edge"):
            return Reply(body=self.secret) if self.secret else Reply(status=404, body={})
        if request.query.get("watch"):
            # Expired at once: what is watched lists anew, as after any trouble.
            return Reply(status=410, body={})
        items = [{"metadata": self.secret["metadata"]}] if self.secret else []
        return Reply(body={"items": items, "metadata": {"resourceVersion": "1"}})


def edge_answer(request: answering.Request) -> Reply:
    if request.query.get("watch"):
        return Reply(status=410, body={})
    return Reply(body={"items": [{"metadata": {"name": "edge-1"}}], "metadata": {"resourceVersion": "1"}})


def tokens(server: answering.Server) -> set[str]:
    # The library writes the header's name as it likes.
    return {{key.lower(): value for key, value in one.headers.items()}["authorization"] for one in server.requests}


eventually = functools.partial(running.eventually, seconds=60)


@pytest.fixture
def edge() -> Iterator[answering.Server]:
    with answering.Server(edge_answer).running() as server:
        yield server


@pytest.fixture
def management(edge: answering.Server) -> Management:
    return Management(edge.url)


@pytest.fixture
def changes(management: Management) -> Iterator[list[triggers.Change]]:
    """What watches of the registered cluster report to an operator of every namespace."""
    seen: list[triggers.Change] = []
    with answering.Server(management.answer).running() as server:
        watched = target_watches.TargetWatches(
            api.ApiServer.of(registration.Credentials(server=server.url, token="management-token")),
            clusters_namespace="clusters",
            clock=time.monotonic,
            on_change=seen.append,
            on_death=lambda reason: None,
        )
        watched.start()
        view = triggers.view_novacompute(novacompute("east", "edge"))
        watched.take(triggers.Change(kind="NovaCompute", namespace="openstack", name="east", before=None, after=view))
        yield seen
        watched.stop()


def test_nodes_of_a_registered_cluster_are_watched_with_its_own_token(
    changes: list[triggers.Change], edge: answering.Server
) -> None:
    eventually(lambda: [change for change in changes if (change.kind, change.cluster) == ("Node", "edge")])
    assert tokens(edge) == {"Bearer edge-token"}
    eventually(lambda: "GET /apis/apps/v1/namespaces/openstack/daemonsets" in edge.asked())
    assert "GET /apis/apps/v1/daemonsets" not in edge.asked()


def test_changed_registration_is_watched_with_the_new_token(
    changes: list[triggers.Change], edge: answering.Server, management: Management
) -> None:
    eventually(lambda: edge.requests)
    management.register(edge.url, token="another")
    eventually(lambda: "Bearer another" in tokens(edge))
    eventually(lambda: [change.name for change in changes if change.kind == "Registration"] == ["edge", "edge"])


def test_refused_registration_is_said_and_not_watched(
    changes: list[triggers.Change], edge: answering.Server, management: Management
) -> None:
    eventually(lambda: edge.requests)
    management.register(edge.url, token="another", tokenFile="/etc/shadow")
    eventually(lambda: [change.kind for change in changes].count("Registration") == 2)
    assert tokens(edge) == {"Bearer edge-token"}


# --- a cluster that does not answer


class Runs:
    """Passes over pools named `stuck` last until they are let go: they wait for a cluster in vain, or for long."""

    def __init__(self, *, seconds: float, stalled: bool, told: int) -> None:
        """The first `told` passes of each come to their end, and tell of it."""
        self._seconds, self._stalled, self._told = seconds, stalled, told
        self.release = threading.Event()
        self.ran: list[str] = []

    def run(self, pool: str, cancel: passes.Cancel, **_: Any) -> outcomes.Outcome:
        self.ran.append(pool)
        stuck = "stuck" in pool
        if stuck and self.ran.count(pool) > self._told:
            self.release.wait(60)
        return outcomes.Outcome(
            verdict=outcomes.Verdict.DONE,
            seconds=self._seconds if stuck else 0.0,
            next_look=0.01 if stuck else 60.0,
            stalled=stuck and self._stalled,
        )


@pytest.mark.parametrize(
    ("seconds", "stalled", "told"),
    [(5.0, True, 1), (20.0, False, 1), (20.0, False, 0)],
    ids=["no-answer", "slow-answers", "nothing-known-yet"],
)
def test_pools_of_a_cluster_that_does_not_answer_leave_a_slot_for_fifty_others(
    tmp_path: Any, seconds: float, told: int, *, stalled: bool
) -> None:
    runs = Runs(seconds=seconds, stalled=stalled, told=told)
    store = folders.Folders(tmp_path / "data")
    dispatcher = running.dispatcher(runs, store)
    dispatcher.start()
    dispatcher.open()

    def add(name: str, cluster: str) -> None:
        view = triggers.view_novacompute(novacompute(name, cluster))
        dispatcher.take(triggers.Change(kind="NovaCompute", namespace="openstack", name=name, before=None, after=view))

    try:
        stuck = [f"openstack/stuck-{number}" for number in range(10)]
        add("stuck-0", "edge")
        # One of them waits for as long as the test lasts, and speaks for all.
        eventually(lambda: len(runs.ran) > told)
        for pool in stuck[1:]:
            add(pool.partition("/")[2], "edge")
        others = {f"openstack/pool-{number}" for number in range(50)}
        for pool in others:
            add(pool.partition("/")[2], "")
        eventually(lambda: set(runs.ran) >= others)
        assert not runs.release.is_set()
        assert len(runs.ran) == told + 1 + len(others)
    finally:
        runs.release.set()
        dispatcher.close(grace=10)
        store.close()


def test_one_pass_in_vain_speaks_for_all_pools_of_its_cluster(known: triggers.Triggers) -> None:
    view = triggers.view_novacompute(novacompute("other", "edge"))
    known.wakes(triggers.Change(kind="NovaCompute", namespace="openstack", name="other", before=None, after=view))
    assert known.at({known.place("openstack/east")}) == {"openstack/east", "openstack/other"}
    assert known.at({known.place("openstack/gone")}) == set()


def test_held_back_pool_stays_due_and_does_not_keep_the_queue_awake() -> None:
    now = [0.0]
    line = queue.Queue(clock=lambda: now[0], sync_period=600)
    line.add("a", queue.Urgency.CHANGED)
    assert (line.take({"a"}), line.wait({"a"})) == (None, None)
    entry = line.take()
    assert entry is not None
    assert entry.pool == "a"
