# SPDX-License-Identifier: Apache-2.0
"""The status of pods and nodes as a kubelet reports it. Pure: plain data in and out, the time is an argument."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_TERMINAL = ("Succeeded", "Failed")


def phase(states: Sequence[Mapping[str, Any]], *, initialized: bool, restart_policy: str, begun: bool) -> str:
    """The phase of a pod whose containers are in ``states``. ``begun``: at least one of them has run."""
    if not initialized or not begun:
        return "Pending"
    if restart_policy != "Always" and all("terminated" in state for state in states):
        codes = [state["terminated"]["exitCode"] for state in states]
        if not any(codes):
            return "Succeeded"
        return "Failed" if restart_policy == "Never" else "Running"
    return "Running"


def conditions(
    previous: Iterable[Mapping[str, Any]], *, phase: str, initialized: bool, ready: bool, sandbox: bool, now: str
) -> list[dict[str, Any]]:
    """The kubelet's four conditions. A condition keeps its transition time as long as its status stays."""
    before = {condition["type"]: condition for condition in previous}
    initialized = initialized or phase == "Succeeded"
    reasons = {
        "PodReadyToStartContainers": None,
        "Initialized": "ContainersNotInitialized",
        "ContainersReady": "PodCompleted" if phase in _TERMINAL else "ContainersNotReady",
        "Ready": "PodCompleted" if phase in _TERMINAL else "ContainersNotReady",
    }
    values = {
        "PodReadyToStartContainers": sandbox and phase not in _TERMINAL,
        "Initialized": initialized,
        "ContainersReady": ready,
        "Ready": ready,
    }
    found = []
    for kind, value in values.items():
        known = before.get(kind)
        condition: dict[str, Any] = {"type": kind, "status": str(value), "lastTransitionTime": now}
        if known is not None and known["status"] == condition["status"]:
            condition["lastTransitionTime"] = known["lastTransitionTime"]
        # A merge keeps what it is not told to forget.
        condition["reason"] = None if value else reasons[kind]
        found.append(condition)
    return found


def pod(
    *,
    phase: str,
    conditions: list[dict[str, Any]],
    address: str,
    started: str,
    init: list[dict[str, Any]],
    main: list[dict[str, Any]],
) -> dict[str, Any]:
    """The status of a pod. It names no qosClass: the API server has set it and refuses any other value."""
    return {
        "phase": phase,
        "conditions": conditions,
        "hostIP": address,
        "hostIPs": [{"ip": address}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": started,
        "initContainerStatuses": init,
        "containerStatuses": main,
    }


def node(*, name: str, address: str, version: str, since: str, now: str, log_port: int | None) -> dict[str, Any]:
    """The status of a node that is ready. Its size is made up: nothing limits what pods take."""
    good = {"lastHeartbeatTime": now, "lastTransitionTime": since}
    size = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return {
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "AgentReady", "message": "the lab's agent runs", **good},
            *(
                {"type": f"{what}Pressure", "status": "False", "reason": f"No{what}Pressure", **good}
                for what in ("Memory", "Disk", "PID")
            ),
        ],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "capacity": size,
        "allocatable": size,
        **({"daemonEndpoints": {"kubeletEndpoint": {"Port": log_port}}} if log_port else {}),
        "nodeInfo": {
            "kubeletVersion": version,
            "kubeProxyVersion": "",
            "osImage": "this machine",
            "operatingSystem": "linux",
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
            "kernelVersion": platform.release(),
            "containerRuntimeVersion": "proc://1",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
    }


def back_off(restarts: int) -> float:
    """Seconds before the next restart after ``restarts`` earlier ones: none, then 1, 2, 4 ... up to 30.

    A kubelet's series is longer; a lab is watched by somebody who waits.
    """
    return 0.0 if restarts == 0 else min(30.0, 2.0 ** min(restarts - 1, 5))
