# SPDX-License-Identifier: Apache-2.0
"""What an operator of every namespace hears of a target cluster, where it has the rights of its manifests alone."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import pathlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration
from nova_compute_operator import api, folders, outcomes, passes, queue, target_watches, triggers
from unit.clients import answering
from unit.wrapper import running, serving

SELECTOR = {"pool": "a"}
REGISTRATION = "/api/v1/namespaces/clusters/secrets/edge"
NODES = "/api/v1/nodes"
EVERYWHERE = "/apis/apps/v1/daemonsets"


def daemonsets(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/daemonsets"


eventually = functools.partial(running.eventually, seconds=60)


class Rig:
    """A management cluster, a target cluster that may be registered there, and what is heard of both."""

    def __init__(self, management: answering.Server, target: answering.Server) -> None:
        self.management, self.edge = (
            serving.ApiServer(),
            serving.ApiServer(serving.target_rights("openstack", "other", "third")),
        )
        management.answer, target.answer = self.management.answer, self.edge.answer
        self.calls = target
        self.changes: list[triggers.Change] = []
        self.deaths: list[str] = []
        self.on_change: Callable[[triggers.Change], None] = lambda _: None
        self.watches = target_watches.TargetWatches(
            api.ApiServer.of(registration.Credentials(server=management.url, token="management-token")),
            clusters_namespace="clusters",
            clock=time.monotonic,
            on_change=self._hear,
            on_death=self.deaths.append,
        )

    def register(self, **data: str) -> None:
        document = {
            "current-context": "edge",
            "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "me"}}],
            "clusters": [{"name": "edge", "cluster": {"server": self.calls.url}}],
            "users": [{"name": "me", "user": {"token": "edge-token"}}],
        }
        data = {"kubeconfig": json.dumps(document), **data}
        self.management.put(
            "secrets",
            "edge",
            namespace="clusters",
            labels={registration.LABEL: "true"},
            data={key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
        )

    def place(self, pool: str, *, cluster: str = "edge") -> triggers.Change:
        """Have a pool, and return the change that says so."""
        namespace, _, name = pool.partition("/")
        item = {
            "metadata": {"name": name, "namespace": namespace, "uid": name, "generation": 1},
            "spec": {
                "novaRef": {"name": "nova"},
                "nodeSelector": SELECTOR,
                "targetClusterRef": {"name": cluster},
            },
        }
        view = triggers.view_novacompute(item)
        change = triggers.Change(kind="NovaCompute", namespace=namespace, name=name, before=None, after=view)
        self.watches.take(change)
        return change

    def remove(self, pool: str) -> None:
        namespace, _, name = pool.partition("/")
        self.watches.take(triggers.Change(kind="NovaCompute", namespace=namespace, name=name, before=None, after=None))

    def node(self, name: str, **labels: str) -> None:
        self.edge.put("nodes", name, labels=labels)

    def rollout(self, pool: str, *, ready: int) -> None:
        namespace, _, name = pool.partition("/")
        owner = ("NovaCompute", name, namespace)
        labels = dict(
            zip((f"openstack.c5c3.io/owner-{key}" for key in ("kind", "name", "namespace")), owner, strict=True)
        )
        self.edge.put(
            "daemonsets",
            f"{name}-nova-compute",
            namespace=namespace,
            labels=labels,
            status={"numberReady": ready},
        )

    def heard(self, kind: str) -> list[str]:
        return [change.name for change in self.changes if (change.kind, change.cluster) == (kind, "edge")]

    def _hear(self, change: triggers.Change) -> None:
        self.changes.append(change)
        self.on_change(change)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(answering.Server(lambda _: answering.Reply(status=500)).running()) for _ in "12"]
        made = Rig(*servers)
        made.watches.start()
        stack.callback(made.watches.stop)
        yield made


class Runs:
    """Passes that find nothing to do and ask for a look in an hour."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, pool: str, cancel: passes.Cancel, **_: Any) -> outcomes.Outcome:
        self.ran.append(pool)
        return outcomes.Outcome(verdict=outcomes.Verdict.DONE, seconds=0.1, next_look=3600)


