# SPDX-License-Identifier: Apache-2.0
"""What a test of this folder works with: pools, a Nova of its own, passes run one by one, and what they said."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions
from e2e.conditions import interposer, objects
from e2e.world import cluster, pools, stand, waiting
from nova_compute_operator import folders, outcomes, passes

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOK = ROOT / "playbooks" / "reconcile.yml"
NOVA = "conditions-nova"
USER_SECRET = f"{NOVA}-user"
CONTRACT = f"{NOVA}-compute-config"

#: The node of the settled pool; tests that need another real compute take OTHER_NODE.
NODE = "compute-1"
OTHER_NODE = "compute-2"
#: More than a message names.
CROWD = tuple(f"crowd-{number:02}" for number in range(1, 24))

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"

#: How long anything may take on a busy machine.
DEADLINE = 180.0
# What passes wait for, such as a Job or a rollout, takes its time however many of them look at it.
_SETTLING_SECONDS = 120.0
_PASS_SECONDS = 240.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Said:
    """What a pass said of one condition, and when it wants to look again, in seconds."""

    message: str
    look: float | None
    outcome: outcomes.Outcome


class Bench:
    """The lab, and everything that the tests of this folder have made in it."""

    def __init__(self, the_stand: stand.Stand, folder: pathlib.Path) -> None:
        self.stand = the_stand
        self.cloud = the_stand.cloud
        self.cluster = objects.Objects(the_stand.lab.kubeconfig)
        self.folder = folder
        self.interposer = interposer.Interposer(the_stand.lab.kubeconfig, folder)
        self._store = folders.Folders(folder / "passes")
        self._engine = passes.warm_engine(PLAYBOOK, self._store)
        self._passes = self.passes_of(PLAYBOOK)
        self._pools: list[str] = []
        #: Undone at the end of the test, the last thing first.
        self.undo = contextlib.ExitStack()
        #: (type, reason) of every condition, and (phase,) of every node, that a pass of this test left behind.
        self.saw: set[tuple[str, ...]] = set()

    # --- passes

    def passes_of(self, playbook: pathlib.Path, *, clusters_namespace: str = "") -> passes.Passes:
        """What runs passes of a playbook; the product's own as its operator does."""
        engine = self._engine if playbook == PLAYBOOK else None
        return passes.Passes(
            playbook=playbook,
            store=self._store,
            timeout=_PASS_SECONDS,
            engine=engine,
            clusters_namespace=clusters_namespace,
        )

    def run(
        self,
        pool: str,
        *,
        kubeconfig: pathlib.Path | None = None,
        runner: passes.Passes | None = None,
        scale: float = 1.0,
        namespace: str = "",
    ) -> outcomes.Outcome:
        """One pass, with the credentials of the lab's administrator unless a kubeconfig is given.

        ``scale`` stretches or shortens every time of the specification.
        """
        where = namespace or cluster.NAMESPACE
        variables = {"KUBECONFIG": str(kubeconfig or self.stand.lab.kubeconfig), "NOVA_COMPUTE_POLL_SCALE": str(scale)}
        with _environment({**self.stand.environment, **variables}):
            outcome = (runner or self._passes).run(f"{where}/{pool}", passes.Cancel())
        assert outcome.verdict is outcomes.Verdict.DONE, outcome
        left = self.cluster.get("NovaCompute", pool) if where == cluster.NAMESPACE else None
        self.saw |= {(one["type"], one["reason"]) for one in cluster.conditions(left).values()}
        self.saw |= {(phase,) for phase in cluster.phases(left).values()}
        return outcome

    def interposed(self, pool: str) -> outcomes.Outcome:
        """One pass through the interposer."""
        return self.run(pool, kubeconfig=self.interposer.kubeconfig)

    def expect(self, pool: str, condition: str, verdict: str, *, kubeconfig: pathlib.Path | None = None) -> Said:
        """Run one pass, hold the condition against ``Status Reason``, and return what it said.

        Where the condition stops the pass, the later ones have to say what they said before.
        """
        before = self.conditions(pool)
        outcome = self.run(pool, kubeconfig=kubeconfig)
        after = self.conditions(pool)
        assert cluster.verdict(self.pool(pool), condition) == verdict, after.get(condition)
        later = conditions.STEPS[conditions.STEPS.index(condition) + 1 :] if condition in conditions.STEPS else ()
        if self._stops(after[condition]):
            kept = {one: before[one] for one in later if one in before}
            assert {one: after[one] for one in later if one in after} == kept
        if after[condition]["status"] == "False" and condition in conditions.STEPS:
            assert cluster.verdict(self.pool(pool), conditions.READY) == "False NotAllReady"
        return Said(message=after[condition]["message"], look=outcome.next_look, outcome=outcome)

    def run_until(self, pool: str, what: str, good: Any) -> cluster.Object:
        """Run passes until the pool is ``good``; the object is returned. ``good`` takes the object."""
        ends = time.monotonic() + _SETTLING_SECONDS
        while time.monotonic() < ends:
            self.run(pool)
            seen = self.pool(pool)
            if good(seen):
                return seen
        verdicts = {one: cluster.verdict(seen, one) for one in cluster.conditions(seen)}
        raise AssertionError(f"not within {_SETTLING_SECONDS:g} s: {what}; phases {cluster.phases(seen)}, {verdicts}")

    def run_until_gone(self, pool: str) -> list[cluster.Object]:
        """Run passes until the pool is gone; what each left of it is returned."""
        left: list[cluster.Object] = []
        ends = time.monotonic() + _SETTLING_SECONDS
        while time.monotonic() < ends:
            self.run(pool)
            found = self.cluster.get("NovaCompute", pool)
            if found is None:
                return left
            left.append(found)
        raise AssertionError(f"{pool} is still there: {left[-1]['status']}")

    def settle(self, pool: str, *nodes: str) -> cluster.Object:
        """Run passes until the pool is Ready with exactly these nodes Active."""

        def is_settled(seen: cluster.Object) -> bool:
            return (
                cluster.verdict(seen, "Ready") == "True AllReady"
                and seen["status"].get("observedGeneration") == seen["metadata"]["generation"]
                and cluster.phases(seen) == dict.fromkeys(nodes, "Active")
            )

        if is_settled(self.pool(pool)):
            return self.pool(pool)
        # A pass finds nothing new before the pods run and the services have registered.
        self.run(pool)
        for node in nodes:
            self.wait_service(node)
            self.wait_pod(pool, node)
        return self.run_until(pool, f"Ready with {', '.join(nodes)} Active", is_settled)

    # --- pools

    def pool(self, name: str) -> cluster.Object:
        return self.cluster.read("NovaCompute", name)

    def conditions(self, pool: str) -> dict[str, cluster.Object]:
        """The conditions by type; none of a pool that is gone."""
        return cluster.conditions(self.cluster.get("NovaCompute", pool))

    def label(self, node: str, labels: Mapping[str, str | None]) -> None:
        """Set labels of a node until the test ends; what the node had before comes back."""
        had = self.cluster.read("Node", node)["metadata"].get("labels") or {}
        self.undo.callback(self._set_labels, node, {key: had.get(key) for key in labels})
        self.cluster.set_labels(node, labels)

    def new_pool(self, *nodes: str, nova: str = NOVA, **spec: Any) -> tuple[str, dict[str, str]]:
        """A pool of exactly these nodes until the test ends; returns its name and its selector."""
        selector = {f"conditions.c5c3.io/{uuid.uuid4().hex[:8]}": "pool"}
        for node in nodes:
            self.label(node, selector)
        name = f"pool-{uuid.uuid4().hex[:8]}"
        self.undo.callback(self.discard, name)
        self.cluster.create(pools.manifest(name, selector, nova=nova, **spec))
        return name, selector

    def make(self, item: dict[str, Any]) -> None:
        """Create an object until the test ends."""
        self.undo.callback(self.cluster.delete, item["kind"], item["metadata"]["name"])
        self.cluster.create(item)

    def make_at(self, path: str, item: dict[str, Any]) -> None:
        """Create an object of any kind below the path until the test ends."""
        self.undo.callback(self.cluster.remove, f"{path}/{item['metadata']['name']}")
        self.cluster.call("POST", path, item)

    def set_spec(self, pool: str, fields: Mapping[str, Any]) -> None:
        """Replace whole fields of a pool's spec until the test ends; None removes one."""
        had = self.pool(pool)["spec"]
        self.undo.callback(self._replace_spec, pool, {key: had.get(key) for key in fields})
        self._replace_spec(pool, fields)

    def _replace_spec(self, pool: str, fields: Mapping[str, Any]) -> None:
        found = self.cluster.get("NovaCompute", pool)
        if found is None:
            return
        steps = [
            {"op": "remove", "path": f"/spec/{key}"}
            if value is None
            else {"op": "add", "path": f"/spec/{key}", "value": value}
            for key, value in fields.items()
            if value is not None or key in found["spec"]
        ]
        self.cluster.patch_items("NovaCompute", pool, steps)

    def set_status(self, pool: str, status: Mapping[str, Any]) -> None:
        """Merge fields into a pool's status, as if an earlier pass had left them."""
        self.cluster.patch("NovaCompute", pool, {"status": dict(status)}, subresource="status")

    def break_group(self, name: str) -> None:
        """Register a server for an API group and version that is not there, until the test ends: it answers 503."""
        version, _, group = name.partition(".")
        there_is_none = {"name": "there-is-none", "namespace": cluster.NAMESPACE}
        spec = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100}
        spec |= {"service": there_is_none, "insecureSkipTLSVerify": True}
        self.make_at(_API_SERVICES, {"metadata": {"name": name}, "spec": spec})
        self.wait(f"{name} answers with an error", lambda: self._status_of_group(name), lambda status: status == 503)

    def mend_group(self, name: str) -> None:
        """Take back what :meth:`break_group` did."""
        self.cluster.remove(f"{_API_SERVICES}/{name}")
        self.wait(f"{name} is not served", lambda: self._status_of_group(name), lambda status: status in (200, 404))

    def _status_of_group(self, name: str) -> int:
        version, _, group = name.partition(".")
        return self.cluster.status_of(f"/apis/{group}/{version}")

    def account(self, name: str, *without: str) -> pathlib.Path:
        """A kubeconfig, until the test ends, of an account that may do everything but this; see Objects.account."""
        self.undo.callback(self.cluster.remove_account, name)
        document = yaml.safe_load(self.stand.lab.kubeconfig.read_text())
        return self.cluster.account(name, without=without, folder=self.folder, ca=document["clusters"][0]["cluster"])

    def discard(self, name: str) -> None:
        """Take a pool away with all it left in Nova, without a drain."""
        found = self.cluster.get("NovaCompute", name)
        if found is None:
            return
        nodes = list(cluster.ledger(found))
        self.cluster.delete("NovaCompute", name)
        with contextlib.suppress(cluster.RefusedError):
            self.cluster.patch("NovaCompute", name, {"metadata": {"finalizers": None}})
        self.wait(
            f"nothing of {name} is left", lambda: (self.cluster.children(name), self.cluster.pods(name)), _is_empty
        )
        for node in nodes:
            self.forget_host(node)

    def forget_host(self, node: str) -> None:
        """Have Nova forget a host whose nova-compute ended, unless another pool still holds it."""
        service = self.cloud.services().get(node)
        if service and not any(node in cluster.ledger(pool) for pool in self.cluster.all("NovaCompute")):
            self.cloud._compute("DELETE", f"/os-services/{service['id']}")

    # --- Nova behind the operator's back

    def register(self, *hosts: str) -> None:
        """Have Nova list a compute service for hosts on which none runs, until the test ends."""
        names = ", ".join(f"'{host}'" for host in hosts)
        columns = 'created_at, updated_at, last_seen_up, host, "binary", topic, report_count, disabled, deleted, uuid'
        now = "now() at time zone 'utc'"
        values = f"{now}, {now}, {now}, host, 'nova-compute', 'compute', 1, false, 0, gen_random_uuid()::text"
        self.undo.callback(self.stand.sql, "nova", f"DELETE FROM services WHERE host IN ({names})")
        self.stand.sql(
            "nova",
            f"INSERT INTO services ({columns}, version) SELECT {values}, (SELECT max(version) FROM services) "
            f"FROM unnest(ARRAY[{names}]) AS host",
        )

    def drop_server(self, server: str) -> None:
        """Delete a server, and return when Nova lists it no more."""
        self.cloud.delete_server(server)
        self.wait(
            "the server is gone", lambda: [row["id"] for row in self.cloud.servers()], lambda ids: server not in ids
        )

    def make_aggregate(self, name: str, zone: str | None, metadata: Mapping[str, str] | None = None) -> None:
        """Create an aggregate as a person would, until the test ends."""
        wanted = {"name": name} if zone is None else {"name": name, "availability_zone": zone}
        made = self.cloud._compute("POST", "/os-aggregates", {"aggregate": wanted})["aggregate"]
        self.undo.callback(self.drop_aggregate, name)
        if metadata:
            self.aggregate_action(made["id"], {"set_metadata": {"metadata": dict(metadata)}})

    def drop_aggregate(self, name: str) -> None:
        """Delete an aggregate with its memberships, if there is one."""
        found = self.cloud.aggregates().get(name)
        if found is None:
            return
        for host in found["hosts"]:
            self.aggregate_action(found["id"], {"remove_host": {"host": host}})
        self.cloud._compute("DELETE", f"/os-aggregates/{found['id']}")

    def join(self, aggregate: str, host: str) -> None:
        """Put a host into an aggregate until the test ends."""
        self.cloud.add_host(aggregate, host)
        self.undo.callback(self._leave, aggregate, host)

    def aggregate_action(self, aggregate: int, body: dict[str, Any]) -> None:
        self.cloud._compute("POST", f"/os-aggregates/{aggregate}/action", body)

    def _leave(self, aggregate: str, host: str) -> None:
        found = self.cloud.aggregates().get(aggregate, {"hosts": []})
        if host in found["hosts"]:
            self.aggregate_action(found["id"], {"remove_host": {"host": host}})

    # --- seeing things

    def wait(self, what: str, look: Any, good: Any = bool, *, seconds: float = DEADLINE) -> Any:
        """See :func:`waiting.wait_for`."""
        return waiting.wait_for(what, look, good, seconds=seconds)

    def wait_service(self, node: str) -> None:
        """Return when Nova lists the node's compute service as up."""
        self.wait(
            f"{node} reports to Nova",
            lambda: self.cloud.services().get(node, {}).get("state"),
            lambda state: state == "up",
        )

    def wait_pod(self, pool: str, node: str) -> None:
        """Return when the pool's one pod on the node is ready."""
        self.wait(
            f"a pod of {pool} is ready on {node}",
            lambda: [cluster.is_ready(pod) for pod in self.cluster.pods(pool) if cluster.node_of(pod) == node],
            lambda found: found == [True],
        )

    def wait_observed(self, pool: str) -> None:
        """Return when the controller has seen the pool's DaemonSet as it is now."""

        def is_observed(seen: cluster.Object) -> bool:
            return bool(seen["status"].get("observedGeneration", 0) >= seen["metadata"]["generation"])

        name = f"{pool}-nova-compute"
        self.wait(f"{name} was seen", lambda: self.cluster.read("DaemonSet", name), is_observed)

    def wait_no_pod(self, pool: str, node: str) -> None:
        """Return when the pool has no pod on the node."""
        self.wait(
            f"no pod of {pool} is on {node}",
            lambda: [pod for pod in self.cluster.pods(pool) if cluster.node_of(pod) == node],
            lambda found: not found,
        )

    def events(self, pool: str, reason: str) -> list[cluster.Object]:
        """The events about the pool with that reason, oldest first."""
        return [event for event in self.cluster.events(pool) if event["reason"] == reason]

    # --- the end

    def end_test(self) -> None:
        """Undo what the test did."""
        undo, self.undo = self.undo, contextlib.ExitStack()
        undo.close()

    def close(self) -> None:
        self.interposer.close()
        self._engine.close()
        self._store.close()

    def _set_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        if self.cluster.get("Node", node) is not None:
            self.cluster.set_labels(node, labels)

    @staticmethod
    def _stops(condition: cluster.Object) -> bool:
        return conditions.reason(condition["type"], condition["reason"]).flow is conditions.Flow.STOPS


def process_of(pod: cluster.Object) -> int:
    """The nova-compute of a pod, as the machine counts its processes."""
    status = next(one for one in pod["status"]["containerStatuses"] if one["name"] == "nova-compute")
    match = re.fullmatch("proc://([0-9]+)", status["containerID"])
    assert match, status
    return int(match[1])


def _is_empty(found: tuple[list[Any], list[Any]]) -> bool:
    return not any(found)


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Have these variables for as long as a pass runs: it gets the environment of this process."""
    before = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
