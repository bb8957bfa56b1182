# SPDX-License-Identifier: Apache-2.0
"""What every controller is given: the two systems it speaks to, and the switches of this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from novalab.hypervisor_operator import cloud, cluster


class NotYetError(Exception):
    """What has to happen first has not; the object is looked at again with a growing delay."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """``interval``: how many seconds the operator's ten last here. ``ha``: whether an HA service answers for hosts.

    ``agent_namespaces``: where the pods live that have to be off a node before its service is deleted.
    """

    interval: float = 1.0
    ha: bool = False
    agent_namespaces: tuple[str, ...] = ("openstack",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """``say`` takes a line for the log."""

    cluster: cluster.Cluster
    cloud: cloud.Cloud
    options: Options
    say: Callable[[str], None] = print
