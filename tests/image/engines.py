# SPDX-License-Identifier: Apache-2.0
"""A container engine: the one that DOCKER_HOST names, else one of our own that leaves nothing behind.

Our own is a dockerd beside any other, with its files, its socket and its control groups in places that nobody else has.
It makes no network and touches no packet filter: builds and containers use the machine's network or none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping

from e2e.world import waiting
from image import debian

_READY_SECONDS = 60.0
_END_SECONDS = 60.0
#: Every engine makes these, wherever its own files are; the deepest first.
_SHARED = (
    *("/run/docker/plugins", "/run/docker", "/etc/docker/key.json", "/etc/docker"),
    *("/run/containerd/s", "/run/containerd", "/opt/containerd/bin", "/opt/containerd/lib", "/opt/containerd"),
)
#: The longest that one call of the client may take: a whole build.
_CALL_SECONDS = 1500.0


class EngineError(AssertionError):
    """The engine did not do what it was asked for, with what it said."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Engine:
    """An engine that runs. ``environment`` makes the client, and whatever starts it, speak to this one."""

    environment: Mapping[str, str]

    def run(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """``docker`` with these words, whatever its exit code."""
        return subprocess.run(
            [debian.program("docker"), *words],
            env=self.variables,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=_CALL_SECONDS,
        )

    def output(self, *words: str, stdin: str | None = None) -> str:
        """What ``docker`` printed. Raises EngineError with its complaint when it failed."""
        done = self.run(*words, stdin=stdin)
        if done.returncode != 0:
            raise EngineError(f"docker {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    @property
    def variables(self) -> dict[str, str]:
        """This process's environment with what names the engine."""
        return {**os.environ, **self.environment}


@contextlib.contextmanager
def opened() -> Iterator[Engine]:
    """The engine to use. Raises MissingError when there is none and none can be had."""
    if os.environ.get("DOCKER_HOST"):
        debian.program("docker", "docker.io", "docker-cli")
        yield Engine(environment={})
        return
    with own() as engine:
        yield engine


@contextlib.contextmanager
def own() -> Iterator[Engine]:
    """An engine of our own. Raises EngineError when it does not come up, or leaves something behind."""
    debian.expect_root("a container engine of our own")
    daemon = debian.program("dockerd", "docker.io")
    debian.program("docker", "docker.io", "docker-cli")
    made = [path for path in map(pathlib.Path, _SHARED) if not path.exists()]
    # Not in memory, where /tmp may be.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="image-engine-", dir="/var/tmp"))
    try:
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                _command(daemon, folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        engine = Engine(
            environment={
                "DOCKER_HOST": f"unix://{folder}/socket",
                # No plug-in and no credentials of a person: the client is alone with this engine.
                "DOCKER_CONFIG": str(folder / "client"),
                "DOCKER_BUILDKIT": "0",
            }
        )
        try:
            waiting.wait_for("the engine answers", lambda: _answers(engine, process, folder), seconds=_READY_SECONDS)
            yield engine
        finally:
            _end(engine, process)
    finally:
        _tidy(folder)
        for path in made:
            # By now they may be another's too, and then are not empty.
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
    left = leftovers(folder)
    if left:
        raise EngineError(f"the engine has ended and left behind: {left}")


def _command(daemon: str, folder: pathlib.Path) -> list[str]:
    return [
        # Should this process be killed, the engine ends too.
        *("setpriv", "--pdeathsig", "TERM", daemon),
        *("--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
        *("--pidfile", str(folder / "pid"), "--host", f"unix://{folder}/socket"),
        *("--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", f"/{folder.name}"),
        *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
    ]


def _answers(engine: Engine, process: subprocess.Popen[bytes], folder: pathlib.Path) -> bool:
    if process.poll() is not None:
        lines = (folder / "log").read_text(errors="replace").splitlines()
        raise EngineError("\n".join([f"dockerd ended at its start with {process.returncode}:", *lines[-15:]]))
    return engine.run("version").returncode == 0


def _end(engine: Engine, process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        containers = engine.run("ps", "--all", "--quiet").stdout.split()
        if containers:
            engine.run("rm", "--force", "--volumes", *containers)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _tidy(folder: pathlib.Path) -> None:
    """Take away what an engine that ended badly would leave: its helpers, mounts, control groups and files."""
    for pid in processes_of(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    unmount_below(folder)
    for group in _control_groups(folder):
        with contextlib.suppress(OSError):
            group.rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def unmount_below(folder: pathlib.Path) -> None:
    """Unmount everything below a folder, the deepest first."""
    for mount in sorted(mounts_below(folder), key=len, reverse=True):
        subprocess.run(["umount", "--lazy", mount], capture_output=True, check=False)


def leftovers(folder: pathlib.Path) -> list[str]:
    """What there still is of an engine in that folder: processes, mounts, control groups, files."""
    processes = [f"process {pid}" for pid in processes_of(folder)]
    groups = [str(group) for group in _control_groups(folder)]
    return [*processes, *mounts_below(folder), *groups, *([str(folder)] if folder.exists() else [])]


def processes_of(folder: pathlib.Path) -> list[int]:
    """The processes whose command names the folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{folder}/".encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def mounts_below(folder: pathlib.Path) -> list[str]:
    """What is mounted below a folder."""
    points = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    return [point for point in points if point.startswith(f"{folder}/")]


def _control_groups(folder: pathlib.Path) -> list[pathlib.Path]:
    """Those of the engine in every hierarchy, the deepest first."""
    root = pathlib.Path("/sys/fs/cgroup")
    tops = [*root.glob(folder.name), *root.glob(f"*/{folder.name}")]
    found = [group for top in tops for group in (top, *top.rglob("*/"))]
    return sorted(found, key=lambda group: len(group.parts), reverse=True)
