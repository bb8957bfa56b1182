# SPDX-License-Identifier: Apache-2.0
"""The admission process, as the operator sees it: started, watched, asked whether it serves, ended."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

from nova_compute_operator import settings

_END_SECONDS = 10.0
_LOCAL = {"": "localhost", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # listened on by choice, dialled here


class AdmissionProcess:
    """One process that serves the webhooks, started once somebody has asked for them."""

    def __init__(self, arguments: Sequence[str], *, told: settings.Settings, on_death: Callable[[str], None]) -> None:
        """``arguments`` is the operator's command line; ``on_death`` is called when the process ends by itself."""
        self._arguments = arguments
        self._told = told
        self._on_death = on_death
        self._ending = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def start_when_wanted(self) -> None:
        """Start it, unless it runs. Without a folder of certificates nobody wants it: the operator is run by hand."""
        if self._process is None and self._is_wanted and not self._ending.is_set():
            # It finds the same modules, however this process came to them.
            path = os.pathsep.join(entry or str(pathlib.Path.cwd()) for entry in sys.path)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nova_compute_operator.admission", *self._arguments],
                env=os.environ | {"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
            )
            threading.Thread(target=self._watch, args=[self._process], name="admission", daemon=True).start()

    @property
    def unready(self) -> bool:
        """Whether it ought to serve and does not."""
        if not self._is_wanted or self._told.webhook_bind_address is None:
            return False
        address = self._told.webhook_bind_address
        try:
            socket.create_connection((_LOCAL.get(address.host, address.host), address.port), timeout=1.0).close()
        except OSError:
            return True
        return False

    @property
    def _is_wanted(self) -> bool:
        told = self._told
        if not told.enable_webhooks or told.webhook_bind_address is None:
            return False
        return told.webhook_self_signed or told.webhook_cert_path.is_dir()

    def close(self) -> None:
        """End it, letting the reviews under way finish."""
        self._ending.set()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        status = process.wait()
        if not self._ending.is_set():
            self._on_death(f"the admission webhooks ended with {status}")
