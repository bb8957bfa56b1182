# SPDX-License-Identifier: Apache-2.0
"""Lists and watches one kind, for months, without falling silent unnoticed.

A plain loop of its own instead of an informer of the library, because what matters here is what happens when things go
wrong: a watch resumes from its last bookmark, lists anew when that version has expired, has a time-out on both ends,
and knows for how long it has heard nothing. Only views are kept (see `triggers`), never objects.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from nova_compute_operator import api, log, triggers

logger = logging.getLogger(__name__)

# The server ends a watch after this long. It sends a bookmark about every minute, so a stream without a byte for
# much longer than that is dead, whatever the socket says.
SERVER_TIMEOUT = 240
READ_TIMEOUT = 100.0

# A required watch that has heard nothing for this long is taken for dead, and the process with it.
SILENCE_LIMIT = 300.0

RETRY_FLOOR = 1.0
RETRY_CAP = 30.0
# A kind that is not installed or not allowed is asked for again at this pace.
UNAVAILABLE_RETRY = 60.0


class Watch:
    """A thread that calls `on_change` for each object whose view changed, in the order of the server's events."""

    def __init__(
        self,
        server: api.ApiServer,
        kind: triggers.Kind,
        *,
        namespace: str,
        clock: Callable[[], float],
        on_change: Callable[[triggers.Change], None],
        on_death: Callable[[str], None],
        silence_limit: float = SILENCE_LIMIT,
        retry_floor: float = RETRY_FLOOR,
        cluster: str = "",
    ) -> None:
        """`cluster` names the target cluster that the server is, and is empty for the operator's own."""
        self.kind = kind
        self._server = server
        self._namespace = namespace
        self._cluster = cluster
        self._clock = clock
        self._on_change = on_change
        self._on_death = on_death
        self._silence_limit = silence_limit
        self._retry_floor = retry_floor
        self._views: dict[tuple[str, str], triggers.View] = {}
        self._heard = clock()
        self._settled = threading.Event()
        self._listed = False
        # What to resume from; empty means that a list comes first.
        self._version = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch-{kind.plural}", daemon=True)

    def start(self) -> None:
        """Begin to list and watch."""
        self._heard = self._clock()
        self._thread.start()

    def stop(self) -> None:
        """Report nothing from now on. The thread itself ends with its stream, at the latest with the process."""
        self._stop.set()

    @property
    def listed(self) -> bool:
        """Whether the first list has been read to its end."""
        return self._listed

    @property
    def settled(self) -> bool:
        """Whether the first list has been read, or is known to be out of reach."""
        return self._settled.is_set()

    @property
    def age(self) -> float:
        """Seconds since the server last gave a sign of life on this watch."""
        return self._clock() - self._heard

    @property
    def silent(self) -> bool:
        """Whether it has been quiet for so long that it must be taken for dead."""
        return self.age > self._silence_limit

    def _run(self) -> None:
        try:
            self._loop()
        except Exception:
            logger.exception(
                "A watch failed in a way it cannot recover from", extra=log.fields(kind=self.kind.name, **self._where())
            )
            self._on_death(f"the watch of {self.kind.plural} failed")

    def _loop(self) -> None:
        failures = 0
        while not self._stop.is_set():
            began = self._clock()
            try:
                self._version = self._version or self._list()
                self._follow()
                failures = 0
                # A stream that ran for a while may go on at once; one that ends as it begins must not spin.
                delay = self._retry_floor if self._clock() - began < self._retry_floor else 0.0
            except api.ApiError as error:
                failures += 1
                delay = min(RETRY_CAP, self._retry_floor * 2 ** min(failures - 1, 10))
                # 410: the version has expired. Any other failure that lasts is answered by a list as well.
                if error.status == 410 or failures > 1:
                    self._version = ""
                if error.status in (403, 404):
                    delay = self._unavailable(error)
                elif error.status != 410:
                    logger.warning(
                        "A watch was interrupted",
                        extra=log.fields(kind=self.kind.name, **self._where(), error=str(error)),
                    )
            self._stop.wait(delay)

    def _list(self) -> str:
        """Read every object, report what differs from what was known, and return the version to watch from."""
        initial = not self._listed
        found: set[tuple[str, str]] = set()
        version = ""
        for page in self._server.pages(self.kind, self._namespace):
            self._heard = self._clock()
            version = page.resource_version
            for item in page.items:
                found.add(self._update(item, initial=initial))
        for key in [key for key in self._views if key not in found]:
            self._report(key, None, initial=False)
        self._listed = True
        self._settled.set()
        logger.debug("Listed", extra=log.fields(kind=self.kind.name, **self._where(), objects=len(self._views)))
        return version

    def _follow(self) -> None:
        """Report events until the server ends the stream, and keep the version of the last, however it ends."""
        with self._server.watch(
            self.kind, self._namespace, self._version, server_timeout=SERVER_TIMEOUT, read_timeout=READ_TIMEOUT
        ) as events:
            self._heard = self._clock()
            for event in events:
                self._heard = self._clock()
                if self._stop.is_set():
                    break
                self._version = self._take(event) or self._version

    def _take(self, event: dict[str, Any]) -> str:
        """Report one event of a stream; returns the version it brought. Raises ApiError for an event of type ERROR."""
        item: dict[str, Any] = event.get("object") or {}
        if event.get("type") == "ERROR":
            raise api.ApiError(
                call=f"WATCH {self.kind.plural}", status=item.get("code"), detail=str(item.get("reason"))
            )
        if event.get("type") in ("ADDED", "MODIFIED"):
            self._update(item, initial=False)
        elif event.get("type") == "DELETED":
            self._report(_key(item), None, initial=False)
        return str((item.get("metadata") or {}).get("resourceVersion") or "")

    def _update(self, item: dict[str, Any], *, initial: bool) -> tuple[str, str]:
        key = _key(item)
        self._report(key, self.kind.view(item), initial=initial)
        return key

    def _report(self, key: tuple[str, str], after: triggers.View | None, *, initial: bool) -> None:
        before = self._views.get(key)
        if after is None:
            self._views.pop(key, None)
        else:
            self._views[key] = after
        if before != after and not self._stop.is_set():
            self._on_change(
                triggers.Change(
                    kind=self.kind.name,
                    cluster=self._cluster,
                    namespace=key[0],
                    name=key[1],
                    before=before,
                    after=after,
                    initial=initial,
                )
            )

    def _where(self) -> dict[str, str]:
        return {"cluster": self._cluster} if self._cluster else {}

    def _unavailable(self, error: api.ApiError) -> float:
        """Say once that the kind is out of reach; returns the seconds to wait before asking again."""
        if self.kind.required:
            logger.error(
                "Cannot watch what the operator is for",
                extra=log.fields(kind=self.kind.name, **self._where(), error=str(error)),
            )
            return min(UNAVAILABLE_RETRY, 5 * self._retry_floor)
        self._heard = self._clock()
        if not self._settled.is_set():
            logger.info(
                "Not watched: changes are noticed at the next look",
                extra=log.fields(kind=self.kind.name, **self._where(), error=str(error)),
            )
        self._settled.set()
        return UNAVAILABLE_RETRY


def _key(item: dict[str, Any]) -> tuple[str, str]:
    metadata = item.get("metadata") or {}
    return metadata.get("namespace", ""), metadata.get("name", "")
