# SPDX-License-Identifier: Apache-2.0
"""The host discovery Job: made of the live Nova API Deployment, replaced while a host stays unmapped ("Reaching Nova").

The Job belongs to the Nova and every pool of it shares the one of that name.
"""

from __future__ import annotations

import copy
import datetime as dt
import enum
from collections.abc import Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import labels, ownership, vocabulary

_SUFFIX: Final = "discover-hosts"
_CONTAINER: Final = "nova-api"
_CONFIG_VOLUME: Final = "config"
_COMMAND: Final = "nova-manage --config-dir /etc/nova/nova.conf.d cell_v2 discover_hosts --verbose"
#: Where a pod may run is the Deployment's to say; how long it lives and how it restarts is the Job's.
_PLACEMENT_KEYS: Final = (
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "priorityClassName",
    "serviceAccountName",
    "automountServiceAccountToken",
    "imagePullSecrets",
    "securityContext",
    "hostNetwork",
    "hostAliases",
    "dnsPolicy",
    "dnsConfig",
)
_MINIMUM: Final = {"cpu": "70m", "memory": "368Mi"}


class Step(enum.Enum):
    """What to do about the Job now."""

    CREATE = "create"
    #: It ended and hosts are still unmapped: delete it, so that a later pass makes it anew.
    REPLACE = "replace"
    LEAVE = "leave"


def job_name(nova: str) -> str:
    """The Job's name, which is also the value of a label of its pods."""
    return labels.fitting(nova, _SUFFIX)


def finished(job: Mapping[str, Any]) -> tuple[str, str] | None:
    """(``"Complete"`` or ``"Failed"``, when: RFC 3339), or None while the Job runs."""
    for condition in job.get("status", {}).get("conditions", []):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return condition["type"], condition.get("lastTransitionTime") or job["metadata"]["creationTimestamp"]
    return None


def decide(job: Mapping[str, Any] | None, *, now: str, scale: float = 1.0) -> Step:
    """What the Job needs while a registered host is not in the hypervisor list.

    A finished Job is replaced 30 s after its end; ``scale`` stretches or shortens that. One that is being deleted is
    left to go. Nobody has to remove the last one: it carries its own time to live.
    """
    if job is None:
        return Step.CREATE
    ended = finished(job)
    if ended is None or job["metadata"].get("deletionTimestamp"):
        return Step.LEAVE
    age = (_instant(now) - _instant(ended[1])).total_seconds()
    return Step.REPLACE if age >= vocabulary.DISCOVERY_REPLACED_AFTER * scale else Step.LEAVE


def _instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def describe(job: Mapping[str, Any] | None, *, waits_for: str = "") -> str:
    """How the Job stands, for the message of WaitingForHostMapping. ``waits_for`` says why there is none."""
    if job is None:
        return f"no host discovery Job: {waits_for}" if waits_for else "host discovery Job not created yet"
    name, ended = job["metadata"]["name"], finished(job)
    if ended is None:
        return f"host discovery Job {name} is running"
    return f"host discovery Job {name} {'failed' if ended[0] == 'Failed' else 'completed'}"


def config_problem(deployment: Mapping[str, Any] | None) -> str:
    """Why no Job can be made of the Nova API Deployment, or an empty text."""
    if deployment is None:
        return "the Nova API Deployment does not exist"
    pod = deployment["spec"]["template"]["spec"]
    container = _named(pod.get("containers"), _CONTAINER)
    if container is None:
        return f"the Nova API Deployment has no container {_CONTAINER}"
    mounts = {mount["name"] for mount in container.get("volumeMounts", [])}
    if _named(pod.get("volumes"), _CONFIG_VOLUME) is None or _CONFIG_VOLUME not in mounts:
        return "the Nova API Deployment mounts no config"
    return ""


def job(nova: Mapping[str, Any], deployment: Mapping[str, Any]) -> dict[str, Any]:
    """The Job, with the image, the config and the environment of the Deployment's nova-api container.

    ``nova`` is the resolved Nova. Only for a Deployment without a :func:`config_problem`.
    """
    pod = deployment["spec"]["template"]["spec"]
    api = _named(pod["containers"], _CONTAINER)
    if api is None:
        raise ValueError(f"the Deployment of Nova {nova['name']} has no container {_CONTAINER}")
    marks = ownership.of_nova(nova).marks()
    mounted = {mount["name"] for mount in api.get("volumeMounts", [])}
    of_nova = {
        "app.kubernetes.io/name": "nova",
        "app.kubernetes.io/instance": nova["name"],
        "app.kubernetes.io/component": _SUFFIX,
        "app.kubernetes.io/managed-by": vocabulary.MANAGED_BY,
    }
    container = {
        "name": _SUFFIX,
        "image": api["image"],
        "command": ["/bin/sh", "-eu", "-c", _COMMAND],
        "env": copy.deepcopy(api.get("env", [])),
        "volumeMounts": copy.deepcopy(api.get("volumeMounts", [])),
        "resources": {"requests": dict(_MINIMUM), "limits": {"memory": _MINIMUM["memory"]}},
    }
    for key in ("envFrom", "imagePullPolicy", "securityContext"):
        if key in api:
            container[key] = copy.deepcopy(api[key])
    volumes = [copy.deepcopy(volume) for volume in pod.get("volumes", []) if volume["name"] in mounted]
    if not any(mount["mountPath"] == "/tmp" for mount in container["volumeMounts"]):  # noqa: S108
        container["volumeMounts"].append({"name": "discovery-tmp", "mountPath": "/tmp"})  # noqa: S108
        volumes.append({"name": "discovery-tmp", "emptyDir": {}})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(nova["name"]),
            "namespace": nova["namespace"],
            "labels": {**of_nova, **marks["labels"]},
            "ownerReferences": marks["ownerReferences"],
        },
        "spec": {
            # One retry: a discovery that raced another one exits 2 and finds the hosts mapped the next time.
            "backoffLimit": 1,
            "activeDeadlineSeconds": 600,
            "ttlSecondsAfterFinished": vocabulary.DISCOVERY_REMOVED_AFTER,
            "template": {
                "metadata": {"labels": of_nova},
                "spec": {
                    **{key: copy.deepcopy(pod[key]) for key in _PLACEMENT_KEYS if key in pod},
                    "restartPolicy": "Never",
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    }


def _named(items: Any, name: str) -> Any:
    return next((item for item in items or [] if item["name"] == name), None)
