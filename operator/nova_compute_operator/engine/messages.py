# SPDX-License-Identifier: Apache-2.0
"""What the operator and its warm process say to each other: one JSON object per message, and open files with it.

The sockets keep the borders of messages. A request goes through the one socket that the warm process is started with;
what becomes of the run is told through a socket of its own, whose other end belongs to who waits for the run:

- request: ``{"arguments": [...], "environment": {...}, "folder": "..."}`` with the run's end of its socket, and the
  run's standard input, output and error.
- answers: ``{"started": pid}`` or ``{"refused": why}``; later ``{"ended": exit code}``, above 128 for a signal.

Closing the socket of a run ends the run; closing the first one ends the warm process, once its runs have ended.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

# More than Linux lets a socket of this kind carry at once; a longer message is refused by the sender's own kernel.
_LONGEST = 1 << 20
_FILES = 4


def pair() -> tuple[socket.socket, socket.socket]:
    """Two sockets that are connected to each other. A child inherits neither unless it is told to."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(through: socket.socket, message: Mapping[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message with open files. Raises OSError when nobody is there, or for a message that is too long."""
    data = json.dumps(message).encode()
    if files:
        socket.send_fds(through, [data], list(files))
    else:
        through.send(data)


def receive(through: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Wait for a message; None at the end of the conversation. The files belong to the caller."""
    try:
        data, files, *_ = socket.recv_fds(through, _LONGEST, _FILES)
    except ConnectionError:
        return None, []
    for file in files:
        os.set_inheritable(file, False)
    if not data:
        return None, files
    message: dict[str, Any] = json.loads(data)
    return message, files
