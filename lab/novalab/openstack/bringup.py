# SPDX-License-Identifier: Apache-2.0
"""Brings OpenStack up in the order in which one part needs another, and as much as possible side by side.

::

    PostgreSQL ── schemas, Keystone's users and catalog ── pods: Keystone, Placement, Nova API ─┐
        └── Glance, Neutron                                (need the control node)              ├─ conductor, scheduler
    RabbitMQ ───────────────────────────────────────────────────────────────────────────────────┘   └─ answers: up
"""

from __future__ import annotations

import concurrent.futures
import functools
import pathlib
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Callable

import urllib3
from kubernetes import client as kubernetes
from kubernetes import config

from novalab import errors, progress, rows
from novalab import lab as labs
from novalab.openstack import cluster, configuration, daemons, installation, launcher, objects, servers, settings

#: What runs on the machine, by the port it listens on, if it does.
_PROGRAMS = {
    "postgresql": "postgresql",
    "epmd": "epmd",
    "rabbitmq": "amqp",
    "glance": "glance",
    "neutron": "neutron",
    "conductor": None,
    "scheduler": None,
}
_NOVA_SERVICES = ("conductor", "scheduler")
#: A path of each web application that answers 200 to anybody.
_PROBES = {"keystone": "/v3", "placement": "/", settings.NOVA: "/"}
#: A first build of the control plane runs beside this half and may take its time.
_CONTROL_PLANE_DEADLINE = 3600.0
_PODS_DEADLINE = 300.0


def up(cloud: settings.Cloud, tell: progress.Part) -> None:
    """See :func:`novalab.openstack.up`."""
    if is_up(cloud):
        return
    installation.install(tell)
    _write_files(cloud)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        broker = pool.submit(servers.start_rabbitmq, cloud)
        with launcher.NovaLauncher(cloud) as nova:
            tell("starting PostgreSQL and RabbitMQ")
            _prepare_databases(cloud, nova, pool, tell)
            _start_neighbours(cloud)
            kubernetes_cluster = _wait_for_control_node(cloud, tell)
            tell("starting the pods of Keystone, Placement and Nova's API")
            _apply(cloud, kubernetes_cluster)
            _wait_for_answer(cloud, "keystone")
            _wait_for_answer(cloud, "placement")
            tell("starting Nova's conductor and scheduler")
            broker.result()
            nova.start(*(name for name in _NOVA_SERVICES if daemons.daemon(cloud.lab, name).pid is None))
            nova.wait_for_conductor()
            _wait_for_answer(cloud, settings.NOVA)
            for name in cluster.deployments():
                _wait_for_rollout(kubernetes_cluster, name)
            _publish(cloud, kubernetes_cluster)


def is_up(cloud: settings.Cloud) -> bool:
    """Whether every program runs, every web application answers, and the Nova resource says so."""
    running = all(daemons.daemon(cloud.lab, name).pid is not None for name in _PROGRAMS)
    cell = running and servers.allows_connections(cloud, settings.CELL_DATABASE)
    answering = cell and all(answers(cloud, name) for name in _PROBES)
    return answering and _tolerant(functools.partial(_nova, cloud)) is not None


def answers(cloud: settings.Cloud, application: str) -> bool:
    """Whether a web application answers at its address on the machine."""
    # A proxy of the user's shell has no way to an address that exists on this machine alone.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(cloud.public_url(application) + _PROBES[application], timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def down(cloud: settings.Cloud) -> None:
    """See :func:`novalab.openstack.down`."""
    for name in ("conductor", "scheduler", "glance", "neutron"):
        # What an orderly end would save is about to be deleted.
        daemons.stop(cloud.lab, name, first=signal.SIGKILL)
    servers.stop_rabbitmq(cloud)
    servers.stop_postgresql(cloud)
    shutil.rmtree(cloud.root, ignore_errors=True)
    for log in cloud.lab.logs.glob("openstack-*.log"):
        log.unlink()


def status(cloud: settings.Cloud) -> list[rows.Row]:
    """See :func:`novalab.openstack.status`."""
    found = []
    for name, port in _PROGRAMS.items():
        program = daemons.daemon(cloud.lab, name)
        address = "" if port is None else f"127.0.0.1:{cloud.lab.port(port)}"
        found.append(rows.Row(what=name, process=program.pid, address=address, log=program.log))
    postgresql = daemons.daemon(cloud.lab, "postgresql")
    reachable = postgresql.pid is not None and servers.allows_connections(cloud, settings.CELL_DATABASE)
    found.append(
        rows.Row(
            what=f"database of {settings.CELL}",
            process=postgresql.pid if reachable else None,
            address=f"127.0.0.1:{cloud.lab.port('postgresql')}/{settings.CELL_DATABASE}",
            log=postgresql.log,
        )
    )
    for name in settings.POD_PORTS:
        pod = _tolerant(functools.partial(_pod, cloud, name))
        found.append(
            rows.Row(
                what=f"pod of {name}",
                process=pod["metadata"]["name"] if cluster.condition(pod, "Ready") and pod is not None else None,
                address=cloud.public_url(name).removeprefix("http://"),
                log=_newest_log(cloud, pod) or "",
            )
        )
    return found


def _write_files(cloud: settings.Cloud) -> None:
    for folder in ("keystone", "placement", "glance", "nova/locks", *(f"images/{kind}" for kind in _IMAGE_FOLDERS)):
        (cloud.root / folder).mkdir(parents=True, exist_ok=True)
    cloud.lab.logs.mkdir(parents=True, exist_ok=True)
    paste = installation.environment_path() / "etc" / "glance" / "glance-api-paste.ini"
    files = {
        "keystone/keystone.conf": configuration.keystone(str(cloud.root / "keystone")),
        "placement/placement.conf": configuration.placement(cloud),
        "glance/glance-api.conf": configuration.glance(cloud, str(paste)),
        "nova/nova.conf": configuration.nova(cloud),
    }
    for name, text in files.items():
        (cloud.root / name).write_text(text)


