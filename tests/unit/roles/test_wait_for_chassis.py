# SPDX-License-Identifier: Apache-2.0
"""The gate before nova-compute, against a socket that speaks the protocol of ovsdb-server."""

from __future__ import annotations

import ast
import importlib.util
import json
import pathlib
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

PROGRAM = pathlib.Path(__file__).parents[3] / "roles" / "daemonset" / "files" / "wait_for_chassis.py"
ECHO = b'{"id":"echo","method":"echo","params":["ping"]}'


def reply(rows: list[dict[str, Any]], request: int = 1) -> bytes:
    return json.dumps({"id": request, "result": [{"rows": rows}], "error": None}, ensure_ascii=False).encode()


def row(**external_ids: str) -> dict[str, Any]:
    return {"external_ids": ["map", [[key.replace("_", "-"), value] for key, value in external_ids.items()]]}


REGISTERED = reply([row(hostname="node-1", system_id="chassis-1")])


class Database:
    """Answers the n-th connection with the n-th script, packet by packet, then closes; keeps what it was sent."""

    def __init__(self, path: pathlib.Path, scripts: Sequence[Sequence[bytes]]) -> None:
        self.received: list[list[Any]] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._scripts = scripts
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for script in self._scripts:
            connection, _ = self._listener.accept()
            with connection:
                connection.settimeout(10)
                self.received.append([json.loads(connection.recv(65536))])
                for packet in script:
                    connection.sendall(packet)
                    if packet == ECHO:
                        self.received[-1].append(json.loads(connection.recv(65536)))
                    else:
                        # Two sends in a row can arrive as one packet: the reader is given the time to see them apart.
                        threading.Event().wait(0.02)

    def close(self) -> None:
        self._listener.close()
        self._thread.join(timeout=10)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    specification = importlib.util.spec_from_file_location("wait_for_chassis", PROGRAM)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "PAUSE", 0.01)
    return module


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "db.sock"


@pytest.fixture
def database(path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Database]:
    """The database with the scripts that the test is parametrized with."""
    made = Database(path, request.param)
    yield made
    made.close()


def scripted(*scripts: Sequence[bytes]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("database", [scripts], indirect=True, ids=["database"])


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@scripted([REGISTERED])
def test_registered_chassis_ends_the_wait(
    program: ModuleType, path: pathlib.Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    program.main(str(path))
    assert said(capsys) == ["chassis chassis-1 is registered"]
    assert len(database.received) == 1


@scripted([REGISTERED])
def test_query_asks_for_the_external_ids_of_the_open_vswitch(
    program: ModuleType, path: pathlib.Path, database: Database
) -> None:
    program.main(str(path))
    ((request,),) = database.received
    assert request == {
        "id": 1,
        "method": "transact",
        "params": [
            "Open_vSwitch",
            {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["external_ids"]},
        ],
    }


@scripted([ECHO, REGISTERED])
def test_echo_in_between_is_answered(program: ModuleType, path: pathlib.Path, database: Database) -> None:
    program.main(str(path))
    ((_, answer),) = database.received
    assert answer == {"id": "echo", "result": ["ping"], "error": None}


@scripted([ECHO, ECHO, REGISTERED])
def test_every_echo_is_answered(program: ModuleType, path: pathlib.Path, database: Database) -> None:
    program.main(str(path))
    assert len(database.received[0]) == 3


UMLAUT = reply([row(hostname="nödé", system_id="chassis-1")])


@pytest.mark.parametrize(
    "database",
    [
        [[UMLAUT[:10], UMLAUT[10:]]],
        [[UMLAUT[: UMLAUT.index("ö".encode()) + 1], UMLAUT[UMLAUT.index("ö".encode()) + 1 :]]],
        [[bytes([byte]) for byte in UMLAUT[:60]] + [UMLAUT[60:]]],
        [[b'{"id":7,"result":[],"error":null}' + UMLAUT + b'{"id":8']],
        [[b"\n " + UMLAUT + b"\n"]],
    ],
    indirect=True,
    ids=["in two", "inside a character", "byte by byte", "with others in one", "with blanks"],
)
def test_answer_is_read_however_it_is_cut(program: ModuleType, path: pathlib.Path, database: Database) -> None:
    assert database
    assert program.external_ids(str(path)) == {"hostname": "nödé", "system-id": "chassis-1"}


NO_KEY, EMPTY_KEY, NO_ROW = reply([row(hostname="node-1")]), reply([row(system_id="")]), reply([])


@pytest.mark.parametrize(
    "database",
    [[[NO_KEY], [NO_KEY], [REGISTERED]], [[EMPTY_KEY], [REGISTERED]], [[NO_ROW], [REGISTERED]]],
    indirect=True,
    ids=["no key", "empty key", "no row"],
)
def test_chassis_that_is_not_registered_yet_is_awaited_and_said_once(
    program: ModuleType, path: pathlib.Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    program.main(str(path))
    assert said(capsys) == ["waiting: the chassis has no system-id yet", "chassis chassis-1 is registered"]
    assert len(database.received) >= 2


NO_DATABASE = b'{"id":1,"result":null,"error":"no database Open_vSwitch"}'
NO_COLUMN = b'{"id":1,"result":[{"error":"unknown column","details":"external_ids"}],"error":null}'


@pytest.mark.parametrize(
    ("database", "why"),
    [
        ([[NO_DATABASE], [REGISTERED]], "refused the query: no database Open_vSwitch"),
        ([[NO_COLUMN], [REGISTERED]], "refused the query: unknown column"),
        ([[], [REGISTERED]], "closed the connection"),
        ([[REGISTERED[:20]], [REGISTERED]], "closed the connection"),
        ([[b"[1]"], [REGISTERED]], "none of an Open vSwitch database"),
        ([[b'{"id":1,"result":[{}]}'], [REGISTERED]], "none of an Open vSwitch database"),
        ([[reply([{"external_ids": "x"}])], [REGISTERED]], "none of an Open vSwitch database"),
        ([[b"\xff\xff"], [REGISTERED]], "can't decode"),
    ],
    indirect=["database"],
    ids=["error", "error of the query", "closed", "closed half way", "no object", "no rows", "no map", "no text"],
)
def test_answer_that_is_none_is_said_and_asked_for_again(
    program: ModuleType, path: pathlib.Path, database: Database, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program.main(str(path))
    assert database
    waiting, registered = said(capsys)
    assert why in waiting
    assert registered == "chassis chassis-1 is registered"


def test_absent_socket_is_awaited_by_its_name(
    program: ModuleType, path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    databases: list[Database] = []

    def appear(_seconds: float) -> None:
        if not databases:
            databases.append(Database(path, [[REGISTERED]]))

    monkeypatch.setattr(program.time, "sleep", appear)
    program.main(str(path))
    databases[0].close()
    waiting, registered = said(capsys)
    assert str(path) in waiting
    assert "No such file" in waiting
    assert registered == "chassis chassis-1 is registered"


def test_socket_that_nobody_listens_at_is_awaited(program: ModuleType, path: pathlib.Path) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(path))
    left.close()
    with pytest.raises(ConnectionRefusedError):
        program.external_ids(str(path))


@scripted([ECHO])
def test_database_that_never_answers_is_given_up(
    program: ModuleType, path: pathlib.Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database
    monkeypatch.setattr(program, "TIMEOUT", 0.2)
    with pytest.raises(OSError):
        program.external_ids(str(path))


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names} | {
        str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_default_is_the_socket_of_the_node(program: ModuleType) -> None:
    assert (program.SOCKET, program.TIMEOUT) == ("/run/openvswitch/db.sock", 5)
