# SPDX-License-Identifier: Apache-2.0
"""Talks to the two programs that set OpenStack up: Keystone's, and Nova's import-once launcher.

Both start importing as soon as they are made, beside the servers that they will need, and work when they are told to.
"""

from __future__ import annotations

import json
import subprocess
import typing

from novalab import errors
from novalab.openstack import configuration, daemons, installation, settings

_PROGRAMS = settings.HERE / "programs"
#: The log of the short commands, as the launcher names it.
_SETUP_LOG = "database-setup"


class KeystoneSetup:
    """Keystone's schema, keys, users and catalog."""

    def __init__(self, cloud: settings.Cloud) -> None:
        self._cloud = cloud
        self._log = daemons.daemon(cloud.lab, "keystone-setup").log
        self._process = _start(
            cloud,
            self._log.open("ab"),
            "keystone_setup.py",
            str(cloud.root / "keystone" / "keystone.conf"),
            OS_DATABASE__CONNECTION=cloud.database_url("keystone"),
        )

    def finish(self) -> None:
        """Set Keystone up in its empty database. Raises LabError."""
        passwords = self._cloud.passwords
        wish = {
            "region": settings.REGION,
            "admin_password": passwords.admin,
            "project": "service",
            "users": {name: getattr(passwords, name) for name in settings.SERVICE_USERS},
            "roles": ["admin", "service"],
            "catalog": self._cloud.catalog,
        }
        self._process.communicate(json.dumps(wish))
        if self._process.returncode != 0:
            raise errors.LabError("setting Keystone up failed", log=self._log)


class NovaLauncher:
    """Nova's schemas, conductor and scheduler. Use it as a context manager: what it started outlives it."""

    def __init__(self, cloud: settings.Cloud) -> None:
        self._cloud = cloud
        self._log = daemons.daemon(cloud.lab, "nova-launcher").log
        self._process = _start(
            cloud,
            self._log.open("ab"),
            "nova_launcher.py",
            str(cloud.root / "nova" / "nova.conf"),
            str(cloud.root / "placement" / "placement.conf"),
            str(cloud.lab.logs),
            **configuration.nova_environment(cloud),
            OS_PLACEMENT_DATABASE__CONNECTION=cloud.database_url("placement"),
        )

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def make_databases(self) -> None:
        """Make the schemas of Nova and Placement, and the cells. Raises LabError."""
        self._order("databases", self._cloud.database_url(f"{settings.CELL_DATABASE}_cell0"), log=_SETUP_LOG)

    def start(self, *services: str) -> None:
        """Start ``conductor``, ``scheduler`` or both, which need Keystone, Placement and the broker."""
        answer = self._order("start", *services, log="nova-launcher")
        for name, pid in zip(answer[::2], answer[1::2], strict=True):
            daemons.adopt(self._cloud.lab, name, int(pid))

    def wait_for_conductor(self) -> None:
        """Return when the conductor answers a remote call: a compute that starts earlier loses ten seconds."""
        self._order("conductor", log="conductor-ping")

    def _order(self, *words: str, log: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(" ".join(words) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline().split()
        except BrokenPipeError:
            answer = []
        if not answer:
            raise errors.LabError("Nova's launcher ended", log=self._log)
        if answer[0] != "done":
            raise errors.LabError(" ".join(answer), log=daemons.daemon(self._cloud.lab, log).log)
        return answer[1:]


def _start(
    cloud: settings.Cloud, log: typing.IO[bytes], program: str, *arguments: str, **env: str
) -> subprocess.Popen[str]:
    with log:
        return subprocess.Popen(
            [str(installation.environment_path() / "bin" / "python3"), "-I", str(_PROGRAMS / program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=daemons.environment(cloud.lab, HOME=str(cloud.root), **env),
            cwd="/",
            text=True,
        )
