# SPDX-License-Identifier: Apache-2.0
"""Serves the application over TLS, with whatever certificate the folder holds at the moment.

A certificate that was renewed is used for the next connection: nothing is restarted and no connection is cut. Files
that cannot be used, such as a certificate whose key has not arrived yet, leave the one before in use.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import pathlib
import socket
import ssl
from collections.abc import Callable

import uvicorn
from starlette import applications

from nova_compute_operator import api, log, settings
from nova_compute_operator.admission import self_signed

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 2.0
_RETRY_SECONDS = 5.0
# Longer than the API server keeps an idle connection, which then is never cut while a request is on its way.
_KEEP_ALIVE_SECONDS = 180
_GRACE_SECONDS = 5


class Certificate:
    """The certificate in a folder, as a context that servers share."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._files = (folder / self_signed.CERTIFICATE_FILE, folder / self_signed.KEY_FILE)
        self._seen = b""
        self._complained = False
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.loaded = False

    def refresh(self) -> bool:
        """Load the files if they have changed; returns whether there is a certificate to serve with."""
        try:
            seen = hashlib.sha256(b"\0".join(path.read_bytes() for path in self._files)).digest()
            if seen == self._seen:
                return self.loaded
            # A trial first: the shared context would be left with the certificate and without its key.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self._files)
            self.context.load_cert_chain(*self._files)
        except OSError as error:
            # ssl.SSLError is one of these too.
            if not self._complained:
                reason = type(error).__name__
                logger.warning("No certificate to load", extra=log.fields(file=str(self._files[0]), error=reason))
            self._complained = True
            return self.loaded
        logger.info("Loaded the certificate", extra=log.fields(file=str(self._files[0])))
        self._seen, self._complained, self.loaded = seen, False, True
        return True


async def serve(
    application: applications.Starlette,
    *,
    address: settings.Address,
    certificate: Certificate,
    keep: Callable[[], None] | None,
    keep_seconds: float,
) -> None:
    """Serve until a signal ends it. ``keep`` is called now and every ``keep_seconds``; it may renew the certificate."""
    keeping = asyncio.create_task(_repeat(keep, keep_seconds)) if keep else None
    while not certificate.refresh():  # noqa: ASYNC110  # files tell nobody when they come
        await asyncio.sleep(_LOOK_SECONDS if keep is None else 0.1)
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        http="h11",
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_context_factory=lambda _config, _default: certificate.context,
    )
    server = uvicorn.Server(config)
    listener = listen(address)
    looking = asyncio.create_task(_look(certificate))
    logger.info("Serving the admission webhooks", extra=log.fields(port=listener.getsockname()[1]))
    try:
        await server.serve(sockets=[listener])
    finally:
        looking.cancel()
        if keeping is not None:
            keeping.cancel()


def listen(address: settings.Address) -> socket.socket:
    """A listening socket; an empty host means every address, of both kinds where there are. Raises OSError."""
    both = not address.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, dualstack_ipv6=both, backlog=512)
    except OSError as error:
        shown = f"{address.host or '*'}:{address.port}"
        text = f"cannot listen on {shown}: {error.strerror}; choose another address with --webhook-bind-address"
        raise OSError(error.errno, text) from error
    # An answer goes out in two parts. Without this, which every connection takes over, the second waits for the first
    # to be acknowledged, and that takes the other side 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def _look(certificate: Certificate) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        await asyncio.to_thread(certificate.refresh)


async def _repeat(keep: Callable[[], None], seconds: float) -> None:
    while True:
        pause = min(seconds, _RETRY_SECONDS)
        try:
            await asyncio.to_thread(keep)
            pause = seconds
        except (api.ApiError, OSError) as error:
            logger.warning("Could not keep the certificate", extra=log.fields(error=str(error)))
        except Exception:
            # The certificate there is serves on for months: no reason to end.
            logger.exception("Could not keep the certificate")
        await asyncio.sleep(pause)
