# SPDX-License-Identifier: Apache-2.0
"""Failures that users of similar software reported in public, each with what is right for this operator.

A test that shows the right behaviour carries ``@pytest.mark.case(number)``; ``tests/coverage_of_the_spec.py`` prints
the cases beside their tests. B are of frameworks that run Ansible or Python in an operator, C of Nova, Placement and
Kubernetes.

AOP is operator-framework/ansible-operator-plugins, SDK operator-framework/operator-sdk, NO
openstack-k8s-operators/nova-operator, hvo openstack-hypervisor-operator, LP Launchpad, K8S kubernetes/kubernetes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Case:
    """One failure: what was seen, where it is told, and what this operator does instead."""

    seen: str
    source: str
    right: str


CASES: Mapping[str, Case] = {
    "B1": Case(
        "artifacts of runs and folders of gone resources fill the disk",
        "AOP#231, AOP#47, SDK#4989",
        "bounded over all pools, wiped with the pool and at start",
    ),
    "B2": Case(
        "two discovery caches for each user and host fill /tmp",
        "kubernetes.core#1054",
        "one discovery cache, shared and bounded",
    ),
    "B3": Case(
        "a new resource waits behind periodic looks",
        "SDK#5246, SDK#1978",
        "a changed generation goes first",
    ),
    "B4": Case(
        "workers are counted per kind, and a restart starts everything at once",
        "SDK#3585, awx-resource-operator#150",
        "one number of slots for the process",
    ),
    "B5": Case(
        "a module that hangs blocks its resource",
        "SDK#1882, SDK#2112",
        "a pass has a deadline, its process group is ended, the pool says so",
    ),
    "B7": Case(
        "defunct processes pile up",
        "SDK#1551, crossplane-contrib/provider-ansible#304",
        "every child is waited for",
    ),
    "B8": Case(
        "SIGTERM kills a run half way",
        "SDK#4996",
        "no new work, running passes reach a task's border, the Lease goes back",
    ),
    "B9": Case(
        "runs that share a folder swap their variables",
        "ansible-runner-service#47, ansible-runner#1440, ansible-runner#172",
        "a fresh folder for each pass, one pass at a time for a pool",
    ),
    "B11": Case(
        "secrets in logs through results, arguments and annotations",
        "awx-resource-operator#173, IBM/ibm-spectrum-scale-csi#187, awx-operator#460",
        "a secret is in no output at all",
    ),
    "B12": Case(
        "no_log everywhere hides why a task failed",
        "openshift-ansible#7288",
        "a failure's text is shown, without the secret",
    ),
    "B14": Case(
        "a field of a resource runs as a template",
        "AOP#41, SDK#5160, kiali-operator#1088",
        "text from a resource is never evaluated",
    ),
    "B15": Case(
        "keys of a spec are mangled into snake case",
        "SDK#1366, SDK#3173, SDK#5887",
        "the spec is passed as it is",
    ),
    "B17": Case(
        "each pass writes a fresh time and wakes itself",
        "knative/serving#1181, strimzi#13079, nebius/soperator#1894",
        "only a difference is written, and an own write wakes nothing",
    ),
    "B18": Case(
        "a condition says failed while all is well, or is wiped while a run is under way",
        "AOP#18, AOP#35",
        "the last verdict stays until there is a new one",
    ),
    "B20": Case(
        "the resource is gone although its cleanup failed",
        "SDK#2546, SDK#4909",
        "a finalizer leaves only after a deleting pass saw all released",
    ),
    "B21": Case(
        "a namespace's deletion takes the operator first, and the resource hangs",
        "SDK#1503, SDK#2362",
        "a documented escape that removes one finalizer and only that",
    ),
    "B23": Case(
        "a watch is dead and nobody notices, or loops on an expired version",
        "kopf#585, kopf#957, kopf#1276, kubernetes-client/python#728, kubernetes-client/python#2223",
        "a new list on 410, time limits on both ends, liveness knows the watches' age",
    ),
    "B24": Case(
        "the leader's thread dies and keeps the Lease",
        "kubernetes-client/python#2075",
        "no work, no Lease: the process ends with an error, and gives the Lease back on SIGTERM",
    ),
    "B25": Case(
        "a failure is never retried, or its back-off hides a fixed spec",
        "SDK#2372, SDK#1999, SDK#2502",
        "each outcome has its time, and a changed spec resets it",
    ),
    "B26": Case(
        "every run changes something",
        "pulp-operator#403, SDK#4258, awx-operator#1001",
        "the second pass changes nothing",
    ),
    "B27": Case(
        "check mode writes",
        "kubernetes.core#547, kubernetes.core#426, ansible/ansible#62569",
        "check mode writes nothing, and says what it would",
    ),
    "B29": Case(
        "informers of every Secret and Pod exhaust the memory",
        "k8ssandra-operator#1752, slauger/openvox-operator#577",
        "no Secret is cached, pods are listed by label and namespace",
    ),
    "C1": Case(
        "deleting the service of a host with servers answers 409",
        "Nova's release note bug-1763183",
        "back to Draining, counted again, no storm of retries",
    ),
    "C3": Case(
        "the delete answers 204 and the resource provider stays",
        "openstack-discuss 2019-06 #007097, LP#1829479",
        "a warning names the provider; no allocation and no provider is deleted by force",
    ),
    "C4": Case(
        "a service delete that fails half way leaves half of it",
        "Nova's services.py: aggregates, provider, mapping, then the row",
        "the delete is repeated, 404 is done, the entry goes last",
    ),
    "C5": Case(
        "a host that comes back with a new compute_id is refused by Placement",
        "LP#1817833",
        "compute_id outlives the pod, and a service that is up but unlisted shows",
    ),
    "C7": Case(
        "a compute that lost its compute_id refuses to start",
        "NO#1153",
        "the pod that does not start shows, the state path is never wiped",
    ),
    "C8": Case(
        "a service deleted before its nova-compute stopped registers again",
        "install_yamls#830, hvo d08ce62",
        "deleted only after the pod is gone",
    ),
    "C9": Case(
        "a host is found by a part of its name",
        "stackhpc-kayobe-config#1984, install_yamls#830",
        "host and binary are compared whole",
    ),
    "C11": Case(
        "a search for the service by name finds several",
        "openstacksdk's compute service find",
        "all services are listed, and each host has none or one",
    ),
    "C12": Case(
        "a cell that is down leaves rows without fields, and leaves unmapped hosts out",
        "Nova's services.py at 2.69",
        "UNKNOWN fails the step: it is neither unregistered nor empty",
    ),
    "C13": Case(
        "a server list by host leaves a cell out that is down",
        "Nova's servers.py, _is_cell_down_supported",
        "a count of zero holds only in a pass that saw every cell answer",
    ),
    "C15": Case(
        "the hypervisor list asks each compute for its uptime",
        "nova 567dbe1867",
        "asked only for a Pending host, once, never for each host",
    ),
    "C16": Case(
        "host discovery before the registration succeeds and maps nothing",
        "ci-framework#4156, ci-framework#2501, crowbar-openstack#2070",
        "only after the service is there, judged by the hypervisor list",
    ),
    "C17": Case(
        "two host discoveries at once end with a duplicate mapping",
        "Nova's cmd/manage.py, blueprint distributed-host-discovery",
        "one Job for a Nova, and a failed one is followed by another look",
    ),
    "C18": Case(
        "a host is up and unmapped, and boots fail",
        "crowbar-openstack#1913",
        "Ready only after the mapping",
    ),
    "C19": Case(
        "an aggregate's zone is renamed, or a host moved, under servers",
        "LP#1378904, LP#1907775",
        "never renamed and no host moved: AggregateZoneMismatch",
    ),
    "C21": Case(
        "a module empties an aggregate to delete it, and drops foreign metadata",
        "openstack.cloud host_aggregate.py, ansible/ansible#53166",
        "deleted only when marked, without hosts and without foreign keys",
    ),
    "C22": Case(
        "who created a trait is told by 201 or 204 alone",
        "Placement's handlers/trait.py",
        "owned after 201 only; a delete that answers 409 keeps it, 404 is done",
    ),
    "C23": Case(
        "traits written blindly, twice or in another order",
        "hvo 4448ced, hvo 58bd3d1, hvo 3471a3c",
        "a sorted set in byte order, compared before it is written",
    ),
    "C24": Case(
        "a token dies within a long wait, and 401 is met for ever",
        "gophercloud#459, gtema/openstack#1218",
        "one new token for a 401, and none on disk",
    ),
    "C25": Case(
        "each client parses a catalog of many regions",
        "hvo 62f2459",
        "one session for a Nova and pass, chosen by region and interface",
    ),
    "C27": Case(
        "a node that is not ready stalls a rolling update",
        "K8S#117204, K8S#117658, K8S#63465, K8S#73011",
        "the rollout shows, and the drain of other nodes goes on",
    ),
    "C29": Case(
        "one bad template after another takes all pods down",
        "K8S#123232",
        "a template changes only when it has to: terms in a stable order",
    ),
    "C30": Case(
        "a DaemonSet's old status is read as ready",
        "cilium-cli#413, cli-utils#550",
        "ready only when the controller saw this generation and every pod is of it",
    ),
    "C32": Case(
        "a Job made again under its name at once gets no pod",
        "K8S#131917, jobset#392",
        "deleted in the foreground, and made again when it is gone",
    ),
    "C33": Case(
        "a Job that was deleted leaves its pods",
        "fluxcd/pkg#670, K8S#20902",
        "every delete says how it propagates",
    ),
    "C35": Case(
        "server-side apply conflicts with late defaults and other managers",
        "K8S#119141, K8S#129960, hvo 436e8a2, hvo c57c5be",
        "one field manager, the smallest set, forced only on own children",
    ),
}
