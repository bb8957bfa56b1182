# SPDX-License-Identifier: Apache-2.0
"""Containers of the image, run with as little as a cluster would give them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

from e2e.world import container, stand, waiting
from image import engines, forwarding

_MOMENT = 60.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Container:
    """A container that was started."""

    engine: engines.Engine
    identity: str

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in it, whatever its exit code."""
        return self.engine.run("exec", self.identity, *command)

    def output(self, *command: str) -> str:
        """What a command in it printed."""
        return self.engine.output("exec", self.identity, *command)

    @property
    def state(self) -> dict[str, Any]:
        (found,) = json.loads(self.engine.output("inspect", self.identity))
        state: dict[str, Any] = found["State"]
        return state

    @property
    def health(self) -> str:
        """What the engine makes of its health check: starting, healthy or unhealthy."""
        return str(self.state["Health"]["Status"])

    @property
    def log(self) -> str:
        done = self.engine.run("logs", self.identity)
        return done.stdout + done.stderr

    def expect_ready(self) -> None:
        """Return when the operator in it says that it is ready; it has the probes' address of a pod."""
        ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8081/readyz', timeout=5).status)"

        def look() -> str:
            assert self.state["Running"], f"the container has ended:\n{self.log}"
            done = self.run("python", "-c", ask)
            return done.stdout.strip() or done.stderr[-200:]

        waiting.wait_for("the operator is ready", look, lambda status: status == "200", seconds=_MOMENT)


@contextlib.contextmanager
def started(engine: engines.Engine, *words: str) -> Iterator[Container]:
    """A container of ``docker run`` with these words, which is gone afterwards."""
    identity = engine.output("run", "--detach", *words).strip()
    try:
        yield Container(engine=engine, identity=identity)
    finally:
        engine.output("rm", "--force", "--volumes", identity)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pod:
    """A network of its own in which nothing is but the API server of a lab, at the address that its kubeconfig has."""

    engine: engines.Engine
    image: str
    network: str
    kubeconfig: pathlib.Path

    @contextlib.contextmanager
    def operator(self, *flags: str, options: tuple[str, ...] = ()) -> Iterator[Container]:
        """The operator with these flags, in a container with these options."""
        with started(
            self.engine,
            *container.HARDENED,
            *(f"--network={self.network}", *container.with_kubeconfig(self.kubeconfig)),
            *options,
            *(self.image, "--namespace=openstack", *flags),
        ) as operator:
            yield operator


@contextlib.contextmanager
def pod(engine: engines.Engine, image: str, the_stand: stand.Stand, folder: pathlib.Path) -> Iterator[Pod]:
    """A pod in which operators can be run. Only their user can read the kubeconfig."""
    kubeconfig = container.kubeconfig(the_stand, folder)
    with contextlib.ExitStack() as stack:
        words = (*container.HARDENED, "--network=none", "--entrypoint=sleep", image, "infinity")
        pause = stack.enter_context(started(engine, *words))
        stack.enter_context(forwarding.into(pause.state["Pid"], the_stand.lab.port("kube_apiserver")))
        yield Pod(engine=engine, image=image, network=f"container:{pause.identity}", kubeconfig=kubeconfig)