@pytest.mark.parametrize(
    "happen",
    [
        lambda rig: rig.node("edge-1", **SELECTOR),
        lambda rig: rig.node("edge-2"),
        lambda rig: rig.edge.delete("nodes", "edge-2"),
        lambda rig: rig.rollout("openstack/east", ready=1),
    ],
    ids=["node-is-labelled", "node-loses-its-label", "node-goes", "rollout-ends"],
)
def test_what_happens_on_the_cluster_wakes_the_pool_long_before_its_poll(
    rig: Rig, tmp_path: pathlib.Path, happen: Callable[[Rig], None]
) -> None:
    rig.node("edge-1")
    rig.node("edge-2", **SELECTOR)
    rig.rollout("openstack/east", ready=0)
    runs, store = Runs(), folders.Folders(tmp_path / "data")
    dispatcher = running.dispatcher(runs, store, sync_period=3600)
    rig.on_change = dispatcher.take
    dispatcher.start()
    try:
        rig.register()
        dispatcher.take(rig.place("openstack/east"))
        eventually(lambda: rig.edge.watched() == {NODES, daemonsets("openstack")})
        dispatcher.open()
        eventually(lambda: len(runs.ran) == 1 and not dispatcher.running)
        happen(rig)
        eventually(lambda: len(runs.ran) == 2)
    finally:
        dispatcher.close(grace=10)
        store.close()
    assert rig.edge.refused == []


def test_daemon_sets_are_watched_where_pools_are_and_nowhere_else(rig: Rig) -> None:
    rig.register()
    for pool in ("openstack/east", "openstack/north", "other/west"):
        rig.place(pool)
    rig.place("elsewhere/south", cluster="another")
    eventually(lambda: rig.edge.watched() == {NODES, daemonsets("openstack"), daemonsets("other")})
    rig.remove("openstack/east")
    rig.remove("other/west")
    rig.place("third/new")
    eventually(lambda: daemonsets("third") in rig.edge.watched())
    # The watch that is not wanted any more hears of this as the last, and says nothing.
    rig.rollout("other/west", ready=1)
    rig.rollout("openstack/north", ready=1)
    eventually(lambda: rig.heard("DaemonSet") == ["north-nova-compute"])
    eventually(lambda: rig.edge.watched() == {NODES, daemonsets("openstack"), daemonsets("third")})
    assert f"GET {EVERYWHERE}" not in rig.calls.asked()
    assert rig.edge.refused == []


def test_namespace_that_the_registration_does_not_list_is_left_alone(rig: Rig) -> None:
    rig.register(namespaces="other, third")
    rig.place("openstack/east")
    rig.place("other/west")
    eventually(lambda: rig.edge.watched() == {NODES, daemonsets("other")})
    assert f"GET {daemonsets('openstack')}" not in rig.calls.asked()


def test_cluster_without_a_pool_is_left_alone(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    rig.register()
    eventually(lambda: [change.kind for change in rig.changes] == ["Registration"])
    rig.place("openstack/east")
    eventually(lambda: NODES in rig.edge.watched())
    rig.remove("openstack/east")
    eventually(lambda: "A target cluster is watched no more" in caplog.messages)
    rig.node("edge-1", **SELECTOR)
    eventually(lambda: NODES not in rig.edge.watched())
    assert rig.heard("Node") == []


def test_what_the_first_list_of_a_late_watch_brings_is_news(rig: Rig) -> None:
    rig.node("edge-1", **SELECTOR)
    rig.place("openstack/east")
    rig.register()
    eventually(lambda: rig.heard("Node") == ["edge-1"])
    (change,) = [change for change in rig.changes if change.kind == "Node"]
    assert not change.initial


def test_registration_that_could_not_be_read_is_asked_for_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "BACKOFF_FLOOR", 0.02)
    rig.management.troubles[REGISTRATION] = [500, 403, 503]
    rig.place("openstack/east")
    rig.register()
    eventually(lambda: NODES in rig.edge.watched())
    assert rig.management.troubles[REGISTRATION] == []


def test_registration_that_goes_is_asked_for_no_more(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "BACKOFF_FLOOR", 0.02)
    troubles = rig.management.troubles[REGISTRATION] = [500] * 1000
    rig.place("openstack/east")
    rig.register()
    eventually(lambda: len(troubles) < 998)
    rig.management.delete("secrets", "edge", namespace="clusters")
    eventually(lambda: [change.after is None for change in rig.changes] == [False, True])
    # Registered anew it is read at once, whatever wait had grown.
    troubles.clear()
    rig.register()
    eventually(lambda: NODES in rig.edge.watched())


def test_watch_that_cannot_go_on_is_begun_anew(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "BACKOFF_FLOOR", 0.02)
    answer, odd = rig.calls.answer, threading.Event()

    def oddly(request: answering.Request) -> answering.Reply:
        if not odd.is_set() and request.path == NODES:
            odd.set()
            return answering.Reply(body=["this is no list of Nodes"])
        return answer(request)

    rig.calls.answer = oddly
    rig.place("openstack/east")
    rig.register()
    eventually(odd.is_set)
    eventually(lambda: rig.edge.watched() == {NODES, daemonsets("openstack")})
    assert rig.deaths == []
