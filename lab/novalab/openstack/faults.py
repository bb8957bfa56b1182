# SPDX-License-Identifier: Apache-2.0
"""Makes trouble on purpose: parts of OpenStack that a test stops in the middle of something, and starts again.

Each call returns when the part has stopped, or answers again. ``lab/lab.py up`` ends every trouble too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from novalab import errors
from novalab import lab as labs
from novalab.openstack import bringup, cluster, daemons, launcher, servers, settings

_DEADLINE = 60.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """A part that can be stopped. ``felt`` says what others notice."""

    felt: str
    stop: Callable[[settings.Cloud], None]
    start: Callable[[settings.Cloud], None]
    is_stopped: Callable[[settings.Cloud], bool]


def stop(lab: labs.Lab, name: str) -> None:
    """Stop the part ``name`` of :data:`PARTS`. Raises LabError for another name."""
    _part(name).stop(settings.Cloud(lab))


def start(lab: labs.Lab, name: str) -> None:
    """Start the part ``name`` of :data:`PARTS` again. Raises LabError for another name."""
    _part(name).start(settings.Cloud(lab))


def stopped(lab: labs.Lab) -> list[str]:
    """The names of the parts that are stopped now."""
    cloud = settings.Cloud(lab)
    return [name for name, part in PARTS.items() if part.is_stopped(cloud)]


def _part(name: str) -> Part:
    if name not in PARTS:
        raise errors.LabError(f"{name!r} is nothing that can be stopped: choose one of {', '.join(PARTS)}")
    return PARTS[name]


def _deployment(name: str, felt: str) -> Part:
    """A part that is the one pod of a Deployment."""

    def stop_pod(cloud: settings.Cloud) -> None:
        kubernetes = cluster.Cluster(cloud.lab)
        kubernetes.scale(name, 0)
        cluster.wait(f"the pod of {name} ends", lambda: kubernetes.pod(name) is None, seconds=_DEADLINE)

    def start_pod(cloud: settings.Cloud) -> None:
        kubernetes = cluster.Cluster(cloud.lab)
        kubernetes.scale(name, 1)
        cluster.wait(
            f"the rollout of deployment {name}",
            lambda: cluster.is_rolled_out(kubernetes.get("Deployment", name)) and bringup.answers(cloud, name),
            seconds=_DEADLINE,
        )

    return Part(felt=felt, stop=stop_pod, start=start_pod, is_stopped=lambda cloud: not bringup.answers(cloud, name))


def _service(name: str, felt: str) -> Part:
    """A part that is one of Nova's services on the machine."""

    def start_service(cloud: settings.Cloud) -> None:
        if daemons.daemon(cloud.lab, name).pid is None:
            with launcher.NovaLauncher(cloud) as nova:
                nova.start(name)
                nova.wait_for_conductor()

    return Part(
        felt=felt,
        stop=lambda cloud: daemons.stop(cloud.lab, name),
        start=start_service,
        is_stopped=lambda cloud: daemons.daemon(cloud.lab, name).pid is None,
    )


PARTS = {
    "nova-api": _deployment(settings.NOVA, "Nova's Service has no endpoint: 503 from the service proxy"),
    "keystone": _deployment(
        "keystone", "no new tokens, and none is checked: Nova answers 503 to those it does not know"
    ),
    "placement": _deployment("placement", "no traits, no new servers, and a deleted service keeps its provider"),
    "conductor": _service(
        "conductor", "computes cannot report: they show as down after 12 s, and up to a minute longer than it lasts"
    ),
    "scheduler": _service("scheduler", "new servers stay in BUILD"),
    "cell": Part(
        felt="the cell's database refuses connections: Nova lists its services as UNKNOWN from 2.69 on",
        stop=lambda cloud: servers.allow_connections(cloud, settings.CELL_DATABASE, allowed=False),
        start=lambda cloud: servers.allow_connections(cloud, settings.CELL_DATABASE, allowed=True),
        is_stopped=lambda cloud: not servers.allows_connections(cloud, settings.CELL_DATABASE),
    ),
}
