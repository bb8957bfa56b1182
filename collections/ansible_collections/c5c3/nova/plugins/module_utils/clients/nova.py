# SPDX-License-Identifier: Apache-2.0
"""Nova's API as far as a pool needs it: compute services, the servers and hypervisors of a host, aggregates.

Which microversion a call is made at is part of what it means, so each is named here once. Below 2.69 a cell that does
not answer is silently left out of the service list, and its hosts would read as unregistered and empty. Lists go on
by the marker until an empty page: Nova drops rows after it has cut a page, so a short page, and a missing link, end
nothing.
"""

from __future__ import annotations

import base64
import collections
import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from ansible_collections.c5c3.nova.plugins.module_utils import absent
from ansible_collections.c5c3.nova.plugins.module_utils.clients import (
    errors,
    keystone,
    kubernetes,
    placement,
    service_proxy,
    target_clusters,
)

try:
    import requests
except ImportError:
    requests = absent.library("requests")

MICROVERSION: Final = ("compute", "2.53")
SERVICES_MICROVERSION: Final = ("compute", "2.69")
HYPERVISORS_MICROVERSION: Final = ("compute", "2.88")
MIGRATIONS_MICROVERSION: Final = ("compute", "2.59")
"""The first that sorts migrations, newest first, and cuts them into pages."""

BINARY: Final = "nova-compute"
PAGE_SIZE: Final = 500
REACH_VARIABLE: Final = "NOVA_COMPUTE_REACH"

Reach = Literal["direct", "proxy"]
Row = dict[str, Any]

_OK: Final = frozenset({200})
_SERVICE_FIELDS: Final = ("host", "id", "status", "state", "zone")
_IDENTIFYING: Final = (
    "namespace",
    "name",
    "keystone_endpoint",
    "compute_endpoint",
    "username",
    "project_name",
    "user_domain_name",
    "project_domain_name",
)
_SESSIONS: Final = 16
_sessions: collections.OrderedDict[tuple[Any, ...], Nova] = collections.OrderedDict()


class PlacementEndpointNotFound(LookupError):  # noqa: N818 - the reason of the condition that it becomes
    """The Nova overrides no Placement address, and the catalog lists no internal one in its region."""


