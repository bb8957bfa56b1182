# SPDX-License-Identifier: Apache-2.0
"""Carries connections from one address to another, so that a network which has only itself reaches one port of ours.

    python forwarding.py FROM TO

An address is host:port, or the path of a socket: such a socket belongs to no network.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def into(process: int, port: int) -> Iterator[None]:
    """A port of the machine's loopback is there on the loopback of the process's network too."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        between, address = f"{folder}/socket", f"127.0.0.1:{port}"
        this = [sys.executable, "-P", __file__]
        inside = ["nsenter", f"--target={process}", "--net", *this, address, between]
        for command in ([*this, between, address], inside):
            relay = stack.enter_context(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
            # Before the wait that leaving a Popen is.
            stack.callback(relay.kill)
            assert relay.stdout is not None
            assert relay.stdout.readline() == b"listening\n", f"{command} did not come up"
        yield


async def _serve(listen: str, connect: str) -> None:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await _connect(connect)
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))

    if listen.startswith("/"):
        server = await asyncio.start_unix_server(carry, listen)
    else:
        host, _, port = listen.rpartition(":")
        server = await asyncio.start_server(carry, host, int(port))
    print("listening", flush=True)
    await server.serve_forever()


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address.startswith("/"):
        return await asyncio.open_unix_connection(address)
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
