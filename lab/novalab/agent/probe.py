# SPDX-License-Identifier: Apache-2.0
"""Readiness of a container: httpGet and tcpSocket probes, in a thread of their own while the container runs."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Any

#: Until it first succeeds, a probe is tried this often: nobody in a lab wants to wait for the period.
_EAGER_SECONDS = 0.25


class Readiness(threading.Thread):
    """Calls ``tell`` with each change of readiness until :meth:`stop`."""

    def __init__(self, container: Mapping[str, Any], address: str, tell: Callable[[bool], None]) -> None:
        super().__init__(daemon=True, name=f"probe of {container['name']}")
        self._container = container
        self._address = address
        self._tell = tell
        self._ended = threading.Event()

    def stop(self) -> None:
        self._ended.set()

    def run(self) -> None:
        probe = self._container["readinessProbe"]
        period = float(probe.get("periodSeconds") or 10)
        needed = {True: probe.get("successThreshold") or 1, False: probe.get("failureThreshold") or 3}
        ready, in_a_row, last = False, 0, False
        self._ended.wait(probe.get("initialDelaySeconds") or 0)
        while not self._ended.is_set():
            good = check(probe, self._container, self._address)
            in_a_row = in_a_row + 1 if good == last else 1
            last = good
            if good != ready and in_a_row >= needed[good]:
                ready = good
                if not self._ended.is_set():
                    self._tell(ready)
            self._ended.wait(period if ready else min(period, _EAGER_SECONDS))


def check(probe: Mapping[str, Any], container: Mapping[str, Any], address: str) -> bool:
    """Whether the probe succeeds now, within its timeoutSeconds."""
    timeout = float(probe.get("timeoutSeconds") or 1)
    try:
        if "httpGet" in probe:
            return _http(probe["httpGet"], container, address, timeout)
        if "tcpSocket" in probe:
            port = port_number(probe["tcpSocket"]["port"], container)
            socket.create_connection((probe["tcpSocket"].get("host") or address, port), timeout).close()
            return True
    except (OSError, http.client.HTTPException):
        return False
    raise NotImplementedError(f"probes of kind {', '.join(probe)} are not made by this agent")


def port_number(port: int | str, container: Mapping[str, Any]) -> int:
    """A port given by number or by the name of a containerPort. Raises OSError for an unknown name."""
    for declared in container.get("ports") or []:
        if declared.get("name") == port:
            return int(declared["containerPort"])
    if isinstance(port, str) and not port.isdigit():
        raise OSError(f"no port is named {port}")
    return int(port)


def _http(get: Mapping[str, Any], container: Mapping[str, Any], address: str, timeout: float) -> bool:
    host, port = get.get("host") or address, port_number(get["port"], container)
    if (get.get("scheme") or "HTTP") == "HTTPS":
        # As a kubelet does: a probe asks whether something answers, not who.
        context = ssl._create_unverified_context()  # noqa: SLF001
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=timeout, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        headers = {header["name"]: header["value"] for header in get.get("httpHeaders") or []}
        connection.request("GET", get.get("path") or "/", headers=headers)
        return 200 <= connection.getresponse().status < 400
    finally:
        connection.close()