class Nova:
    """One Nova, as its service user. Every method raises `errors.CallError` for an answer that it does not name."""

    def __init__(self, identity: keystone.Identity, endpoint: str) -> None:
        self._identity = identity
        self._endpoint = endpoint.rstrip("/")

    def authenticate(self) -> None:
        """Ask Keystone for the token unless there is one already."""
        self._identity.authenticate()

    def token_data(self) -> Row:
        """Return who the token stands for: `{user, project, roles, expires_at}`."""
        return self._identity.token_data()

    # --- compute services

    def list_services(self) -> list[Row]:
        """Return the nova-compute services as `{host, id, status, state, disabled_reason, zone}`, hosts as Nova
        spells them.

        Raises `errors.CallError` with status 200 when a cell did not answer: then no row, and no absence of one, can be
        relied on.
        """
        rows = self._list("/os-services", "services", SERVICES_MICROVERSION, {"binary": BINARY})
        silent = sorted({str(row.get("host")) for row in rows if not _is_known(row)})
        if silent:
            raise errors.CallError(
                system="nova",
                call=self._name("GET", "/os-services"),
                status=200,
                detail=f"a cell did not answer: hosts {', '.join(silent)}",
            )
        return [_service(row) for row in rows if row.get("binary") == BINARY]

    def disable_service(self, service_id: str, reason: str) -> Row:
        """Return the service after it was disabled with the reason; one that is gone is an error with status 404."""
        body = {"status": "disabled", "disabled_reason": reason}
        answer = self._call("PUT", f"/os-services/{service_id}", accept=_OK, body=body)
        return _service(answer.body.get("service") or {})

    def delete_service(self, service_id: str) -> Literal["deleted", "gone", "refused"]:
        """Return what became of the service: deleted, gone before (404), or kept for the servers on its host (409)."""
        status = self._call("DELETE", f"/os-services/{service_id}", accept=frozenset({204, 404, 409})).status
        if status == 204:
            return "deleted"
        return "gone" if status == 404 else "refused"

    # --- what is on the hosts

    def count_servers(self, host: str) -> int:
        """Return how many servers of all projects Nova places on the host; deleted ones do not count.

        A cell that does not answer is left out by Nova, so zero means empty only beside a complete service list. A
        server that its owner deleted and may still restore counts: Nova keeps it on the host, and refuses to delete a
        compute service that has one.
        """
        return len({str(server["id"]) for server in self._servers("/servers", host)})

    def list_servers(self, host: str) -> list[Row]:
        """Return the servers that `count_servers` counts, as `{id, name, status, task_state, project}`."""
        found = {str(server["id"]): server for server in self._servers("/servers/detail", host)}
        return [
            {
                "id": server_id,
                "name": row.get("name"),
                "status": row.get("status"),
                "task_state": row.get("OS-EXT-STS:task_state"),
                "project": row.get("tenant_id"),
            }
            for server_id, row in found.items()
        ]

    def list_migrations_from(self, host: str) -> list[Row]:
        """Return the migrations away from the host, newest first and at most one page of them.

        Each is `{id, server, type, status, target, created_at, updated_at}`; `target` is None until a host is chosen.
        """
        query = {"host": host, "limit": str(PAGE_SIZE)}
        rows = self._list("/os-migrations", "migrations", MIGRATIONS_MICROVERSION, query)
        return [_migration(row) for row in rows if row.get("source_compute") == host]

    def _servers(self, path: str, host: str) -> Iterator[Row]:
        marker: dict[str, str] = {}
        while True:
            query = {"all_tenants": "1", "soft_deleted": "true", "host": host, "limit": str(PAGE_SIZE), **marker}
            page = self._list(path, "servers", MICROVERSION, query)
            yield from page
            if not page or marker == {"marker": page[-1]["id"]}:
                return
            marker = {"marker": page[-1]["id"]}

    def mapped_hosts(self) -> set[str]:
        """Return the hosts that are mapped into their cell: only those have their hypervisor listed."""
        hosts: set[str] = set()
        marker: dict[str, str] = {}
        while True:
            query = {"limit": str(PAGE_SIZE), **marker}
            page = self._list("/os-hypervisors/detail", "hypervisors", HYPERVISORS_MICROVERSION, query)
            hosts.update(_host_of(hypervisor) for hypervisor in page)
            if not page or marker == {"marker": page[-1]["id"]}:
                return hosts
            marker = {"marker": page[-1]["id"]}

    # --- aggregates

    def list_aggregates(self) -> list[Row]:
        """Return every aggregate as `{id, name, availability_zone, hosts, metadata}`."""
        return [_aggregate(row) for row in self._list("/os-aggregates", "aggregates", MICROVERSION, {})]

    def create_aggregate(self, name: str, zone: str | None) -> Row:
        """Return the new, unmarked aggregate; one of that name already there is an error with status 409."""
        wanted: Row = {"name": name} if zone is None else {"name": name, "availability_zone": zone}
        answer = self._call("POST", "/os-aggregates", accept=_OK, body={"aggregate": wanted})
        return _aggregate(answer.body.get("aggregate") or {})

    def set_aggregate_metadata(self, aggregate_id: int, metadata: Mapping[str, str | None]) -> Row:
        """Return the aggregate after these keys were set; a key whose value is None is removed, others stay."""
        body = {"set_metadata": {"metadata": dict(metadata)}}
        answer = self._call("POST", f"/os-aggregates/{aggregate_id}/action", accept=_OK, body=body)
        return _aggregate(answer.body.get("aggregate") or {})

    def rename_aggregate(self, aggregate_id: int, name: str) -> Row:
        """Return the aggregate under its new name; another one of that name is an error with status 409."""
        body = {"aggregate": {"name": name}}
        answer = self._call("PUT", f"/os-aggregates/{aggregate_id}", accept=_OK, body=body)
        return _aggregate(answer.body.get("aggregate") or {})

    def delete_aggregate(self, aggregate_id: int) -> bool:
        """Return whether this call deleted it, not somebody before; one with hosts is an error with status 400."""
        return self._call("DELETE", f"/os-aggregates/{aggregate_id}", accept=frozenset({200, 404})).status == 200

    # --- Placement

    def placement(self, region: str | None, override: str | None) -> placement.Placement:
        """Return the Placement that the Nova itself uses: the address that it overrides, else the catalog's internal
        one.

        Raises `PlacementEndpointNotFound` when there is neither.
        """
        endpoint = override or self._identity.endpoint("placement", region=region, interface="internal")
        if not endpoint:
            where = f"in region {region}" if region else "in any region"
            raise PlacementEndpointNotFound(
                f"the catalog lists no internal endpoint of the service type placement {where}; "
                "register one, or set spec.endpoints.placement.override of the Nova"
            )
        return placement.Placement(self._identity, endpoint)

    # --- the calls themselves

    def _list(self, path: str, key: str, microversion: tuple[str, str], query: Mapping[str, str]) -> list[Row]:
        return self._call("GET", path, accept=_OK, microversion=microversion, query=query).rows(key)

    def _call(
        self,
        method: str,
        path: str,
        *,
        accept: frozenset[int],
        microversion: tuple[str, str] = MICROVERSION,
        body: Row | None = None,
        query: Mapping[str, str] | None = None,
    ) -> keystone.Answer:
        return self._identity.call(
            method,
            self._endpoint + path,
            system="nova",
            microversion=microversion,
            accept=accept,
            body=body,
            query=query,
        )

    def _name(self, method: str, path: str) -> str:
        return keystone.call_name(method, self._endpoint + path)


