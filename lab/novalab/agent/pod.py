# SPDX-License-Identifier: Apache-2.0
"""One pod on a node, from its first sight to its end, in a thread of its own.

The thread forks the pod's containers and lives as long as they do: the kernel ends a container together with the
thread that started it.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import os
import pathlib
import select
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import urllib3.exceptions

from novalab.agent import api, container, environment, kernel, probe, security, status, volumes

_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_RETRY_SECONDS = 1.0
_GRACE_AT_SHUTDOWN = 2.0
_UNREACHABLE = (api.ApiError, urllib3.exceptions.HTTPError)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Where pods of one node run: ``image_paths`` come first in each container's PATH."""

    node: str
    address: str
    root: pathlib.Path
    lab_root: pathlib.Path
    pods: pathlib.Path
    logs: pathlib.Path
    image_paths: tuple[str, ...]
    api: api.Api
    say: Callable[[str], None]

    def log_folder(self, namespace: str, pod: str) -> pathlib.Path:
        return self.logs / f"{namespace}_{pod}"


class _EndingError(Exception):
    """The pod shall end: deleted, gone, or the agent stops."""


class Pod:
    """The life of one pod, begun with :meth:`start`. Other threads only tell it news."""

    def __init__(self, manifest: Mapping[str, Any], place: Place) -> None:
        metadata, spec = manifest["metadata"], manifest["spec"]
        self.namespace, self.name, self.uid = metadata["namespace"], metadata["name"], metadata["uid"]
        self._thread = threading.Thread(target=self._run, name=f"{self.namespace}/{self.name}", daemon=True)
        self._place = place
        self._manifest = manifest
        self._path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
        self._folder = place.pods / self.uid
        self._policy: str = spec.get("restartPolicy") or "Always"
        logs = place.log_folder(self.namespace, self.name)
        self._init = [container.Container(c, init=True, log_folder=logs) for c in spec.get("initContainers") or []]
        self._main = [container.Container(c, init=False, log_folder=logs) for c in spec["containers"]]
        self._initialized = False
        self._deleting = bool(metadata.get("deletionTimestamp"))
        self._vanished = self._shutting_down = False
        self._sent: dict[str, Any] | None = None
        self._resend_at: float | None = None
        reported = manifest.get("status") or {}
        self._conditions: list[dict[str, Any]] = reported.get("conditions") or []
        self._started = reported.get("startTime") or container.timestamp()
        for containers, key in ((self._init, "initContainerStatuses"), (self._main, "containerStatuses")):
            known = {entry["name"]: entry for entry in reported.get(key) or []}
            for one in containers:
                one.adopt(known.get(one.name), restart_policy=self._policy)
        self._probes: dict[str, probe.Readiness] = {}
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._ended = False
        self._wake_lock = threading.Lock()
        self._volumes = volumes.Volumes(
            folder=self._folder / "volumes",
            node_root=place.root,
            group=(spec.get("securityContext") or {}).get("fsGroup"),
            source=self._data,
            field_of=self._field,
            token=self._token,
        )

    # What other threads tell it.

    def start(self) -> None:
        self._thread.start()

    def update(self, manifest: Mapping[str, Any]) -> None:
        """The pod has changed: of that only a deletion and its grace matter."""
        self._manifest = manifest
        if manifest["metadata"].get("deletionTimestamp"):
            self._deleting = True
            self._poke()

    def vanish(self) -> None:
        """The pod's object is gone: nobody waits for its processes any more."""
        self._vanished = True
        self._poke()

    def shut_down(self) -> None:
        """End the processes quickly and tell nobody. Returns when they have ended."""
        self._shutting_down = True
        self._poke()
        self._thread.join()

    def is_running(self, name: str) -> bool:
        """Whether the container of that name runs now."""
        return any(one.running for one in (*self._init, *self._main) if one.name == name)

    def _poke(self) -> None:
        # Once closed, the number of the descriptor may be another file's.
        with self._wake_lock:
            if not self._ended:
                os.eventfd_write(self._wake, 1)

    # Its life.

    def _run(self) -> None:
        try:
            with contextlib.suppress(_EndingError):
                self._live()
        except Exception as error:  # one pod's defect must not look like a pod that runs on
            self._place.say(f"{self.name}: the agent failed: {error!r}")
            self._show_problem("AgentFailed", repr(error))
            with contextlib.suppress(_EndingError):
                while True:
                    self._wait(None)
        finally:
            self._end()

    def _live(self) -> None:
        # Only what an earlier agent saw end has ended already.
        self._initialized = all("terminated" in one.state for one in self._main)
        self._report()
        if not self._initialized:
            self._refuse_unserved()
            for volume in self._manifest["spec"].get("volumes") or []:
                self._prepare(volume)
            if all(self._run_init(one) for one in self._init):
                self._initialized = True
                self._run_main()
        while True:
            self._wait(None)

    def _prepare(self, volume: Mapping[str, Any]) -> None:
        while True:
            try:
                self._volumes.prepare(volume)
            except (environment.ConfigError, OSError, *_UNREACHABLE) as error:
                reason = error.message if isinstance(error, api.ApiError) else str(error)
                self._show_problem(
                    "ContainerCreating", f'MountVolume.SetUp failed for volume "{volume["name"]}": {reason}'
                )
                self._wait(_RETRY_SECONDS)
            else:
                return

    def _run_init(self, one: container.Container) -> bool:
        """Run an init container until it succeeds; False when the pod has failed with it."""
        while True:
            if not one.running and time.monotonic() >= one.not_before:
                self._start(one)
                self._report()
            if (code := one.collect()) is not None:
                self._place.say(f"{self.name}: {one.name} exited {code}")
                if code == 0:
                    self._report()
                    return True
                if self._policy == "Never":
                    self._fail()
                    return False
                one.plan_restart(self.name)
                self._report()
            self._wait(self._pause([one]))

    def _run_main(self) -> None:
        while True:
            for one in self._main:
                if not one.running and "terminated" not in one.state and time.monotonic() >= one.not_before:
                    self._start(one)
                if (code := one.collect()) is not None:
                    self._place.say(f"{self.name}: {one.name} exited {code}")
                    self._stop_probe(one)
                    if self._policy == "Always" or (self._policy == "OnFailure" and code):
                        one.plan_restart(self.name)
            self._report()
            if self._phase() in ("Succeeded", "Failed"):
                return
            self._wait(self._pause(self._main))

    def _pause(self, containers: list[container.Container]) -> float | None:
        due = [one.not_before for one in containers if not one.running and "terminated" not in one.state]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _wait(self, seconds: float | None) -> None:
        """Wait for news, an ended process or the time. Raises _EndingError when the pod shall end."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for one in (*self._init, *self._main):
            if one.descriptor is not None:
                poll.register(one.descriptor, select.POLLIN)
        if self._resend_at is not None:
            retry = max(0.0, self._resend_at - time.monotonic())
            seconds = retry if seconds is None else min(seconds, retry)
        if not (self._deleting or self._vanished or self._shutting_down):
            poll.poll(None if seconds is None else seconds * 1000 + 1)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        if self._deleting or self._vanished or self._shutting_down:
            raise _EndingError
        if self._resend_at is not None and time.monotonic() >= self._resend_at:
            self._report()

    # Starting a container.

    def _refuse_unserved(self) -> None:
        for one in (*self._init, *self._main):
            if one.init and one.spec.get("restartPolicy") == "Always":
                self._refuse("sidecar containers are not served by this agent")
            if "exec" in (one.spec.get("readinessProbe") or {}) or "grpc" in (one.spec.get("readinessProbe") or {}):
                self._refuse("readiness probes of kind exec and grpc are not served by this agent")

    def _refuse(self, message: str) -> None:
        self._show_problem("CreateContainerConfigError", message)
        while True:
            self._wait(None)

    def _start(self, one: container.Container) -> None:
        began = time.monotonic()
        try:
            description = self._describe(one)
        except (environment.ConfigError, OSError, *_UNREACHABLE) as error:
            message = error.message if isinstance(error, api.ApiError) else str(error)
            one.cannot_start("CreateContainerConfigError", message, again_in=_RETRY_SECONDS)
            return
        one.start(description)
        took = (time.monotonic() - began) * 1000
        self._place.say(f"{self.name}: {one.name} started in {took:.0f} ms as pid {one.pid}")
        if not one.init and one.spec.get("readinessProbe"):
            self._probes[one.name] = probe.Readiness(one.spec, self._place.address, self._ready_teller(one))
            self._probes[one.name].start()
        elif not one.init:
            one.ready = True

    def _ready_teller(self, one: container.Container) -> Callable[[bool], None]:
        def tell(ready: bool) -> None:  # noqa: FBT001 - the probe's one word
            one.ready = ready and one.running
            self._poke()

        return tell

    def _stop_probe(self, one: container.Container) -> None:
        if (running := self._probes.pop(one.name, None)) is not None:
            running.stop()

    def _describe(self, one: container.Container) -> dict[str, Any]:
        """What the starter shall build. Raises ConfigError, ApiError."""
        work = self._folder / "containers" / one.name
        work.mkdir(parents=True, exist_ok=True)
        host = urllib3.util.parse_url(self._place.api.host)
        base = {
            "PATH": ":".join((*self._place.image_paths, _SEARCH_PATH)),
            "HOSTNAME": self._hostname(),
            "HOME": "/",
            "KUBERNETES_SERVICE_HOST": host.host or "",
            "KUBERNETES_SERVICE_PORT": str(host.port or 443),
        }
        values = environment.build(one.spec, base, self._data, self._field)
        return {
            "work_folder": str(work),
            "lab_root": str(self._place.lab_root),
            "node_root": str(self._place.root),
            "image_paths": _existing(self._place.image_paths),
            "hostname": self._hostname(),
            "mounts": self._volumes.mounts(one.spec),
            "environment": values,
            "command": environment.command(one.spec, values),
            "working_folder": one.spec.get("workingDir") or "/",
            "security": security.describe(self._manifest["spec"], one.spec, frozenset(kernel.CAPABILITIES)),
        }

    def _hostname(self) -> str:
        spec = self._manifest["spec"]
        return self._place.node if spec.get("hostNetwork") else spec.get("hostname") or self.name

    # Where values come from.

    def _data(self, kind: str, name: str, optional: bool) -> Mapping[str, bytes]:  # noqa: FBT001 - see environment.Source
        try:
            found = self._place.api.get(f"/api/v1/namespaces/{self.namespace}/{kind}/{name}")
        except api.ApiError as error:
            if error.status == 404 and optional:
                return {}
            raise
        plain = found.get("data") or {}
        if kind == "secrets":
            return {key: base64.b64decode(value) for key, value in plain.items()}
        binary = found.get("binaryData") or {}
        return {
            **{key: value.encode() for key, value in plain.items()},
            **{key: base64.b64decode(value) for key, value in binary.items()},
        }

    def _field(self, path: str) -> str:
        return environment.field(self._manifest, self._place.address, path)

    def _token(self, projection: Mapping[str, Any]) -> str:
        account = self._manifest["spec"].get("serviceAccountName") or "default"
        answer = self._place.api.post(
            f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {
                    "audiences": [projection["audience"]] if projection.get("audience") else [],
                    "expirationSeconds": projection.get("expirationSeconds") or 3600,
                    "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": self.name, "uid": self.uid},
                },
            },
        )
        return str(answer["status"]["token"])

    # Telling the API server.

    def _phase(self) -> str:
        return status.phase(
            [one.state for one in self._main],
            initialized=self._initialized,
            restart_policy=self._policy,
            begun=all(one.begun for one in self._main),
        )

    def _fail(self) -> None:
        for one in self._main:
            one.state = {"waiting": {"reason": "PodInitializing"}}
        self._report(phase="Failed")

    def _show_problem(self, reason: str, message: str) -> None:
        for one in (*self._init, *self._main):
            if "waiting" in one.state:
                one.state = {"waiting": {"reason": reason, "message": message}}
        self._report()

    def _report(self, *, phase: str | None = None) -> None:
        """Send the status if it differs from what was sent; what cannot be sent now is sent later."""
        phase = phase or self._phase()
        self._conditions = status.conditions(
            self._conditions,
            phase=phase,
            initialized=self._initialized,
            ready=phase == "Running" and all(one.ready for one in self._main),
            sandbox=self._folder.exists(),
            now=container.timestamp(),
        )
        wanted = status.pod(
            phase=phase,
            conditions=self._conditions,
            address=self._place.address,
            started=self._started,
            init=[one.report() for one in self._init],
            main=[one.report() for one in self._main],
        )
        self._resend_at = None
        if wanted == self._sent or self._vanished or self._shutting_down:
            return
        try:
            # The uid keeps a status from landing on a namesake.
            self._place.api.patch(f"{self._path}/status", {"metadata": {"uid": self.uid}, "status": wanted})
        except api.ApiError as error:
            if error.status in (404, 409):
                self._vanished = True
                return
            self._place.say(f"{self.name}: {error}")
            self._resend_at = time.monotonic() + _RETRY_SECONDS
        except urllib3.exceptions.HTTPError:
            self._resend_at = time.monotonic() + _RETRY_SECONDS
        else:
            self._sent = wanted

    # Its end.

    def _grace(self) -> float:
        if self._vanished:
            return 0.0
        if self._shutting_down:
            return _GRACE_AT_SHUTDOWN
        grace = self._manifest["metadata"].get("deletionGracePeriodSeconds")
        return 30.0 if grace is None else float(grace)

    def _end(self) -> None:
        for readiness in self._probes.values():
            readiness.stop()
        living = [one for one in (*self._init, *self._main) if one.running]
        began = time.monotonic()
        for one in living:
            one.signal(signal.SIGTERM)
        self._await(living, began)
        for one in living:
            if one.running:
                self._place.say(f"{self.name}: {one.name} has not ended in {self._grace():.0f} s: killed")
                one.signal(signal.SIGKILL)
        while any(one.running for one in living):
            for one in living:
                one.collect()
            time.sleep(0.005)
        if living:
            self._place.say(f"{self.name}: ended in {time.monotonic() - began:.2f} s")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._sign_off()
        with self._wake_lock:
            self._ended = True
            os.close(self._wake)

    def _await(self, living: list[container.Container], began: float) -> None:
        """Wait for the containers to end, as long as the grace lasts; a later deletion may shorten it."""
        while any(one.running for one in living) and (left := self._grace() - (time.monotonic() - began)) > 0:
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            for one in living:
                if one.descriptor is not None:
                    poll.register(one.descriptor, select.POLLIN)
            poll.poll(left * 1000 + 1)
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._wake)
            for one in living:
                one.collect()

    def _sign_off(self) -> None:
        """Give the deleted pod's object its last status and let it go."""
        succeeded = all((one.state.get("terminated") or {}).get("exitCode") == 0 for one in self._main)
        while not (self._vanished or self._shutting_down):
            self._report(phase="Succeeded" if succeeded else "Failed")
            if self._resend_at is None and not self._vanished:
                try:
                    finalize(self._place.api, self._path, self.uid)
                except _UNREACHABLE as error:
                    self._place.say(f"{self.name}: {error}")
                else:
                    return
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            poll.poll(_RETRY_SECONDS * 1000)


def finalize(the_api: api.Api, path: str, uid: str) -> None:
    """Delete the object of a pod whose processes have ended. Raises ApiError unless it is gone already."""
    try:
        the_api.delete(path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
    except api.ApiError as error:
        if error.status not in (404, 409):
            raise


def _existing(paths: tuple[str, ...]) -> list[str]:
    """The image's folders that exist, and where the links of their interpreter lead."""
    folders = [pathlib.Path(path) for path in paths if pathlib.Path(path).is_dir()]
    interpreters = [folder / "python3" for folder in folders if (folder / "python3").exists()]
    return [str(path) for path in (*folders, *(interpreter.resolve().parent for interpreter in interpreters))]
