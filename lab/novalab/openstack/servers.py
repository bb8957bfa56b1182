# SPDX-License-Identifier: Apache-2.0
"""The database server and the message broker: PostgreSQL and RabbitMQ on the lab's own ports.

Both keep their files below the lab's folder and neither knows the machine's own server of the same kind, so that two
labs, and a lab beside a real installation, do not meet.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import subprocess

from novalab import errors
from novalab import lab as labs
from novalab.openstack import daemons, installation, settings

_POSTGRESQL_CONF = """
port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
# A lab that loses power is made anew: nothing here need reach the disk in time.
fsync = off
synchronous_commit = off
full_page_writes = off
jit = off
"""

_RABBITMQ_CONF = """
listeners.tcp.1 = 127.0.0.1:{port}
loopback_users = none
default_user = {user}
default_pass = {password}
disk_free_limit.absolute = 50MB
vm_memory_high_watermark.absolute = 1GB
log.file = false
log.console = true
log.console.level = warning
"""


def start_postgresql(cloud: settings.Cloud) -> None:
    """Start the database server, empty when it is new, and return when it answers."""
    programs = installation.postgresql_bin()
    if programs is None:
        raise errors.LabError("PostgreSQL is gone from this machine: run 'make lab' again to install it")
    folder = cloud.root / "postgresql"
    # It refuses to run as root. Debian's package brings this user.
    user = "postgres" if os.geteuid() == 0 else None
    if not (folder / "data" / "PG_VERSION").exists():
        _create_database_cluster(cloud, programs, folder, user)
    daemons.start(
        cloud.lab,
        "postgresql",
        [str(programs / "postgres"), "-D", str(folder / "data")],
        env=daemons.environment(cloud.lab),
        user=user,
    )
    daemons.wait_until(
        "PostgreSQL",
        # Asking whether anybody listens costs nothing; a client that is refused costs a process.
        lambda: not labs.port_is_free(cloud.lab.port("postgresql")) and allows_connections(cloud, "postgres"),
        program=daemons.daemon(cloud.lab, "postgresql"),
        seconds=120,
    )


def recreate_databases(cloud: settings.Cloud) -> None:
    """Make every database of the lab anew, empty. What an interrupted set-up left in one is gone then."""
    statements = [
        statement
        for name in settings.DATABASES
        for statement in (f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
    ]
    execute(cloud, *statements)


def execute(cloud: settings.Cloud, *statements: str) -> None:
    """Run SQL statements, each in a transaction of its own. Raises LabError with the server's message."""
    outcome = _sql(cloud, "postgres", *statements)
    if outcome.returncode != 0:
        raise errors.LabError(f"PostgreSQL: {outcome.stderr.strip()}")


def allow_connections(cloud: settings.Cloud, database: str, *, allowed: bool) -> None:
    """Let clients connect to a database, or refuse them and end their connections."""
    execute(cloud, f"ALTER DATABASE {database} ALLOW_CONNECTIONS {str(allowed).lower()}")
    if not allowed:
        execute(cloud, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")


def allows_connections(cloud: settings.Cloud, database: str) -> bool:
    """Whether clients can connect to a database."""
    return _sql(cloud, database, "SELECT 1").returncode == 0


def stop_postgresql(cloud: settings.Cloud) -> None:
    # SIGQUIT ends it at once; the files are about to go.
    daemons.stop(cloud.lab, "postgresql", first=signal.SIGQUIT)


def start_rabbitmq(cloud: settings.Cloud) -> None:
    """Start the broker with a port mapper of its own, and return when it speaks AMQP."""
    lab = cloud.lab
    folder = cloud.root / "rabbitmq"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "enabled_plugins").write_text("[].\n")
    settings.write_private(
        folder / "rabbitmq.conf",
        _RABBITMQ_CONF.format(port=lab.port("amqp"), user=settings.BROKER_USER, password=cloud.passwords.broker),
    )
    # Erlang would start this mapper by itself, as a daemon that outlives the broker and that nobody would end.
    mapper_port = str(lab.port("epmd"))
    daemons.start(
        lab,
        "epmd",
        ["epmd", "-port", mapper_port, "-address", "127.0.0.1"],
        env=daemons.environment(cloud.lab),
    )
    env = daemons.environment(
        lab,
        HOME=str(folder),
        RABBITMQ_NODENAME=f"novalab{lab.slot}@localhost",
        RABBITMQ_CONFIG_FILE=str(folder / "rabbitmq.conf"),
        RABBITMQ_MNESIA_BASE=str(folder / "mnesia"),
        RABBITMQ_LOG_BASE=str(folder),
        RABBITMQ_LOGS="-",
        RABBITMQ_ENABLED_PLUGINS_FILE=str(folder / "enabled_plugins"),
        RABBITMQ_PID_FILE=str(folder / "pid"),
        RABBITMQ_DIST_PORT=str(lab.port("amqp_dist")),
        # One scheduler that does not spin: the broker shares two cores with everything else.
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
        ERL_EPMD_PORT=mapper_port,
        ERL_EPMD_ADDRESS="127.0.0.1",
        ERL_CRASH_DUMP=str(folder / "crash.dump"),
    )
    daemons.start(lab, "rabbitmq", [str(installation.RABBITMQ_SERVER)], env=env)
    daemons.wait_until(
        "RabbitMQ", lambda: _speaks_amqp(lab.port("amqp")), program=daemons.daemon(lab, "rabbitmq"), seconds=240
    )


def stop_rabbitmq(cloud: settings.Cloud) -> None:
    # Its orderly end takes seconds and saves what is about to be deleted.
    daemons.stop(cloud.lab, "rabbitmq", first=signal.SIGKILL)
    daemons.stop(cloud.lab, "epmd")


def _create_database_cluster(
    cloud: settings.Cloud, programs: pathlib.Path, folder: pathlib.Path, user: str | None
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    password = folder / "password"
    settings.write_private(password, cloud.passwords.database)
    if user is not None:
        shutil.chown(folder, user, user)
        shutil.chown(password, user, user)
    command = [str(programs / "initdb"), "--pgdata", str(folder / "data"), "--username", settings.DATABASE_USER]
    outcome = subprocess.run(
        [*command, "--pwfile", str(password), "--auth", "md5", "--encoding", "UTF8", "--locale", "C", "--no-sync"],
        env=daemons.environment(cloud.lab),
        cwd=folder,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        check=False,
    )
    password.unlink()
    if outcome.returncode != 0:
        shutil.rmtree(folder)
        raise errors.LabError(f"initdb failed:\n{outcome.stderr}")
    with (folder / "data" / "postgresql.conf").open("a") as conf:
        conf.write(_POSTGRESQL_CONF.format(port=cloud.lab.port("postgresql")))


def _sql(cloud: settings.Cloud, database: str, *statements: str) -> subprocess.CompletedProcess[str]:
    programs = installation.postgresql_bin()
    return subprocess.run(
        [
            str(programs / "psql") if programs else "psql",
            "-qX",
            "--set=ON_ERROR_STOP=1",
            *(f"--command={statement}" for statement in statements),
        ],
        env=daemons.environment(
            cloud.lab,
            PGHOST="127.0.0.1",
            PGPORT=str(cloud.lab.port("postgresql")),
            PGUSER=settings.DATABASE_USER,
            PGPASSWORD=cloud.passwords.database,
            PGDATABASE=database,
            PGCONNECT_TIMEOUT="5",
        ),
        capture_output=True,
        text=True,
        check=False,
    )


def _speaks_amqp(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(3)
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return bool(connection.recv(8))
    except OSError:
        return False
