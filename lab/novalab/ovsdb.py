# SPDX-License-Identifier: Apache-2.0
"""An Open vSwitch database for each compute node, on the node's own /run/openvswitch/db.sock.

No switch runs: what matters is ``external_ids:system-id``, which an OVN chassis writes and pods wait for.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from novalab import errors, lab, processes, progress, rows

_SCHEMA = pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema")
_PROGRAMS = ("ovsdb-server", "ovsdb-tool", "ovsdb-client")
_START_SECONDS = 60.0


def install(tell: progress.Part) -> None:
    """Get what is missing from Debian's archive. Raises LabError naming the packages where that is not possible.

    Only openvswitch-common is installed. The schema's package would bring a system service along, so that one file is
    taken out of it instead.
    """
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if not missing and _schema() is not None:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise errors.LabError(
            f"{', '.join(missing) or _SCHEMA.name} of Open vSwitch is missing: install the packages "
            "openvswitch-common and openvswitch-switch (Fedora: openvswitch); their services need not run"
        )
    log = lab.cache_home() / "apt-openvswitch.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with lab.locked(lab.cache_home() / "apt.lock"):
        if missing:
            tell("installing openvswitch-common")
            _apt(["install", "--yes", "--no-install-recommends", "openvswitch-common"], log)
        if _schema() is None:
            tell("fetching the schema of Open vSwitch")
            _fetch_schema(log)


def up(the_lab: lab.Lab, node: str) -> None:
    """Start the node's database if it does not run; its system-id is set if it is new. Raises LabError."""
    daemon = _daemon(the_lab, node)
    if daemon.pid is not None:
        return
    folder = the_lab.root / "ovsdb" / node
    folder.mkdir(parents=True, exist_ok=True)
    database, endpoint = folder / "conf.db", socket(the_lab, node)
    endpoint.parent.mkdir(parents=True, exist_ok=True)
    # One that a killed server left behind would pass for that of the server to come.
    endpoint.unlink(missing_ok=True)
    is_new = not database.exists()
    if is_new:
        subprocess.run(["ovsdb-tool", "create", database, str(_schema())], check=True)
    daemon.start(
        [
            "ovsdb-server",
            str(database),
            f"--remote=punix:{endpoint}",
            f"--unixctl={folder}/ctl",
            "--no-chdir",
            "--verbose=console:off",
            f"--log-file={daemon.log}",
        ],
        root=the_lab.root,
    )
    deadline = time.monotonic() + _START_SECONDS
    while not endpoint.exists():
        daemon.expect_alive()
        if time.monotonic() > deadline:
            raise errors.LabError(f"the Open vSwitch database of {node} opens no socket", log=daemon.log)
        time.sleep(0.01)
    # Pods that run without root connect too.
    endpoint.chmod(0o666)
    if is_new:
        _transact(the_lab, node, {"op": "insert", "table": "Open_vSwitch", "row": {}})
        set_system_id(the_lab, node)


def down(the_lab: lab.Lab) -> None:
    """End every database; their files go with the lab's folder."""
    for record in the_lab.pids.glob("ovsdb-*.json"):
        _daemon(the_lab, record.stem.removeprefix("ovsdb-")).stop()


def status(the_lab: lab.Lab) -> list[rows.Row]:
    found = []
    for folder in sorted(the_lab.root.glob("ovsdb/*")):
        daemon = _daemon(the_lab, folder.name)
        found.append(
            rows.Row(
                what=f"ovsdb-server {folder.name}",
                process=daemon.pid,
                address=f"unix:{socket(the_lab, folder.name)}",
                log=daemon.log,
            )
        )
    return found


def socket(the_lab: lab.Lab, node: str) -> pathlib.Path:
    """The database's socket, where pods of the node see it as /run/openvswitch/db.sock."""
    return the_lab.node_root(node) / "run" / "openvswitch" / "db.sock"


def set_system_id(the_lab: lab.Lab, node: str) -> None:
    """Write the node's name as its chassis would. Raises LabError."""
    unset_system_id(the_lab, node)
    _transact(the_lab, node, _mutation("insert", ["map", [["system-id", node]]]))


def unset_system_id(the_lab: lab.Lab, node: str) -> None:
    """Take the node's system-id away. Raises LabError."""
    _transact(the_lab, node, _mutation("delete", ["set", ["system-id"]]))


def _mutation(mutator: str, value: list[object]) -> dict[str, object]:
    return {"op": "mutate", "table": "Open_vSwitch", "where": [], "mutations": [["external_ids", mutator, value]]}


def _transact(the_lab: lab.Lab, node: str, operation: dict[str, object]) -> None:
    transaction = json.dumps(["Open_vSwitch", operation])
    done = subprocess.run(
        ["ovsdb-client", "--timeout=10", "transact", f"unix:{socket(the_lab, node)}", transaction],
        capture_output=True,
        text=True,
        check=False,
    )
    # A refused operation is an answer like any other.
    if done.returncode or '"error"' in done.stdout:
        raise errors.LabError(f"the Open vSwitch database of {node}: {(done.stderr or done.stdout).strip()}")


def _daemon(the_lab: lab.Lab, node: str) -> processes.Daemon:
    return processes.Daemon(
        name=f"ovsdb-server of {node}",
        record=the_lab.pids / f"ovsdb-{node}.json",
        log=the_lab.logs / f"ovsdb-{node}.log",
    )


def _schema() -> pathlib.Path | None:
    for path in (_SCHEMA, lab.cache_home() / _SCHEMA.name):
        if path.exists():
            return path
    return None


def _fetch_schema(log: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # apt drops its rights for downloads, and may write here only if everybody may.
        pathlib.Path(folder).chmod(0o777)
        _apt(["download", "openvswitch-switch"], log, folder=folder)
        (package,) = pathlib.Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", package, f"{folder}/content"], check=True)
        shutil.copy(f"{folder}/content{_SCHEMA}", lab.cache_home() / _SCHEMA.name)


def _apt(arguments: list[str], log: pathlib.Path, *, folder: str | None = None) -> None:
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "--quiet", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with log.open("ab") as file:
        done = subprocess.run(command, stdout=file, stderr=file, cwd=folder, env=environment, check=False)
        if done.returncode:
            # A machine that has never asked for the lists of packages has none.
            subprocess.run(["apt-get", "--quiet", "update"], stdout=file, stderr=file, check=False)
            done = subprocess.run(command, stdout=file, stderr=file, cwd=folder, env=environment, check=False)
    if done.returncode:
        raise errors.LabError(f"'apt-get {' '.join(arguments)}' failed; install the package by hand", log=log)
