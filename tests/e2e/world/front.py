# SPDX-License-Identifier: Apache-2.0
"""An address before a target cluster's API server, whose certificate another authority may sign from one moment on."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import pathlib
import ssl
import threading
from collections.abc import Coroutine, Iterator
from typing import Any
from urllib import parse

import yaml
from e2e.world import placed
from nova_compute_operator.admission import certificates
from novalab import targets

_HOST = "127.0.0.1"
_SECONDS = 30.0
_CHUNK = 65536


class Front:
    """Ends the TLS of its clients and passes on what they say, their tokens included."""

    def __init__(self, home: placed.Target, folder: pathlib.Path) -> None:
        """``folder`` takes the certificate for the moment in which it is read."""
        self._document = targets.kubeconfig(home.lab)
        cluster = self._document["clusters"][0]["cluster"]
        self._upstream = parse.urlsplit(cluster["server"])
        admin = yaml.safe_load(home.lab.kubeconfig.read_text())["clusters"][0]["cluster"]
        self._trust = ssl.create_default_context(cafile=admin["certificate-authority"])
        self._served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._chain = folder / "front.pem"
        self._authority = b""
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.change_authority()
        self._server = self._run(asyncio.start_server(self._pass_on, _HOST, 0, ssl=self._served))

    def kubeconfig(self) -> str:
        """The operator's kubeconfig of the target cluster, by this address and the authority of now."""
        cluster = self._document["clusters"][0]["cluster"]
        cluster["server"] = f"https://{_HOST}:{self._server.sockets[0].getsockname()[1]}"
        cluster["certificate-authority-data"] = targets.encoded(self._authority)
        return yaml.safe_dump(self._document)

    def change_authority(self) -> None:
        """Serve a certificate of a new authority, to new connections: those that there are end, as at a restart."""
        made = certificates.make([_HOST], dt.datetime.now(tz=dt.UTC))
        self._chain.write_bytes(made.certificate + made.key)
        self._served.load_cert_chain(self._chain)
        self._authority = made.authorities
        self._run(self._end_all())

    def close(self) -> None:
        self._server.close()
        self._run(self._end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._upstream.hostname, self._upstream.port, ssl=self._trust)
        writers = {writer, there[1]}
        self._open |= writers
        with contextlib.suppress(OSError):
            await asyncio.gather(_pipe(reader, there[1]), _pipe(there[0], writer))
        self._open -= writers

    async def _end_all(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends, and end the other side then."""
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@contextlib.contextmanager
def before(home: placed.Target, folder: pathlib.Path) -> Iterator[Front]:
    """A front for as long as the block lasts."""
    made = Front(home, folder)
    try:
        yield made
    finally:
        made.close()
