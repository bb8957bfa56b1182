# SPDX-License-Identifier: Apache-2.0
"""One node: its object and Lease in the API, and the pods that were bound to it."""

from __future__ import annotations

import contextlib
import datetime as dt
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Any

import urllib3.exceptions

from novalab import lab
from novalab.agent import api, container, pod, status

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_BEAT_SECONDS = 5.0
_LEASE_SECONDS = 40
#: A machine's folders that pods mount as hostPath and that cannot be made up.
_FROM_THE_MACHINE = ("dev", "sys/fs/cgroup")
_FOLDERS = ("etc", "lib/modules", "run", "var/lib", *_FROM_THE_MACHINE)
_UNREACHABLE = (api.ApiError, urllib3.exceptions.HTTPError, OSError)


class Node:
    """A node that runs pods from :meth:`start` to :meth:`shut_down`, in threads of its own."""

    def __init__(
        self,
        *,
        place: pod.Place,
        labels: Mapping[str, str],
        version: str,
        log_port: int | None,
        serves: Callable[[str], bool],
    ) -> None:
        self.name = place.node
        self._place = place
        self._labels = {
            "kubernetes.io/hostname": place.node,
            "kubernetes.io/os": "linux",
            lab.OWNED_LABEL: "true",
            **labels,
        }
        self._version = version
        self._log_port = log_port
        self._serves = serves
        self._born = container.timestamp()
        self._uid: str | None = None
        self._pods: dict[str, pod.Pod] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._path = f"/api/v1/nodes/{self.name}"

    def start(self) -> None:
        """Make the node's root, register it, and look after its pods. Raises ApiError."""
        make_root(self._place)
        self.register()
        for what in (self._beat_forever, self._watch_forever):
            threading.Thread(target=what, name=f"{self.name}: {what.__name__}", daemon=True).start()

    def register(self) -> None:
        """Create the node's object, or find it again; beats begin or go on. Raises ApiError."""
        self._born = container.timestamp()
        manifest = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self._labels},
            "status": self._status(),
        }
        try:
            found = self._place.api.post("/api/v1/nodes", manifest)
        except api.ApiError as error:
            if error.status != 409:
                raise
            # Labels that a person has taken away stay away.
            found = self._place.api.patch(f"{self._path}/status", {"status": self._status()})
        self._uid = found["metadata"]["uid"]
        self._beat()
        self._place.say(f"{self.name}: registered with address {self._place.address}")

    def is_running(self, namespace: str, name: str, container_name: str) -> bool:
        """Whether that container of that pod runs on this node now."""
        with self._lock:
            pods = list(self._pods.values())
        return any(one.is_running(container_name) for one in pods if (one.namespace, one.name) == (namespace, name))

    def shut_down(self) -> None:
        """End all pods of the node, quickly, and tell nobody: they run again with the next agent."""
        self._stopping.set()
        with self._lock:
            pods = list(self._pods.values())
        threads = [threading.Thread(target=one.shut_down) for one in pods]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # The node's object.

    def _status(self) -> dict[str, Any]:
        return status.node(
            name=self.name,
            address=self._place.address,
            version=self._version,
            since=self._born,
            now=container.timestamp(),
            log_port=self._log_port,
        )

    def _beat_forever(self) -> None:
        while not self._stopping.wait(_BEAT_SECONDS):
            try:
                self._beat()
            except _UNREACHABLE as error:
                self._place.say(f"{self.name}: no beat: {error}")

    def _beat(self) -> None:
        if self._uid is None:
            return
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": now}
        try:
            self._place.api.merge(f"{_LEASES}/{self.name}", {"spec": spec})
        except api.ApiError as error:
            if error.status != 404:
                raise
            self._renew_lost_lease(spec)

    def _renew_lost_lease(self, spec: Mapping[str, Any]) -> None:
        # A Lease goes with its node. A deleted node stays away until it is told to register, as with a kubelet.
        try:
            found = self._place.api.get(self._path)
        except api.ApiError as error:
            if error.status == 404:
                self._uid = None
                self._place.say(f"{self.name}: its object was deleted: no more beats until 'node add'")
                return
            raise
        owner = {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": found["metadata"]["uid"]}
        metadata = {"name": self.name, "namespace": "kube-node-lease", "ownerReferences": [owner]}
        with contextlib.suppress(api.ApiError):
            self._place.api.post(
                _LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            )

    # The node's pods.

    def _watch_forever(self) -> None:
        path, query = "/api/v1/pods", f"fieldSelector=spec.nodeName%3D{self.name}"
        while not self._stopping.is_set():
            try:
                listed = self._place.api.get(f"{path}?{query}")
                self._catch_up(listed["items"])
                for event in self._place.api.watch(path, query, listed["metadata"]["resourceVersion"]):
                    if self._stopping.is_set():
                        return
                    self._see(event["type"], event["object"])
            except Exception as error:  # a node that stops watching would look well and do nothing
                self._place.say(f"{self.name}: watch of pods: {error!r}")
                self._stopping.wait(1)

    def _catch_up(self, manifests: list[dict[str, Any]]) -> None:
        there = {manifest["metadata"]["uid"] for manifest in manifests}
        for uid in set(self._pods) - there:
            self._forget(uid)
        for manifest in manifests:
            self._see("MODIFIED", manifest)

    def _see(self, kind: str, manifest: dict[str, Any]) -> None:
        metadata = manifest["metadata"]
        if kind == "BOOKMARK" or not self._serves(metadata.get("namespace", "")):
            return
        if kind == "DELETED":
            self._forget(metadata["uid"])
        elif (known := self._pods.get(metadata["uid"])) is not None:
            known.update(manifest)
        elif (manifest.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            with self._lock:
                self._pods[metadata["uid"]] = pod.Pod(manifest, self._place)
            self._pods[metadata["uid"]].start()
        elif metadata.get("deletionTimestamp"):
            # It ended under an earlier agent, and still nobody else may let it go.
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            pod.finalize(self._place.api, path, metadata["uid"])

    def _forget(self, uid: str) -> None:
        with self._lock:
            gone = self._pods.pop(uid, None)
        if gone is not None:
            gone.vanish()


def make_root(place: pod.Place) -> None:
    """Make the folder that pods see as the host's root. Mounts that a pod makes below it show there and stay."""
    for folder in _FOLDERS:
        (place.root / folder).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", place.root, place.root], check=True)
    subprocess.run(["mount", "--make-shared", place.root], check=True)
    for folder in _FROM_THE_MACHINE:
        subprocess.run(["mount", "--rbind", f"/{folder}", place.root / folder], check=True)
        subprocess.run(["mount", "--make-rprivate", place.root / folder], check=True)
