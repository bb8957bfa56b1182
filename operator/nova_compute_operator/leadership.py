# SPDX-License-Identifier: Apache-2.0
"""Holds the Lease, so that of several operators only one runs passes.

The election is the library's; added is what it lacks: an API server that does not answer counts as a failed renewal and
not as the end of the election, calls have time-outs, and the Lease is given back at the end, so that the next operator
need not wait for it to run out.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable
from typing import Any

import kubernetes
import urllib3
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock import leaselock

from nova_compute_operator import log

logger = logging.getLogger(__name__)

# The times that controllers written in Go use.
LEASE_SECONDS = 15
RENEW_SECONDS = 10
RETRY_SECONDS = 2

_CALL_TIMEOUT = (2.0, 4.0)


# The library's election carries no types.
_election: Any = leaderelection
_config: Any = electionconfig
_lease: Any = leaselock


class _Lock:
    """The library's Lease lock over a client of ours, which can be given back."""

    def __init__(self, client: Any, name: str, namespace: str, identity: str) -> None:
        self.name = name
        self.namespace = namespace
        self.identity = identity
        self._lock = _lease.LeaseLock(name, namespace, identity)
        self._lock.api_instance = _Impatient(kubernetes.client.CoordinationV1Api(client))
        self._mutex = threading.Lock()
        self._released = False

    def get(self, name: str, namespace: str) -> tuple[bool, Any]:
        with self._mutex:
            answer: tuple[bool, Any] = self._lock.get(name, namespace)
            return answer

    def create(self, name: str, namespace: str, election_record: Any) -> bool:
        with self._mutex:
            return not self._released and bool(self._lock.create(name, namespace, election_record))

    def update(self, name: str, namespace: str, updated_record: Any) -> bool:
        with self._mutex:
            return not self._released and bool(self._lock.update(name, namespace, updated_record))

    def release(self) -> None:
        """Give the Lease back when it is ours, and never take it again."""
        with self._mutex:
            self._released = True
            # Read anew: what the last renewal wrote has another version than what it had read.
            found, _ = self._lock.get(self.name, self.namespace)
            lease = self._lock.lease_reference
            if not found or lease.spec is None or lease.spec.holder_identity != self.identity:
                return
            lease.spec.holder_identity = ""
            lease.spec.lease_duration_seconds = 1
            try:
                # The version that was read goes along: if another takes it meanwhile, this write is refused.
                self._lock.api_instance.replace_namespaced_lease(name=self.name, namespace=self.namespace, body=lease)
            except kubernetes.client.exceptions.ApiException as error:
                logger.warning("Could not give the Lease back", extra=log.fields(status=error.status))


class _Impatient:
    """Calls with a time-out, whose missing answer is the kind of error that the library expects."""

    def __init__(self, calls: Any) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._calls, name)

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options, _request_timeout=_CALL_TIMEOUT)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise kubernetes.client.exceptions.ApiException(status=0, reason=type(error).__name__) from None

        return call


class Leadership:
    """Competes for the Lease in the background."""

    def __init__(
        self,
        *,
        client: Any,
        name: str,
        namespace: str,
        on_started: Callable[[], None],
        on_lost: Callable[[str], None],
    ) -> None:
        """`on_started` is called once when the Lease is ours, `on_lost` with a reason when it is not any more."""
        self.identity = f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"
        self._lock = _Lock(client, name, namespace, self.identity)
        self._on_lost = on_lost
        self._over = threading.Event()
        self._election = _election.LeaderElection(
            _config.Config(
                self._lock,
                lease_duration=LEASE_SECONDS,
                renew_deadline=RENEW_SECONDS,
                retry_period=RETRY_SECONDS,
                onstarted_leading=on_started,
                onstopped_leading=lambda: None,
            )
        )
        self._thread = threading.Thread(target=self._run, name="leadership", daemon=True)

    def start(self) -> None:
        """Begin to compete."""
        logger.info("Waiting for the Lease", extra=log.fields(lease=self._lock.name, namespace=self._lock.namespace))
        self._thread.start()

    def release(self) -> None:
        """Give the Lease back; called when nothing runs any more."""
        self._over.set()
        self._lock.release()

    def _run(self) -> None:
        try:
            self._election.run()
            reason = "the Lease was lost"
        except Exception:
            logger.exception("The election failed")
            reason = "the election failed"
        if not self._over.is_set():
            self._on_lost(reason)
