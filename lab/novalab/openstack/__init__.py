# SPDX-License-Identifier: Apache-2.0
"""The OpenStack half of the lab: real Keystone, Placement, Nova and Glance, and what Nova needs of Neutron.

Databases, broker, conductor, scheduler and Glance are programs on the machine; Keystone, Placement and Nova's API are
pods of the lab's control node, because the operator reaches them by their Services.
"""

from __future__ import annotations

import pathlib

from novalab import lab as labs
from novalab import progress, rows
from novalab.openstack import installation, settings


def bin_dir() -> pathlib.Path:
    """The folder of nova-compute, nova-manage, openstack and their python3. It exists after :func:`install`."""
    return installation.environment_path() / "bin"


def install(tell: progress.Part) -> None:
    """Install what is missing: the OpenStack environment and the Debian packages. Raises LabError."""
    installation.install(tell)


def up(lab: labs.Lab, tell: progress.Part) -> None:
    """Start what does not run and return when a compute can join. Raises LabError.

    May be called while the control plane still starts: it waits for the kubeconfig and the control node when it comes
    to the pods.
    """
    from novalab.openstack import bringup

    bringup.up(settings.Cloud(lab), tell)


def down(lab: labs.Lab) -> None:
    """End every program and remove its files. Objects go too where the cluster is not the lab's own."""
    from novalab.openstack import bringup

    bringup.down(settings.Cloud(lab))


def status(lab: labs.Lab) -> list[rows.Row]:
    """What runs where, in the order in which it is started."""
    from novalab.openstack import bringup

    return bringup.status(settings.Cloud(lab))


def environment(lab: labs.Lab) -> dict[str, str]:
    """The variables with which ``openstack`` is the lab's administrator."""
    cloud = settings.Cloud(lab)
    return {
        "OS_AUTH_URL": cloud.public_url("keystone") + "/v3",
        "OS_USERNAME": "admin",
        "OS_PASSWORD": cloud.passwords.admin,
        "OS_PROJECT_NAME": "admin",
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": settings.REGION,
        "OS_INTERFACE": "public",
        "OS_IDENTITY_API_VERSION": "3",
    }
