# SPDX-License-Identifier: Apache-2.0
"""A cluster and a cloud in memory, with the refusals of the real ones that the controllers have to live with."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubernetes import client as kubernetes
from novalab.hypervisor_operator import cloud, conditions, names, nodes, world

Object = dict[str, Any]

HOST = "host-1"
HYPERVISOR, SERVICE = "hypervisor-1", "service-1"
ZONE = "az1"


def node(name: str = HOST, *, labels: Mapping[str, str] | None = None) -> Object:
    """A Node that is labelled for the operator, in a zone, with its tests to be skipped."""
    own = {
        names.HOSTNAME: name,
        names.ZONE: ZONE,
        names.VIRT_DRIVER: "kvm",
        names.LIFECYCLE: names.SKIP_TESTS,
        **(labels or {}),
    }
    metadata = {"name": name, "uid": f"uid-{name}", "labels": own, "annotations": {}}
    addresses = [{"type": "InternalIP", "address": "192.0.2.1"}]
    return {"kind": "Node", "metadata": metadata, "spec": {}, "status": {"conditions": [], "addresses": addresses}}


def pod(name: str, *tolerations: Object, phase: str = "Running", deleting: bool = False) -> Object:
    """A pod that is bound to the host."""
    metadata: Object = {"name": name, "namespace": "openstack"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"tolerations": list(tolerations)}, "status": {"phase": phase}}


class Cluster:
    """Objects by kind and name. ``written`` lists the writes."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], Object] = {}
        self._versions = itertools.count(1)
        self.pods: list[Object] = []
        self.written: list[tuple[str, str]] = []

    def all(self, kind: str) -> list[Object]:
        return [copy.deepcopy(item) for (found, _), item in self._objects.items() if found == kind]

    def get(self, kind: str, name: str) -> Object | None:
        return copy.deepcopy(self._objects.get((kind, name)))

    def create(self, item: Object) -> None:
        self.written.append(("create", item["kind"]))
        self.put(item)

    def put(self, item: Object) -> None:
        """Store the object as it is, whatever it is based on."""
        made = copy.deepcopy(item)
        made["metadata"].setdefault("uid", f"uid-{made['metadata']['name']}")
        made["metadata"]["resourceVersion"] = str(next(self._versions))
        generation = made["metadata"].get("generation", 0)
        made["metadata"]["generation"] = generation or 1
        self._objects[made["kind"], made["metadata"]["name"]] = made

    def delete(self, kind: str, name: str) -> None:
        self.written.append(("delete", kind))
        self._objects.pop((kind, name), None)

    def patch(self, item: Object, body: Mapping[str, Any]) -> None:
        stored = self._stored(item)
        self.written.append(("patch", item["kind"]))
        if "spec" in body and self.is_refused(stored, body["spec"]):
            raise kubernetes.ApiException(status=422, reason="Invalid")
        self.put(_merged(stored, body))

    def write_status(self, item: Object, status: Mapping[str, Any]) -> None:
        stored = self._stored(item)
        if (stored.get("status") or {}) != status:
            self.written.append(("status", item["kind"]))
            self.put({**stored, "status": dict(status)})

    def pods_on(self, node: str, namespace: str) -> Iterator[Object]:
        yield from (each for each in self.pods if each["metadata"]["namespace"] == namespace)

    @staticmethod
    def is_refused(stored: Object, changes: Mapping[str, Any]) -> bool:
        """The rule of the CRD about termination."""
        return stored["kind"] == "Hypervisor" and stored["spec"].get("maintenance") == names.TERMINATION

    def _stored(self, item: Object) -> Object:
        stored = self._objects[item["kind"], item["metadata"]["name"]]
        if stored["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            raise kubernetes.ApiException(status=409, reason="Conflict")
        return copy.deepcopy(stored)


class Cloud:
    """Nova and Placement. ``calls`` is what was asked of them, ``refusals`` maps a call to its HTTP status."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.refusals: dict[str, int] = {}
        self.rows: list[Object] = [{"id": HYPERVISOR, "hypervisor_hostname": HOST, "service": {"id": SERVICE}}]
        self.services: dict[str, Object] = {SERVICE: {"status": "enabled", "disabled_reason": None}}
        self.servers: dict[str, Object] = {}
        self.hosts_of: dict[str, list[str]] = {ZONE: [], names.TEST_AGGREGATE: []}
        self.traits = ["COMPUTE_NODE"]
        self.trait_names = {"COMPUTE_NODE"}
        self.generation = 7
        self.consumers: dict[str, Object] = {}

    def asked(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of that name."""
        return [call[1:] for call in self.calls if call[0] == name]

    def enable_service(self, service: str) -> None:
        self._note("enable_service", service)
        self._service(service).update(status="enabled", disabled_reason=None)

    def disable_service(self, service: str, reason: str) -> None:
        self._note("disable_service", service, reason)
        self._service(service).update(status="disabled", disabled_reason=reason)

    def delete_service(self, service: str) -> None:
        self._note("delete_service", service)
        self.services.pop(service, None)

    def hypervisors(self, pattern: str) -> list[Object]:
        self._note("hypervisors", pattern)
        return [row for row in self.rows if pattern in row["hypervisor_hostname"]]

    def servers_of(self, hypervisor: str) -> list[str] | None:
        self._note("servers_of", hypervisor)
        hosts = [row["hypervisor_hostname"] for row in self.rows if row["id"] == hypervisor]
        if not hosts:
            return None
        return [name for name, row in self.servers.items() if row["OS-EXT-SRV-ATTR:hypervisor_hostname"] in hosts]

    def server(self, server: str) -> Object | None:
        self._note("server", server)
        return copy.deepcopy(self.servers.get(server))

    def live_migrate(self, server: str) -> None:
        self._note("live_migrate", server)
        self.servers[server]["status"] = "MIGRATING"

    def cold_migrate(self, server: str) -> None:
        self._note("cold_migrate", server)
        self.servers[server]["status"] = "RESIZE"

    def confirm_resize(self, server: str) -> None:
        self._note("confirm_resize", server)

    def aggregates(self) -> list[Object]:
        self._note("aggregates")
        return [
            {"id": index, "uuid": f"uuid-{name}", "name": name, "hosts": list(hosts), "metadata": {"of": name}}
            for index, (name, hosts) in enumerate(self.hosts_of.items())
        ]

    def add_host(self, aggregate: int, host: str) -> None:
        name = list(self.hosts_of)[aggregate]
        self._note("add_host", name, host)
        if host in self.hosts_of[name]:
            raise cloud.CloudError("add_host", 409, "already there")
        self.hosts_of[name].append(host)

    def remove_host(self, aggregate: int, host: str) -> None:
        name = list(self.hosts_of)[aggregate]
        self._note("remove_host", name, host)
        self.hosts_of[name].remove(host)

    def provider_traits(self, provider: str) -> cloud.ProviderTraits:
        self._note("provider_traits", provider)
        return cloud.ProviderTraits(traits=list(self.traits), generation=self.generation)

    def set_provider_traits(self, provider: str, traits: Sequence[str] | None, generation: int) -> None:
        self._note("set_provider_traits", provider, traits, generation)
        if traits is None:
            raise cloud.CloudError("PUT traits", 400, "None is not of type 'array'")
        unknown = set(traits) - self.trait_names
        if unknown:
            raise cloud.CloudError("PUT traits", 400, f"No such trait(s): {', '.join(sorted(unknown))}.")
        if generation != self.generation:
            raise cloud.CloudError("PUT traits", 409, "resource provider generation conflict")
        self.traits, self.generation = list(traits), generation + 1

    def consumers_of(self, provider: str) -> dict[str, Object]:
        self._note("consumers_of", provider)
        return dict(self.consumers)

    def drop_consumer(self, consumer: str) -> None:
        self._note("drop_consumer", consumer)
        del self.consumers[consumer]

    def delete_provider(self, provider: str) -> None:
        self._note("delete_provider", provider)

    def _note(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, *arguments))
        if name in self.refusals:
            raise cloud.CloudError(name, self.refusals[name], "refused")

    def _service(self, service: str) -> Object:
        if service not in self.services:
            raise cloud.CloudError("PUT service", 404, "no such service")
        return self.services[service]


