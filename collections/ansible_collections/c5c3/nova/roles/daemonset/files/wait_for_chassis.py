# SPDX-License-Identifier: Apache-2.0
"""Wait until the node's OVN chassis has written its system-id into the local Open vSwitch database.

Runs as an init container with the image's own Python, which has no ovsdb-client: it speaks the database's JSON-RPC
(RFC 7047) itself, with the standard library only. It waits as long as it takes.
"""

from __future__ import annotations

import codecs
import json
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

SOCKET = "/run/openvswitch/db.sock"
TIMEOUT = 5
PAUSE = 2
SELECT = {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["external_ids"]}


def messages(connection: socket.socket) -> Iterator[Any]:
    """Yield the JSON documents that the database sends, however they are cut into packets."""
    decoder, characters, text = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")(), ""
    while True:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the database closed the connection")
        text = (text + characters.decode(data)).lstrip()
        while text:
            try:
                message, end = decoder.raw_decode(text)
            except ValueError:
                break
            yield message
            text = text[end:].lstrip()


def external_ids(path: str) -> dict[str, str]:
    """Return the external_ids of the node's Open vSwitch, as a dict."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(path)
        request = {"id": 1, "method": "transact", "params": ["Open_vSwitch", SELECT]}
        connection.sendall(json.dumps(request).encode())
        for message in messages(connection):
            if message.get("method") == "echo":
                answer = {"id": message["id"], "result": message["params"], "error": None}
                connection.sendall(json.dumps(answer).encode())
            elif message.get("id") == 1:
                selected = (message.get("result") or [{}])[0]
                refusal = message.get("error") or selected.get("error")
                if refusal:
                    raise ValueError(f"the database refused the query: {refusal}")
                return {key: value for row in selected["rows"] for key, value in row["external_ids"][1]}
    raise ConnectionError("the database did not answer")


def main(path: str = SOCKET) -> None:
    said = None
    while True:
        try:
            system_id = external_ids(path).get("system-id")
            state = f"chassis {system_id} is registered" if system_id else "waiting: the chassis has no system-id yet"
        except (OSError, ValueError) as error:
            system_id, state = None, f"waiting: {path}: {error}"
        except (AttributeError, KeyError, IndexError, TypeError):
            system_id, state = None, f"waiting: {path}: the answer is none of an Open vSwitch database"
        if state != said:
            print(state, flush=True)
            said = state
        if system_id:
            return
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
