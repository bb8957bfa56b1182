# SPDX-License-Identifier: Apache-2.0
"""Puts OpenStack on the machine: its own Python environment, a message broker and a database server.

The environment is made from a lock with checksums and kept in the cache under the lock's own checksum, so that a
changed lock makes a new one and labs of different versions of this tree do not disturb each other.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from novalab import errors, progress
from novalab import lab as labs

_LOCK = pathlib.Path(__file__).parents[2] / "openstack-requirements.txt"
#: Debian's wrapper in /usr/sbin would change the user; this one does not.
RABBITMQ_SERVER = pathlib.Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_POSTGRESQL = pathlib.Path("/usr/lib/postgresql")


def environment_path() -> pathlib.Path:
    """The folder of the OpenStack environment, which exists after :func:`install`."""
    # An environment works with the one interpreter that made it, so the interpreter belongs to the name.
    interpreter = os.path.realpath(sys.executable)
    checksum = hashlib.sha256(_LOCK.read_bytes() + interpreter.encode()).hexdigest()
    return labs.cache_home() / f"openstack-{checksum[:12]}"


def postgresql_bin() -> pathlib.Path | None:
    """The programs of the newest PostgreSQL server on this machine, or None."""
    found = [path for path in _POSTGRESQL.glob("*/bin") if (path / "initdb").exists()]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def install(tell: progress.Part) -> None:
    """Install what is missing. Raises LabError with the way out when that is not possible here."""
    _install_packages(tell)
    _install_environment(tell)


def missing_packages() -> list[str]:
    """The Debian packages that the lab needs and the machine has not."""
    missing = []
    if not RABBITMQ_SERVER.exists():
        missing.append("rabbitmq-server")
    if postgresql_bin() is None:
        missing.append("postgresql")
    return missing


def _install_packages(tell: progress.Part) -> None:
    packages = missing_packages()
    if not packages:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise errors.LabError(
            f"the lab needs {' and '.join(packages)}. As root: {' '.join(command)}"
            " (other distributions have packages of the same names); their services need not run"
        )
    log = labs.cache_home() / "apt-openstack.log"
    # The other half of the lab installs packages too, and dpkg lets only one do so.
    with labs.locked(labs.cache_home() / "apt.lock"):
        tell(f"installing {' and '.join(packages)}")
        # The lists of packages may be old or missing, as they are in a fresh image.
        installed = _apt(command, log) or (_apt(["apt-get", "update"], log) and _apt(command, log))
        if not installed:
            raise errors.LabError(f"'{' '.join(command)}' failed: install them by hand", log=log)
        if pathlib.Path("/run/systemd/system").exists():
            # Only what this very call installed; epmd.socket comes with the broker's Erlang.
            units = [*packages, "epmd.socket"] if "rabbitmq-server" in packages else packages
            subprocess.run(["systemctl", "disable", "--now", *units], capture_output=True, check=False)


def _apt(command: list[str], log: pathlib.Path) -> bool:
    # RUNLEVEL=1 keeps Debian's scripts from starting the services: the lab runs servers of its own.
    env = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
    command = [command[0], "-o", "DPkg::Lock::Timeout=300", *command[1:]]
    with log.open("ab") as file:
        return subprocess.run(command, env=env, stdout=file, stderr=file, check=False).returncode == 0


def _install_environment(tell: progress.Part) -> None:
    target = environment_path()
    # Written last: an environment without it was interrupted on the way.
    done = target / "complete"
    if done.exists():
        return
    uv = pathlib.Path(sys.executable).with_name("uv")
    if not uv.exists():
        raise errors.LabError(f"{uv} is missing: run 'make venv' in the repository first")
    with labs.locked(labs.cache_home() / "openstack.lock"):
        if done.exists():
            return
        tell("installing OpenStack from PyPI (about 30 s, once)")
        shutil.rmtree(target, ignore_errors=True)
        _run_uv([str(uv), "venv", "--quiet", "--python", sys.executable, str(target)])
        # Without byte code each OpenStack process would compile some 1,500 modules at each start, and what a pod
        # compiles is lost with the pod.
        install = [str(uv), "pip", "install", "--quiet", "--require-hashes", "--compile-bytecode"]
        _run_uv([*install, "--python", str(target / "bin" / "python"), "--requirement", str(_LOCK)])
        done.touch()


def _run_uv(command: list[str]) -> None:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        tail = "\n".join(outcome.stderr.splitlines()[-12:])
        raise errors.LabError(f"'{' '.join(command)}' failed:\n{tail}")
