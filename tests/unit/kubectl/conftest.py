# SPDX-License-Identifier: Apache-2.0
"""The command against an API server that is a thread of the test."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubectl_novacompute import __main__ as command
from unit.clients import answering

Reply = answering.Reply
ROOT = "/apis/nova.openstack.c5c3.io/v1alpha1"


class Cluster:
    """What the API server holds: pools, the events about them, and what a test adds. The rest is refused."""

    def __init__(self) -> None:
        self.pools: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        #: By path.
        self.answers: dict[str, Reply] = {}
        #: The paths that were asked for.
        self.asked: list[str] = []
        #: What happens to the pools after each time that they were listed.
        self.after_list: list[Callable[[], None]] = []

    def answer(self, request: answering.Request) -> Reply:
        self.asked.append(request.path)
        if request.path in self.answers:
            return self.answers[request.path]
        namespace, _, kind = request.path.partition("/namespaces/")[2].partition("/")
        if request.path.startswith(ROOT):
            found = [pool for pool in self.pools if namespace in ("", pool["metadata"]["namespace"])]
            name = kind.partition("/")[2]
            if name:
                return Reply(body=next(pool for pool in found if pool["metadata"]["name"] == name))
            reply = Reply(body={"metadata": {}, "items": json.loads(json.dumps(found))})
            if self.after_list:
                self.after_list.pop(0)()
            return reply
        if kind == "events":
            return Reply(body={"metadata": {}, "items": self.events})
        return Reply(status=403, body={"kind": "Status", "message": "no right", "reason": "Forbidden"})


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def run(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Runs the command; returns its exit code, what it printed and what it complained about."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with answering.Server(cluster.answer).running() as server:
        kubeconfig = tmp_path / "kubeconfig"
        content = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x", "namespace": "openstack"}}],
            "clusters": [{"name": "x", "cluster": {"server": server.url}}],
            "users": [{"name": "x", "user": {}}],
        }
        kubeconfig.write_text(json.dumps(content), encoding="utf-8")
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))

        def carry_out(*arguments: str) -> tuple[int, str, str]:
            capsys.readouterr()
            code = command.main(arguments)
            return code, *capsys.readouterr()

        yield carry_out