def open_nova_from_cluster(cluster: kubernetes.Cluster, nova: Mapping[str, Any]) -> Nova:
    """Return the Nova, with the password that the cluster's Secret `nova["secret"]` holds (see `open_nova`).

    A Nova on a target cluster, `nova["target"]`, is reached there.
    """
    reference = nova["secret"]
    secret = cluster.get("Secret", reference["name"], nova["namespace"])
    encoded = (secret.get("data") or {}).get(reference["key"])
    try:
        password = base64.b64decode(encoded or "").decode()
    except ValueError:
        password = ""
    if not password:
        path = kubernetes.RESOURCES["Secret"].path(nova["namespace"], reference["name"])
        raise errors.CallError(
            system="kubernetes",
            call=f"GET {path}",
            status=200,
            detail=f"the key {reference['key']} is absent or empty, so there is no password for the service user",
        )
    at = target_clusters.cluster_at(cluster, nova["target"])
    return open_nova(at, nova, password, placed=at is not cluster)


def open_placement(cluster: kubernetes.Cluster, nova: Mapping[str, Any]) -> placement.Placement:
    """Return the Placement of the resolved `nova`.

    The token is there when this returns, so what fails later is Placement's. Raises `errors.CallError`, of the kind
    PlacementEndpoint when neither the Nova nor the catalog names an address.
    """
    return placement_of(open_nova_from_cluster(cluster, nova), nova)


def placement_of(opened: Nova, nova: Mapping[str, Any]) -> placement.Placement:
    """Return the Placement of the resolved `nova` that is open already; see `open_placement`."""
    opened.authenticate()
    try:
        return opened.placement(nova["region"], nova["placement_override"])
    except PlacementEndpointNotFound as error:
        raise errors.CallError(
            system="placement", call="the token's catalog", detail=str(error), kind="PlacementEndpoint"
        ) from error


