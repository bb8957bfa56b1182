#!/usr/bin/python
# Copyright: the nova-compute-operator contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the host discovery Job of a Nova while a host is not mapped."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: host_discovery
short_description: Run the host discovery Job of a Nova while a host is not mapped
version_added: "0.1.0"
author: The nova-compute-operator contributors (@c5c3)
description:
  - Creates the Job from the live Nova API Deployment, and replaces a finished one while a host stays unmapped. The last
    one removes itself five minutes after its end.
  - Every pool of the Nova shares the Job. One of its name that does not belong to the Nova is left alone, and an error.
  - A call that fails is returned in RV(errors), because the other nodes of the pool go on.
extends_documentation_fragment: [c5c3.nova.cluster, c5c3.nova.nova]
options:
  pool:
    description: The whole NovaCompute object, which the events are recorded for.
    type: dict
    required: true
  unmapped:
    description: The registered hosts that Nova has not mapped.
    type: list
    elements: str
    required: true
  poll_scale:
    description: Stretches or shortens the time after which a finished Job is replaced.
    type: float
    default: 1.0
"""

EXAMPLES = r"""
- name: Discover the hosts that Nova has not mapped
  c5c3.nova.host_discovery:
    pool: "{{ novacompute }}"
    nova: "{{ nova }}"
    unmapped: [compute-1]
  register: services_drain_discovery
"""

RETURN = r"""
state:
  description: How the Job stands, in words for a condition's message.
  returned: success
  type: str
  sample: host discovery Job controlplane-nova-host-discovery is running
errors:
  description: The calls that failed (system, kind, call, status, detail).
  returned: success
  type: list
  elements: dict
  sample:
    - system: kubernetes
      kind: Job
      call: POST /apis/batch/v1/namespaces/openstack/jobs
      status: 403
      detail: 'jobs.batch is forbidden'
"""

import datetime as dt
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils import entry
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors, kubernetes, target_clusters
from ansible_collections.c5c3.nova.plugins.module_utils.rules import discovery, ownership

ARGUMENTS: Final = {
    **entry.CLUSTER_ARGUMENTS,
    "pool": {"type": "dict", "required": True},
    **entry.NOVA_ARGUMENT,
    "unmapped": {"type": "list", "elements": "str", "required": True},
    "poll_scale": {"type": "float", "default": 1.0},
}


def run(task: entry.Task) -> dict[str, Any]:
    try:
        return _keep_job(task)
    except errors.CallError as error:
        return {"state": "", "errors": [{**error.as_data(), "kind": "Job"}]}


def _keep_job(task: entry.Task) -> dict[str, Any]:
    nova, pool = task.params["nova"], task.params["pool"]
    cluster = target_clusters.cluster_at(task.cluster(), nova["target"])
    name, namespace = discovery.job_name(nova["name"]), nova["namespace"]
    job = cluster.find("Job", name, namespace)
    if job is not None:
        _refuse_foreign(job, nova)
    step = discovery.decide(
        job,
        now=dt.datetime.now(dt.UTC).isoformat(),
        scale=task.params["poll_scale"],
    )
    if step is discovery.Step.LEAVE:
        return {"state": discovery.describe(job), "errors": []}
    if step is discovery.Step.CREATE or job is None:
        deployment = cluster.find("Deployment", nova["name"], namespace)
        problem = discovery.config_problem(deployment)
        if problem or deployment is None:
            return {"state": discovery.describe(None, waits_for=problem), "errors": []}
        job = _create(task, cluster, discovery.job(nova, deployment))
        diff = entry.difference(f"Job {namespace}/{name}", "", f"discovers {', '.join(task.params['unmapped'])}\n")
        return {"changed": True, "state": discovery.describe(job), "errors": [], "diff": diff}
    ended = discovery.finished(job)
    if ended and ended[0] == "Failed" and not task.check_mode:
        task.cluster().record_event(pool, "Warning", "HostDiscoveryFailed", f"The host discovery Job {name} failed")
    # Foreground: its pods are gone before the name is free, so that a Job never meets pods of its predecessor.
    cluster.delete(
        "Job", name, namespace, uid=job["metadata"]["uid"], propagation="Foreground", dry_run=task.check_mode
    )
    diff = entry.difference(f"Job {namespace}/{name}", f"{discovery.describe(job)}\n", "")
    return {"changed": True, "state": discovery.describe(job), "errors": [], "diff": diff}


def _create(task: entry.Task, cluster: kubernetes.Cluster, body: dict[str, Any]) -> dict[str, Any]:
    """Create the Job; one that another pool created in the meantime serves as well."""
    metadata = body["metadata"]
    try:
        job = cluster.create(body, dry_run=task.check_mode)
    except errors.CallError as error:
        if error.status != 409:
            raise
        there = cluster.get("Job", metadata["name"], metadata["namespace"])
        _refuse_foreign(there, task.params["nova"])
        return there
    if not task.check_mode:
        hosts = ", ".join(task.params["unmapped"])
        task.cluster().record_event(
            task.params["pool"], "Normal", "HostDiscoveryStarted", f"Started {metadata['name']} for hosts: {hosts}"
        )
    return job


def _refuse_foreign(job: dict[str, Any], nova: dict[str, Any]) -> None:
    """Raise a CallError for a Job that somebody else made under the name."""
    if not ownership.of_nova(nova).owns(job):
        metadata = job["metadata"]
        raise errors.CallError(
            system="kubernetes",
            call=f"Job {metadata['namespace']}/{metadata['name']}",
            detail=f"it does not belong to the Nova {nova['name']}: rename it, or remove it",
            kind="Job",
        )


def main() -> None:
    entry.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
