# SPDX-License-Identifier: Apache-2.0
"""Imports Nova once and forks a child for each of its commands: nova_launcher.py NOVA_CONF PLACEMENT_CONF LOG_FOLDER.

A nova-manage command is one to three seconds of imports and a moment of work. A child of this process has the imports
already, runs the stock entry point, and ends. Orders come as lines on standard input, and each is answered by a line:

``databases CELL0_URL``  make the schemas of Nova, its two cells and Placement        -> ``done``
``start NAME ...``       start conductor or scheduler, which outlive this process    -> ``done NAME PID ...``
``conductor``            wait until the conductor answers remote calls                -> ``done``

or ``failed WHAT``. End of input ends the process.
"""

import gc
import importlib
import os
import pathlib
import sys
import time
import traceback

# Said here because the import of nova-manage would else patch this process, which all children share.
os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

NOVA_CONF, PLACEMENT_CONF, LOGS = sys.argv[1:]
NOVA_MANAGE = ("nova.cmd.manage", "--config-file", NOVA_CONF)
PLACEMENT_MANAGE = ("placement.cmd.manage", "--config-file", PLACEMENT_CONF)
#: A compute's first call to a conductor that is not there yet costs it a fixed pause of 10 s.
CONDUCTOR_DEADLINE = 60.0

for module in (
    "nova.cmd.manage",
    "nova.cmd.conductor",
    "nova.cmd.scheduler",
    "nova.conductor.manager",
    "nova.scheduler.manager",
    "keystoneauth1.identity",
    "placement.cmd.manage",
):
    importlib.import_module(module)
# What is there before the first fork stays shared between parent and children only if no collection writes to it.
gc.collect()
gc.freeze()


def fork(log: str, module: str, *argv: str, **env: str) -> int:
    """The process id of a child that runs ``main`` of ``module`` with that command line and output."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setsid()
        file = os.open(pathlib.Path(LOGS) / f"openstack-{log}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.environ.update(env)
        sys.argv = [module.replace(".cmd.", "-"), *argv]
        code = sys.modules[module].main() or 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def finish(*pids: int) -> None:
    """Wait for children. Raises RuntimeError when one failed."""
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    if any(codes):
        raise RuntimeError(f"a command ended with {max(codes, key=abs)}")


def make_databases(cell0_url: str) -> None:
    """Make every schema and the two cells, side by side as far as one does not need the other."""
    log = "database-setup"
    placement = fork(log, *PLACEMENT_MANAGE, "db", "sync")
    cell1 = fork(log, *NOVA_MANAGE, "db", "sync", "--local_cell")
    cell0 = fork(log, *NOVA_MANAGE, "db", "sync", "--local_cell", OS_DATABASE__CONNECTION=cell0_url)
    finish(fork(log, *NOVA_MANAGE, "api_db", "sync"))
    finish(fork(log, *NOVA_MANAGE, "cell_v2", "map_cell0"))
    finish(fork(log, *NOVA_MANAGE, "cell_v2", "create_cell", "--name", "cell1"))
    finish(placement, cell1, cell0)


def start(names: list[str]) -> list[str]:
    """Start services; the name and then the process id of each."""
    answer = []
    for name in names:
        answer += [name, str(fork(name, f"nova.cmd.{name}", "--config-file", NOVA_CONF))]
    return answer


def main() -> None:
    """Call the conductor until it answers. Returns None, raises TimeoutError after :data:`CONDUCTOR_DEADLINE`."""
    from nova import baserpc, config, context, objects
    from oslo_messaging import exceptions

    config.parse_args(sys.argv)
    objects.register_all()
    client = baserpc.BaseAPI(topic="conductor")
    deadline = time.monotonic() + CONDUCTOR_DEADLINE
    while time.monotonic() < deadline:
        try:
            client.ping(context.get_admin_context(), "lab", timeout=0.4)
        except exceptions.MessagingTimeout:
            continue
        return
    raise TimeoutError("the conductor does not answer")


def obey(order: list[str]) -> list[str]:
    if order[0] == "databases":
        make_databases(order[1])
    elif order[0] == "start":
        return start(order[1:])
    elif order[0] == "conductor":
        finish(fork("conductor-ping", "__main__", "--config-file", NOVA_CONF))
    else:
        raise RuntimeError("no such order")
    return []


if __name__ == "__main__":
    for line in sys.stdin:
        try:
            print("done", *obey(line.split()), flush=True)
        except RuntimeError as error:
            print("failed", error, flush=True)
