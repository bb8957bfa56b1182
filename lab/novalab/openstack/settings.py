# SPDX-License-Identifier: Apache-2.0
"""The facts of one lab's OpenStack: names, addresses, URLs, users and passwords. Everything else here asks this."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import secrets

from novalab import lab as labs

HERE = pathlib.Path(__file__).parent

NOVA = "controlplane-nova"
REGION = "RegionOne"
RELEASE = "2026.1"
CELL = "cell1"

#: What runs as the pod of a Deployment and is reached by a Service: the port of each, which is the field's own.
POD_PORTS = {"keystone": 5000, "placement": 8778, NOVA: 8774}

#: The databases by the name of their owner. Nova calls cell0's after the one of the cell, with this ending.
CELL_DATABASE = "nova"
DATABASES = ("keystone", "placement", "glance", "nova_api", CELL_DATABASE, f"{CELL_DATABASE}_cell0")
DATABASE_USER = "openstack"
BROKER_USER = "openstack"

#: Every service user has the roles admin and service on the project service.
SERVICE_USERS = ("nova", "placement", "glance")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Passwords:
    """The secrets of one lab, drawn when it is made."""

    admin: str
    nova: str
    placement: str
    glance: str
    database: str
    broker: str
    metadata_proxy: str


@dataclasses.dataclass(frozen=True)
class Cloud:
    """The OpenStack of one lab."""

    lab: labs.Lab

    @property
    def root(self) -> pathlib.Path:
        """The folder of everything that OpenStack keeps, its databases included."""
        return self.lab.root / "openstack"

    @functools.cached_property
    def passwords(self) -> Passwords:
        """The lab's secrets, drawn and written (readable by their owner alone) when they are first asked for."""
        path = self.root / "passwords.json"
        if not path.exists():
            drawn = {field.name: secrets.token_hex(16) for field in dataclasses.fields(Passwords)}
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, json.dumps(drawn))
        return Passwords(**json.loads(path.read_text()))

    def public_url(self, service: str) -> str:
        """Where a program on the machine reaches ``service``, without a version: no name need resolve."""
        if service in POD_PORTS:
            return f"http://{self.lab.node_address(labs.CONTROL_NODE)}:{POD_PORTS[service]}"
        return f"http://127.0.0.1:{self.lab.port(service)}"

    def internal_url(self, service: str) -> str:
        """Where a pod of a cluster reaches ``service``, without a version."""
        if service in POD_PORTS:
            return f"http://{service}.{labs.NAMESPACE}.svc.cluster.local:{POD_PORTS[service]}"
        # Glance and Neutron are no pods: they have no Service to name.
        return self.public_url(service)

    @property
    def catalog(self) -> list[dict[str, str]]:
        """The rows of Keystone's catalog: type, name, and the URL of each interface."""
        rows = (
            ("identity", "keystone", "keystone", "/v3"),
            ("compute", "nova", NOVA, "/v2.1"),
            ("placement", "placement", "placement", ""),
            ("image", "glance", "glance", ""),
            ("network", "neutron", "neutron", ""),
        )
        return [
            {
                "type": kind,
                "name": name,
                "public": self.public_url(service) + version,
                "internal": self.internal_url(service) + version,
                "admin": self.internal_url(service) + version,
            }
            for kind, name, service, version in rows
        ]

    def database_url(self, database: str) -> str:
        """The SQLAlchemy URL of a database, password included."""
        address = f"127.0.0.1:{self.lab.port('postgresql')}"
        return f"postgresql+psycopg2://{DATABASE_USER}:{self.passwords.database}@{address}/{database}"

    @property
    def transport_url(self) -> str:
        """The broker's URL, password included."""
        return f"rabbit://{BROKER_USER}:{self.passwords.broker}@127.0.0.1:{self.lab.port('amqp')}/"


def write_private(path: pathlib.Path, text: str) -> None:
    """Write a file that only its owner may read, at no instant anybody else."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