def open_nova(cluster: kubernetes.Cluster, nova: Mapping[str, Any], password: str, *, placed: bool = False) -> Nova:
    """Return the Nova of a resolved reference; nothing is sent yet.

    `nova` is `{namespace, name, keystone_endpoint, compute_endpoint, username, project_name, user_domain_name,
    project_domain_name, ...}`, the endpoints as Service addresses of `cluster`. One session, and so one token, serves
    every caller in this process. A `placed` Nova lives on a target cluster: its Services are reached through the
    proxy there, whatever reaches those of this cluster.
    """
    digest = hashlib.sha256(password.encode()).hexdigest()
    key = (
        os.getpid(),
        # Not its address: the same cluster with other credentials is another connection.
        cluster.server,
        placed,
        "proxy" if placed else reach(cluster),
        digest,
        *(nova[part] for part in _IDENTIFYING),
    )
    if key not in _sessions:
        while len(_sessions) >= _SESSIONS:
            _sessions.popitem(last=False)
        identity = keystone.Identity(
            _placed_transport(cluster, nova["keystone_endpoint"]) if placed else _transport(cluster),
            endpoint=nova["keystone_endpoint"],
            username=nova["username"],
            password=password,
            project_name=nova["project_name"],
            user_domain_name=nova["user_domain_name"],
            project_domain_name=nova["project_domain_name"],
        )
        _sessions[key] = Nova(identity, nova["compute_endpoint"])
    return _sessions[key]


def reach(cluster: kubernetes.Cluster) -> Reach:
    """Return how Services are reached: directly from a pod of the cluster, else through its API server.

    The environment variable NOVA_COMPUTE_REACH (`direct` or `proxy`) decides otherwise.
    """
    chosen = os.environ.get(REACH_VARIABLE, "")
    if chosen == "direct" or (not chosen and cluster.in_cluster):
        return "direct"
    if chosen in {"", "proxy"}:
        return "proxy"
    message = f"{REACH_VARIABLE} is {chosen!r}, but has to be direct, proxy or unset"
    raise ValueError(message)


def _transport(cluster: kubernetes.Cluster) -> requests.Session:
    if reach(cluster) == "proxy":
        return _session(service_proxy.ProxyAdapter(cluster.server, refuse_other_hosts=False))
    return _session(service_proxy.DirectAdapter())


def _placed_transport(cluster: kubernetes.Cluster, keystone_endpoint: str) -> requests.Session:
    """Reaches Services of the target cluster, and the Keystone that the Nova names, which may live elsewhere."""
    transport = _session(service_proxy.ProxyAdapter(cluster.server, refuse_other_hosts=True))
    if service_proxy.service_of(keystone_endpoint) is None:
        # The longest prefix decides; the slash keeps it from being that of another host or path.
        transport.mount(f"{keystone_endpoint.rstrip('/')}/", service_proxy.DirectAdapter())
    return transport


def _session(adapter: requests.adapters.BaseAdapter) -> requests.Session:
    transport = requests.Session()
    for scheme in ("http://", "https://"):
        transport.mount(scheme, adapter)
    return transport


def _is_known(row: Row) -> bool:
    return row.get("status") != "UNKNOWN" and all(row.get(field) is not None for field in _SERVICE_FIELDS)


def _service(row: Row) -> Row:
    return {**{field: row.get(field) for field in _SERVICE_FIELDS}, "disabled_reason": row.get("disabled_reason")}


def _migration(row: Row) -> Row:
    return {
        "id": row.get("uuid"),
        "server": row.get("instance_uuid"),
        "type": row.get("migration_type"),
        "status": row.get("status"),
        "target": row.get("dest_compute"),
        "created_at": row.get("created_at"),
        "updated_at": row.get("updated_at"),
    }


def _aggregate(row: Row) -> Row:
    """Return an aggregate in one shape: the answer to its creation has neither hosts nor metadata."""
    zone = row.get("availability_zone")
    metadata = row.get("metadata")
    if metadata is None:
        metadata = {"availability_zone": zone} if zone else {}
    return {
        "id": row.get("id"),
        "name": row.get("name"),
        "availability_zone": zone,
        "hosts": list(row.get("hosts") or ()),
        "metadata": dict(metadata),
    }


def _host_of(hypervisor: Row) -> str:
    host = (hypervisor.get("service") or {}).get("host")
    if not host:
        raise errors.CallError(
            system="nova",
            call="GET /os-hypervisors/detail",
            status=200,
            detail=f"the hypervisor {hypervisor.get('id')} names no host",
        )
    return str(host)
