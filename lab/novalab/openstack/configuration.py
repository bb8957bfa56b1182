# SPDX-License-Identifier: Apache-2.0
"""The configuration files of the lab's OpenStack, without a secret in any of them.

Secrets reach every program through oslo.config's own environment variables (``OS_<SECTION>__<OPTION>``), as they do
in the clusters the product is made for. So one nova.conf serves the programs on the machine, the API's pod and the
host discovery Job that is derived from it.

What differs from Nova's defaults is listed here with its reason, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping

from novalab import lab as labs
from novalab.openstack import settings

Ini = Mapping[str, Mapping[str, str]]

#: The sections of nova.conf and of the compute contract that log in as the user nova.
NOVA_PASSWORD_SECTIONS = ("keystone_authtoken", "service_user", "placement", "neutron", "cinder")

#: A compute that starts shows as up within 3 s. One that stops shows as down after Nova's own minute: on a busy machine
#: a restarted one takes tens of seconds to report again.
_HEARTBEAT = {"report_interval": "3", "service_down_time": "60"}
#: Nova waits up to three minutes for running operations when it is told to end; the lab ends programs all the time.
_QUICK_END = {"graceful_shutdown_timeout": "2", "manager_shutdown_timeout": "1"}


def render(ini: Ini) -> str:
    """The text of an INI file, sections and options in the order given."""
    return "\n".join(
        f"[{section}]\n" + "".join(f"{option} = {value}\n" for option, value in options.items())
        for section, options in ini.items()
    )


def nova(cloud: settings.Cloud) -> str:
    """nova.conf of the API, the conductor, the scheduler and nova-manage."""
    return render(
        {
            "DEFAULT": {"state_path": "/var/lib/nova", **_HEARTBEAT, **_QUICK_END},
            "oslo_concurrency": {"lock_path": "/tmp"},
            # One worker each is enough for a few nodes; the default is one per core.
            "conductor": {"workers": "1"},
            "scheduler": {"workers": "1"},
            # The default of ten servers a project would stop a test that boots more.
            "quota": {"instances": "-1", "cores": "-1", "ram": "-1"},
            **_nova_clients(cloud),
        }
    )


def compute_fragment(cloud: settings.Cloud) -> str:
    """nova-compute.conf of the compute contract.

    It has no host, my_ip, state_path, lock_path, transport_url or password: those belong to the pool and its node.
    """
    return render({"DEFAULT": {**_HEARTBEAT, **_QUICK_END}, **_nova_clients(cloud)})


def keystone(keys: str) -> str:
    """keystone.conf with its two key repositories below the folder ``keys``."""
    return render(
        {
            "token": {"provider": "fernet", "expiration": "86400"},
            "fernet_tokens": {"key_repository": f"{keys}/fernet"},
            "fernet_receipts": {"key_repository": f"{keys}/fernet"},
            "credential": {"key_repository": f"{keys}/credential"},
            # A quarter of a second for each password stored or checked is the default's price for attackers.
            "identity": {"password_hash_rounds": "4"},
            "cache": {"enabled": "true", "backend": "oslo_cache.dict"},
        }
    )


def placement(cloud: settings.Cloud) -> str:
    return render(
        {"api": {"auth_strategy": "keystone"}, "keystone_authtoken": _login(cloud, "placement", middleware=True)}
    )


def glance(cloud: settings.Cloud, paste: str) -> str:
    """glance-api.conf; ``paste`` is the file of its request pipeline."""
    files = cloud.root / "images"
    return render(
        {
            "DEFAULT": {"enabled_backends": "lab:file"},
            "glance_store": {"default_backend": "lab"},
            "lab": {"filesystem_store_datadir": f"{files}/store"},
            "os_glance_staging_store": {"filesystem_store_datadir": f"{files}/staging"},
            "os_glance_tasks_store": {"filesystem_store_datadir": f"{files}/tasks"},
            "oslo_concurrency": {"lock_path": f"{files}/locks"},
            "paste_deploy": {"flavor": "keystone", "config_file": paste},
            "keystone_authtoken": _login(cloud, "glance", middleware=True),
        }
    )


def nova_environment(cloud: settings.Cloud) -> dict[str, str]:
    """The secrets of nova.conf, for a program on the machine."""
    return {
        "OS_DEFAULT__TRANSPORT_URL": cloud.transport_url,
        "OS_DATABASE__CONNECTION": cloud.database_url(settings.CELL_DATABASE),
        "OS_API_DATABASE__CONNECTION": cloud.database_url("nova_api"),
        **{password_variable(section): cloud.passwords.nova for section in NOVA_PASSWORD_SECTIONS},
        # Folders of a pod in the file; these are the machine's.
        "OS_DEFAULT__HOST": labs.CONTROL_NODE,
        "OS_DEFAULT__STATE_PATH": str(cloud.root / "nova"),
        "OS_OSLO_CONCURRENCY__LOCK_PATH": str(cloud.root / "nova" / "locks"),
        # nova-manage alone still defaults to eventlet, which would patch the process that its forked siblings share.
        "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1",
    }


def password_variable(section: str) -> str:
    """The environment variable of a section's password."""
    return f"OS_{section.upper()}__PASSWORD"


def _nova_clients(cloud: settings.Cloud) -> dict[str, dict[str, str]]:
    """The sections by which Nova reaches its neighbours.

    The catalog's internal URLs name Services that do not resolve on this machine, so each address is written down.
    """
    return {
        "keystone_authtoken": _login(cloud, "nova", middleware=True),
        "service_user": {"send_service_user_token": "true", **_login(cloud, "nova")},
        "placement": {**_login(cloud, "nova"), "endpoint_override": cloud.public_url("placement")},
        "neutron": {**_login(cloud, "nova"), "endpoint_override": cloud.public_url("neutron")},
        "glance": {"endpoint_override": cloud.public_url("glance")},
        # No Cinder runs here. The section is that of the contract, whose password a pool hands to it.
        "cinder": _login(cloud, "nova"),
    }


def _login(cloud: settings.Cloud, user: str, *, middleware: bool = False) -> dict[str, str]:
    keystone_url = cloud.public_url("keystone") + "/v3"
    return {
        # A token is checked at an address from the catalog, where only the public one resolves on this machine.
        **({"www_authenticate_uri": keystone_url, "interface": "public"} if middleware else {}),
        "auth_type": "password",
        "auth_url": keystone_url,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "project_name": "service",
        "username": user,
        "region_name": settings.REGION,
    }