@dataclasses.dataclass
class Site:
    """One host, seen from all sides."""

    cluster: Cluster = dataclasses.field(default_factory=Cluster)
    cloud: Cloud = dataclasses.field(default_factory=Cloud)
    options: world.Options = dataclasses.field(default_factory=world.Options)
    said: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster.put(node())
        self.cluster.put({**nodes.new_hypervisor(node()), "status": {"numInstances": 0}})

    @property
    def world(self) -> world.World:
        return world.World(
            cluster=self.cluster,  # type: ignore[arg-type]
            cloud=self.cloud,  # type: ignore[arg-type]
            options=self.options,
            say=self.said.append,
        )

    @property
    def node(self) -> Object:
        found = self.cluster.get("Node", HOST)
        assert found is not None
        return found

    @property
    def hypervisor(self) -> Object:
        found = self.cluster.get("Hypervisor", HOST)
        assert found is not None
        return found

    @property
    def status(self) -> Object:
        return self.hypervisor.get("status") or {}

    def reads(self, kind: str) -> str:
        """``Status Reason`` of a condition of the Hypervisor; empty without it."""
        found = conditions.find(self.status, kind)
        return f"{found['status']} {found['reason']}" if found else ""

    def spec(self, **fields: Any) -> None:
        """Set fields of the Hypervisor's spec, as if its rules had let them pass."""
        item = self.hypervisor
        item["spec"].update(fields)
        self.cluster.put(item)

    def registered(self, **fields: Any) -> None:
        """Give the Hypervisor its ids and further fields of its status."""
        item = self.hypervisor
        item["status"] |= {"hypervisorId": HYPERVISOR, "serviceId": SERVICE, **fields}
        self.cluster.put(item)

    def condition(self, kind: str, value: str, reason: str, message: str = "") -> None:
        """Set a condition of the Hypervisor."""
        item = self.hypervisor
        conditions.put(item["status"], kind, value, reason, message)
        self.cluster.put(item)

    def onboarding(self, verdict: str) -> None:
        """Set Onboarding to ``Status Reason``."""
        self.condition("Onboarding", *verdict.split())

    def change_node(self, **metadata: Mapping[str, str | None]) -> None:
        """Merge labels and annotations into the Node; None removes one."""
        self.cluster.put(_merged(self.node, {"metadata": metadata}))


def _merged(item: Object, body: Mapping[str, Any]) -> Object:
    merged = dict(item)
    for key, value in body.items():
        if isinstance(value, Mapping):
            merged[key] = _merged(merged.get(key) or {}, value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
