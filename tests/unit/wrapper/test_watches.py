# SPDX-License-Identifier: Apache-2.0
"""A watch against an API server that misbehaves as real ones do, over real sockets."""

from __future__ import annotations

import http.server
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import kubernetes
import pytest
from nova_compute_operator import api, triggers, watches
from unit.wrapper.running import eventually

Handler = http.server.BaseHTTPRequestHandler
Answer = Callable[["Request"], None]


class Request:
    """One call that the server got, and the ways to answer it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        split = urllib.parse.urlsplit(handler.path)
        self.path = split.path
        self.query = dict(urllib.parse.parse_qsl(split.query))
        self.accept = handler.headers["Accept"]
        self.is_watch = self.query.get("watch") == "true"

    def items(self, version: str, *names: str, more: str = "", generation: int = 1) -> None:
        body = {
            "metadata": {"resourceVersion": version, "continue": more},
            "items": [pool(name, generation=generation) for name in names],
        }
        self._send(200, body)

    def refuse(self, status: int) -> None:
        self._send(status, {"kind": "Status", "code": status})

    def events(self, *events: dict[str, Any], hold: float = 0) -> None:
        """Stream events, each in a chunk of its own, and keep the stream open for a while after."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        for event in events:
            line = json.dumps(event).encode() + b"\n"
            self._handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self._handler.wfile.flush()
        time.sleep(hold)
        self._handler.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self._handler.send_response(status)
        self._handler.send_header("Content-Length", str(len(content)))
        self._handler.end_headers()
        self._handler.wfile.write(content)


def pool(name: str, *, generation: int = 1, version: str = "1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": name, "generation": generation, "resourceVersion": version}
    return {"metadata": metadata, "spec": {"novaRef": {"name": "nova"}}}


def event(kind: str, name: str, *, generation: int = 1, version: str = "1") -> dict[str, Any]:
    return {"type": kind, "object": pool(name, generation=generation, version=version)}


def bookmark(version: str) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}


EXPIRED = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}