_IMAGE_FOLDERS = ("store", "staging", "tasks", "locks")


def _prepare_databases(
    cloud: settings.Cloud,
    nova: launcher.NovaLauncher,
    pool: concurrent.futures.ThreadPoolExecutor,
    tell: progress.Part,
) -> None:
    """Fill the databases of a new lab. One that was interrupted on the way starts from empty ones again."""
    done = cloud.root / "databases-filled"
    if done.exists():
        servers.start_postgresql(cloud)
        servers.allow_connections(cloud, settings.CELL_DATABASE, allowed=True)
        return
    keystone = launcher.KeystoneSetup(cloud)
    servers.start_postgresql(cloud)
    servers.recreate_databases(cloud)
    tell("filling the databases: schemas, users, catalog, cells")
    filling = [pool.submit(keystone.finish), pool.submit(nova.make_databases)]
    for part in concurrent.futures.as_completed(filling):
        part.result()
    done.touch()


def _start_neighbours(cloud: settings.Cloud) -> None:
    """Start Glance and what stands in for Neutron."""
    lab = cloud.lab
    python = str(installation.environment_path() / "bin" / "python3")
    programs = settings.HERE / "programs"
    daemons.start(
        lab,
        "neutron",
        [python, str(programs / "serve.py"), "neutron", "127.0.0.1", str(lab.port("neutron"))],
        env=daemons.environment(lab, PYTHONPATH=str(programs)),
    )
    daemons.start(
        lab,
        "glance",
        [python, str(programs / "glance_api.py"), str(cloud.root / "glance"), "127.0.0.1", str(lab.port("glance"))],
        env=daemons.environment(
            lab,
            OS_DATABASE__CONNECTION=cloud.database_url("glance"),
            OS_KEYSTONE_AUTHTOKEN__PASSWORD=cloud.passwords.glance,
        ),
    )


def _wait_for_control_node(cloud: settings.Cloud, tell: progress.Part) -> cluster.Cluster:
    if not cloud.lab.kubeconfig.exists():
        tell("waiting for Kubernetes")
        cluster.wait("Kubernetes is there", cloud.lab.kubeconfig.exists, seconds=_CONTROL_PLANE_DEADLINE)
    kubernetes_cluster = cluster.Cluster(cloud.lab)
    control_node = functools.partial(kubernetes_cluster.get, "Node", labs.CONTROL_NODE)
    cluster.wait(
        f"node {labs.CONTROL_NODE} is Ready",
        lambda: cluster.condition(_tolerant(control_node), "Ready"),
        seconds=_CONTROL_PLANE_DEADLINE,
    )
    return kubernetes_cluster


def _apply(cloud: settings.Cloud, kubernetes_cluster: cluster.Cluster) -> None:
    api_paste = (installation.environment_path() / "etc" / "nova" / "api-paste.ini").read_text()
    for item in objects.all_objects(cloud, api_paste):
        kubernetes_cluster.apply(item)


def _wait_for_answer(cloud: settings.Cloud, application: str) -> None:
    try:
        cluster.wait(
            f"{application} answers at {cloud.public_url(application)}",
            functools.partial(answers, cloud, application),
            seconds=_PODS_DEADLINE,
        )
    except errors.LabError as error:
        log = _newest_log(cloud, _tolerant(functools.partial(_pod, cloud, application)))
        raise errors.LabError(str(error), log=log) from None


def _wait_for_rollout(kubernetes_cluster: cluster.Cluster, name: str) -> None:
    cluster.wait(
        f"the rollout of deployment {name}",
        lambda: cluster.is_rolled_out(kubernetes_cluster.get("Deployment", name)),
        seconds=_PODS_DEADLINE,
    )


def _publish(cloud: settings.Cloud, kubernetes_cluster: cluster.Cluster) -> None:
    """Say in the Nova resource that this Nova can be joined."""
    cluster.wait(
        "the API of Nova resources",
        lambda: cluster.condition(
            kubernetes_cluster.get("CustomResourceDefinition", "novas.nova.openstack.c5c3.io"), "Established"
        ),
        seconds=120,
    )
    kubernetes_cluster.apply(objects.nova_resource(cloud))
    kubernetes_cluster.set_status("Nova", settings.NOVA, objects.nova_status())


def _pod(cloud: settings.Cloud, application: str) -> objects.Object | None:
    return cluster.Cluster(cloud.lab).pod(application)


def _nova(cloud: settings.Cloud) -> objects.Object | None:
    return cluster.Cluster(cloud.lab).get("Nova", settings.NOVA)


def _newest_log(cloud: settings.Cloud, pod: objects.Object | None) -> pathlib.Path | None:
    """Where the node agent writes what the pod says."""
    if pod is None:
        return None
    folder = cloud.lab.logs / "pods" / f"{labs.NAMESPACE}_{pod['metadata']['name']}"
    return max(folder.glob("*.log"), key=lambda path: path.stat().st_mtime, default=None)


def _tolerant(read: Callable[[], objects.Object | None]) -> objects.Object | None:
    """What ``read`` finds, or None while there is no API server that could be asked."""
    try:
        return read()
    except (kubernetes.ApiException, config.ConfigException, urllib3.exceptions.HTTPError, OSError):
        return None
