# SPDX-License-Identifier: Apache-2.0
"""The process that serves the admission webhooks; the operator starts it with its own flags."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Sequence

import kubernetes

from nova_compute_operator import api, log, settings
from nova_compute_operator.admission import application, cluster, self_signed, serving

logger = logging.getLogger(f"{log.ROOT}.admission.main")

_KEEP_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until asked to end; returns the process's exit code."""
    parent = os.getppid()
    # Without the operator nobody would end it, and its address would be taken.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return 0
    told = settings.parse(sys.argv[1:] if arguments is None else arguments)
    log.set_up(level=told.zap_log_level, encoder=told.zap_encoder)
    if told.webhook_bind_address is None:
        return _cannot_serve("--webhook-bind-address is off")
    try:
        calls = cluster.Cluster(api.ApiServer.connect())
    except (kubernetes.config.ConfigException, OSError) as error:
        return _cannot_serve(str(error))
    keep = None
    if told.webhook_self_signed:
        keep = self_signed.SelfSigned(
            calls,
            namespace=settings.lease_namespace(told),
            secret=told.webhook_secret_name,
            configuration=told.webhook_configuration_name,
            folder=told.webhook_cert_path,
        ).keep
    # Before the server is there, nothing has to be finished; later it ends by itself, and then is told once more.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            asyncio.run(
                serving.serve(
                    application.make(calls.nova),
                    address=told.webhook_bind_address,
                    certificate=serving.Certificate(told.webhook_cert_path),
                    keep=keep,
                    keep_seconds=_KEEP_SECONDS,
                )
            )
        except OSError as error:
            return _cannot_serve(str(error))
    return 0


def _cannot_serve(reason: str) -> int:
    logger.error("Cannot serve the admission webhooks", extra=log.fields(error=reason))
    return 1


if __name__ == "__main__":
    sys.exit(main())