class Rig:
    """A server with a script of answers, one watch of it, and all that the watch said."""

    def __init__(self, kind: triggers.Kind) -> None:
        self.script: list[Answer] = []
        self.requests: list[Request] = []
        self.changes: list[triggers.Change] = []
        self.deaths: list[str] = []
        self.now = 0.0
        rig = self

        class Scripted(Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802
                request = Request(self)
                rig.requests.append(request)
                if rig.script:
                    rig.script.pop(0)(request)
                elif request.is_watch:
                    request.events(hold=0.3)
                else:
                    request.items("1")

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        configuration = kubernetes.client.Configuration()
        configuration.host = f"http://127.0.0.1:{self.server.server_address[1]}"
        configuration.retries = False
        self.watch = watches.Watch(
            api.ApiServer(configuration),
            kind,
            namespace="",
            clock=lambda: self.now,
            on_change=self.changes.append,
            on_death=self.deaths.append,
            retry_floor=0.02,
        )

    def start(self, *script: Answer) -> None:
        self.script = list(script)
        self.watch.start()

    def said(self) -> list[tuple[str, str]]:
        return [
            (one.name, "gone" if one.after is None else "new" if one.before is None else "other")
            for one in self.changes
        ]

    def queries(self, key: str) -> list[str]:
        return [request.query.get(key, "") for request in self.requests if request.is_watch]


KINDS = {kind.name: kind for kind in triggers.KINDS}


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig(KINDS["NovaCompute"])
    yield made
    made.watch.stop()
    made.server.shutdown()


@pytest.fixture
def optional() -> Iterator[Rig]:
    made = Rig(KINDS["Secret"])
    yield made
    made.watch.stop()
    made.server.shutdown()


@pytest.mark.case("B29")
def test_a_list_is_read_page_by_page_before_it_is_watched_from_its_version(rig: Rig) -> None:
    rig.start(lambda r: r.items("7", "a", more="next"), lambda r: r.items("7", "b"))
    eventually(lambda: bool(rig.queries("watch")), "the watch")
    assert rig.said() == [("a", "new"), ("b", "new")]
    assert [request.query.get("continue", "") for request in rig.requests[:2]] == ["", "next"]
    assert rig.queries("resourceVersion")[0] == "7"
    assert all(change.initial for change in rig.changes)
    assert rig.watch.listed


def test_events_are_reported_as_they_come(rig: Rig) -> None:
    rig.start(
        lambda r: r.items("1", "a"),
        lambda r: r.events(
            event("ADDED", "b"), event("MODIFIED", "a", generation=2), event("DELETED", "b", version="4"), hold=5
        ),
    )
    eventually(lambda: len(rig.changes) == 4, "the events")
    assert rig.said() == [("a", "new"), ("b", "new"), ("a", "other"), ("b", "gone")]


def test_an_update_that_changes_nothing_that_matters_is_not_reported(rig: Rig) -> None:
    rig.start(
        lambda r: r.items("1", "a"),
        lambda r: r.events(event("MODIFIED", "a", version="2"), event("ADDED", "b"), hold=5),
    )
    eventually(lambda: len(rig.changes) == 2, "the events")
    assert rig.said() == [("a", "new"), ("b", "new")]


def test_a_watch_resumes_from_its_last_bookmark_without_a_list(rig: Rig) -> None:
    rig.start(lambda r: r.items("1", "a"), lambda r: r.events(bookmark("42")))
    eventually(lambda: len(rig.queries("watch")) >= 2, "the next watch")
    assert rig.queries("resourceVersion")[:2] == ["1", "42"]
    assert [request.is_watch for request in rig.requests[:3]] == [False, True, True]


@pytest.mark.case("B23")
@pytest.mark.parametrize("expired", [lambda r: r.events(EXPIRED), lambda r: r.refuse(410)], ids=["event", "status"])
def test_an_expired_version_is_answered_by_a_new_list_and_its_differences(rig: Rig, expired: Answer) -> None:
    rig.start(lambda r: r.items("1", "stays", "goes"), expired, lambda r: r.items("9", "stays", "comes"))
    eventually(lambda: len(rig.queries("watch")) >= 2, "the next watch")
    assert rig.said() == [("stays", "new"), ("goes", "new"), ("comes", "new"), ("goes", "gone")]
    assert rig.queries("resourceVersion")[1] == "9"
    assert not rig.changes[2].initial


def test_a_list_that_expires_between_pages_starts_anew(rig: Rig) -> None:
    rig.start(lambda r: r.items("1", "a", more="next"), lambda r: r.refuse(410), lambda r: r.items("2", "a", "b"))
    eventually(lambda: rig.watch.listed, "the list")
    assert rig.said() == [("a", "new"), ("b", "new")]


def test_failures_that_last_end_in_a_new_list(rig: Rig) -> None:
    rig.start(lambda r: r.items("1", "a"), lambda r: r.refuse(500), lambda r: r.refuse(500), lambda r: r.items("5"))
    eventually(lambda: len(rig.changes) == 2, "the list")
    assert rig.said() == [("a", "new"), ("a", "gone")]


def test_a_broken_stream_is_taken_up_again(rig: Rig) -> None:
    def garbage(request: Request) -> None:
        request.events(event("ADDED", "b", version="3"))
        raise ConnectionResetError

    rig.start(lambda r: r.items("1", "a"), garbage)
    eventually(lambda: len(rig.queries("watch")) >= 2, "the next watch")
    assert rig.queries("resourceVersion")[1] == "3"


@pytest.mark.case("B23")
def test_a_stream_without_a_byte_is_given_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "READ_TIMEOUT", 0.2)
    rig.start(lambda r: r.items("1", "a"), lambda r: r.events(event("ADDED", "b", version="3"), hold=3))
    eventually(lambda: len(rig.queries("watch")) >= 2, "the next watch")
    assert rig.queries("resourceVersion")[1] == "3"


@pytest.mark.case("B23")
def test_a_server_that_does_not_answer_makes_a_watch_old_and_at_last_silent(rig: Rig) -> None:
    rig.start(*[lambda r: r.refuse(503)] * 10_000)
    eventually(lambda: len(rig.requests) > 3, "some tries")
    rig.now = watches.SILENCE_LIMIT + 1
    assert rig.watch.silent
    rig.script.clear()
    eventually(lambda: not rig.watch.silent, "the recovery")


def test_a_required_kind_that_is_forbidden_is_not_settled(rig: Rig) -> None:
    rig.start(*[lambda r: r.refuse(403)] * 3)
    eventually(lambda: len(rig.requests) >= 2, "another try")
    assert not rig.watch.settled
    eventually(lambda: rig.watch.listed, "the list after permission was given")


@pytest.mark.parametrize("status", [403, 404])
def test_an_optional_kind_out_of_reach_holds_nothing_up(optional: Rig, status: int) -> None:
    optional.start(lambda r: r.refuse(status))
    eventually(lambda: optional.watch.settled, "the verdict")
    assert (optional.watch.listed, optional.deaths) == (False, [])


@pytest.mark.case("B29")
def test_the_data_of_a_secret_is_never_asked_for(optional: Rig) -> None:
    optional.start()
    eventually(lambda: bool(optional.queries("watch")), "the watch")
    assert [request.accept for request in optional.requests[:2]] == [
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ]


def test_a_watch_that_cannot_go_on_says_so(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: triggers.Change) -> None:
        raise RuntimeError

    monkeypatch.setattr(rig.watch, "_on_change", broken)
    rig.start(lambda r: r.items("1", "a"))
    eventually(lambda: rig.deaths == ["the watch of novacomputes failed"], "the report")
