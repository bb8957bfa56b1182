# SPDX-License-Identifier: Apache-2.0
"""The operator as a process: started by its command, ended in order or killed, its log in a file."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from e2e.world import cluster, container, logs, stand, waiting

_ROOT = pathlib.Path(__file__).resolve().parents[3]
# -P keeps the folder it is started from out of the search for modules, one of which it would shadow.
_PROGRAM = (sys.executable, "-P", "-m", "nova_compute_operator")
_READY_SECONDS = 60.0
_END_SECONDS = 45.0


class OperatorProcess:
    """One operator for one lab. It can be started again after it was stopped or killed; the log goes on."""

    def __init__(
        self,
        the_stand: stand.Stand,
        log: pathlib.Path,
        *,
        poll_scale: float | None = None,
        image: str = "",
        engine: Mapping[str, str] | None = None,
    ) -> None:
        """With an image, a container engine runs it on the machine's network, as a cluster would: read-only.

        ``engine`` has the variables that name the engine to its client, where those of this process do not.
        """
        self._stand = the_stand
        self._image = image
        self._engine = dict(engine or {})
        self._poll_scale = poll_scale
        self._process: subprocess.Popen[bytes] | None = None
        self.log = log
        self.command: list[str] = []

    def start(self, *flags: str) -> None:
        """Start it and return when it says that it is ready."""
        assert not self.runs, "the operator runs already"
        probes = _free_address()
        self.command = [
            *(self._container() if self._image else _PROGRAM),
            *("--namespace", cluster.NAMESPACE, "--metrics-bind-address", "0"),
            *("--health-probe-bind-address", probes, *flags),
        ]
        environment = {**self._stand.environment, **self._engine}
        environment.pop("NOVA_COMPUTE_POLL_SCALE", None)
        if self._poll_scale is not None:
            environment["NOVA_COMPUTE_POLL_SCALE"] = str(self._poll_scale)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                cwd=_ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        waiting.wait_for("the operator is ready", lambda: self._is_ready(probes), seconds=_READY_SECONDS, every=0.1)

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the last start."""
        assert self._process is not None, "the operator was not started"
        return self._process.pid

    def stop(self) -> None:
        """Ask it to end. Raises AssertionError when it does not do so in order."""
        if self.runs and self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            status = self._process.wait(timeout=_END_SECONDS)
            assert status == 0, f"asked to end, the operator ended with {status}; its log is {self.log}"
        if self._image:
            self._remove_container()

    def kill(self) -> None:
        """End it as the kernel would: no handler runs, and what it had started is left to itself."""
        assert self._process is not None
        if self._image:
            # The process is only the client of the engine.
            self._remove_container()
        else:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def tail(self, lines: int = 40) -> str:
        """The end of its log."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def passes(self) -> list[dict[str, Any]]:
        """The log lines of the passes that ended, oldest first."""
        return logs.passes(self.lines())

    def lines(self) -> list[dict[str, Any]]:
        """The log as data; a line that is none of the operator's own is left out."""
        return logs.lines([self.log] if self.log.exists() else [])

    def _container(self) -> list[str]:
        """The words that run the image."""
        self._remove_container()
        kubeconfig = container.kubeconfig(self._stand, self._stand.lab.root)
        return [
            # Its own check asks the address that the probes have in a pod.
            *("docker", "run", "--rm", f"--name={self._name}", "--no-healthcheck"),
            *("--network=host", *container.HARDENED),
            *(*container.with_kubeconfig(kubeconfig), "--env=NOVA_COMPUTE_POLL_SCALE", self._image),
        ]

    def _remove_container(self) -> None:
        """Have no container of this lab's operator, whoever started it, and no copy of the kubeconfig."""
        environment = {**self._stand.environment, **self._engine}
        remove = ["docker", "rm", "--force", self._name]
        subprocess.run(remove, env=environment, capture_output=True, check=False)
        (self._stand.lab.root / container.KUBECONFIG).unlink(missing_ok=True)

    @property
    def _name(self) -> str:
        return f"{self._stand.lab.name}-nova-compute-operator"

    def _is_ready(self, address: str) -> bool:
        if not self.runs:
            raise AssertionError(f"the operator ended at its start:\n{self.tail()}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://{address}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except urllib.error.URLError:
            return False


def _free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
