# SPDX-License-Identifier: Apache-2.0
"""Every condition a pool can show, and how the outcomes of a pass become its status.

:data:`REASONS` is the table of the specification ("Conditions"): what a reason means for the rest of the pass and when
the pool looks again are columns of it, so no caller decides either.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary

NOVA: Final = "NovaReady"
NODES: Final = "NodesReady"
CONFIG: Final = "ConfigReady"
DAEMON_SET: Final = "DaemonSetReady"
VPA: Final = "VPAReady"
AGGREGATES: Final = "AggregatesReady"
TRAITS: Final = "TraitsReady"
SERVICES: Final = "ServicesReady"
EXTRA_CONFIG: Final = "ExtraConfigHealthy"
READY: Final = "Ready"
#: The reasons of Ready, and of events, that no pass records: the operator does, of one that it ended or that failed.
RUN_TIMEOUT: Final = "RunTimeout"
RUN_FAILED: Final = "RunFailed"

#: The eight types that feed Ready, in the order of the pass.
STEPS: Final = (NOVA, NODES, CONFIG, DAEMON_SET, VPA, AGGREGATES, TRAITS, SERVICES)


class Flow(enum.Enum):
    """What a reason means for the steps after it."""

    READY = "ready"
    #: Not ready, yet later steps run: one NotReady node must not freeze the drain of another.
    CONTINUES = "continues"
    #: A wait or a failure: later steps do not run and their conditions keep what they said.
    STOPS = "stops"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reason:
    """One row of the table. ``look`` is in seconds; None leaves the wake-up to the other steps."""

    type: str
    reason: str
    flow: Flow
    look: float | None = None
    cause: str
    way_out: str = ""

    @property
    def status(self) -> str:
        return "True" if self.flow is Flow.READY else "False"


def _row(
    condition: str, reason: str, flow: Flow, cause: str, way_out: str = "", *, look: float | None = None
) -> Reason:
    return Reason(type=condition, reason=reason, flow=flow, cause=cause, way_out=way_out, look=look)


_INPUT = vocabulary.LOOK_AT_INPUT
_FAILURE = vocabulary.LOOK_AFTER_FAILURE

REASONS: Final = (
    _row(NOVA, "NovaResolved", Flow.READY, "The Nova is installed and its contract and service user are readable."),
    _row(
        NOVA,
        "NovaNotFound",
        Flow.STOPS,
        "No Nova of that name is in the namespace.",
        "Create the Nova, or correct spec.novaRef.name in a new pool.",
        look=_INPUT,
    ),
    _row(
        NOVA,
        "WaitingForInstalledRelease",
        Flow.STOPS,
        "The Nova has not installed a release yet.",
        "Wait for the Nova's installation.",
        look=_INPUT,
    ),
    _row(
        NOVA,
        "ComputeConfigNotPublished",
        Flow.STOPS,
        "The Nova has not published status.computeConfigSecretRef yet.",
        "Wait for the Nova.",
        look=_INPUT,
    ),
    _row(
        NOVA,
        "TargetClusterUnavailable",
        Flow.STOPS,
        "The pool's target cluster, or the Nova's, does not resolve or does not answer.",
        "Register the cluster, or repair it: the message says what is wrong, and since when.",
        look=_INPUT,
    ),
    _row(
        NOVA,
        "WaitingForServiceUserSecret",
        Flow.STOPS,
        "The Secret with the service user's password, or its key, is absent or empty.",
        "Provide the Secret that the Nova's spec.serviceUser.secretRef names.",
        look=_INPUT,
    ),
    _row(
        NOVA,
        "NovaError",
        Flow.STOPS,
        "Reading the Nova or its Secret failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(NODES, "NodesResolved", Flow.READY, "The nodes of the pool are known."),
    _row(
        NODES,
        "NoMatchingNodes",
        Flow.CONTINUES,
        "The selector matches no node and the pool holds none.",
        "Label a node, or correct spec.nodeSelector.",
    ),
    _row(
        NODES,
        "NodeConflict",
        Flow.CONTINUES,
        "Another pool of the same Nova holds a node that the selector matches.",
        "Make the selectors disjoint, or remove the node from the other pool.",
    ),
    _row(
        NODES,
        "NodesForbidden",
        Flow.STOPS,
        "Listing Nodes answered 403.",
        "Install the operator cluster-scoped.",
        look=_FAILURE,
    ),
    _row(
        NODES,
        "NodeListError",
        Flow.STOPS,
        "Listing or reading Nodes failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(CONFIG, "ConfigRendered", Flow.READY, "compute-pool.conf is in its ConfigMap."),
    _row(
        CONFIG,
        "WaitingForComputeConfig",
        Flow.STOPS,
        "The compute contract Secret is not in the pool's namespace.",
        "Mirror or copy the Secret that the Nova's status names.",
        look=_INPUT,
    ),
    _row(
        CONFIG,
        "ComputeConfigIncomplete",
        Flow.STOPS,
        "A key of the compute contract Secret is missing or empty.",
        "Repair the Secret: the message names the keys.",
        look=_INPUT,
    ),
    _row(
        CONFIG,
        "ConfigError",
        Flow.STOPS,
        "Reading the contract, or writing or pruning the ConfigMaps, failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(DAEMON_SET, "DaemonSetReady", Flow.READY, "Every node of the pool runs a ready pod of the current template."),
    _row(
        DAEMON_SET,
        "DaemonSetProgressing",
        Flow.CONTINUES,
        "A rollout is in flight.",
        "Look at the pods of the nodes that are not ready.",
    ),
    _row(
        DAEMON_SET,
        "DaemonSetError",
        Flow.STOPS,
        "The DaemonSet could not be applied, read or deleted.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(VPA, "VPAReady", Flow.READY, "The VerticalPodAutoscaler is applied."),
    _row(VPA, "VPANotRequired", Flow.READY, "spec.verticalAutoscaling is unset."),
    _row(
        VPA,
        "VPANotInstalled",
        Flow.CONTINUES,
        "The cluster serves no VerticalPodAutoscaler of autoscaling.k8s.io/v1.",
        "Install the VPA, or remove spec.verticalAutoscaling.",
    ),
    _row(
        VPA,
        "CapabilityProbeFailed",
        Flow.CONTINUES,
        "The cluster could not be asked for the kind.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        VPA,
        "VPAError",
        Flow.CONTINUES,
        "Listing, applying or deleting a VerticalPodAutoscaler failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(AGGREGATES, "AggregatesEnsured", Flow.READY, "The aggregates of the pool's zones are in place."),
    _row(
        AGGREGATES,
        "NodesOutsideZoneAggregate",
        Flow.READY,
        "The aggregates are in place, but an Active node is in no aggregate of its zone.",
        "Annotate the Node with nova.openstack.cloud.sap/aggregates, or leave it so where no hypervisor operator runs.",
    ),
    _row(
        AGGREGATES,
        "NodesWithoutZone",
        Flow.CONTINUES,
        "A selected node carries no topology.kubernetes.io/zone.",
        "Label the node.",
    ),
    _row(
        AGGREGATES,
        "AggregateZoneMismatch",
        Flow.CONTINUES,
        "An aggregate of that name exists with another availability zone.",
        "Rename or delete that aggregate, or correct the zone label.",
    ),
    _row(
        AGGREGATES,
        "WaitingForAggregate",
        Flow.STOPS,
        "Another creator made the aggregate between the list and the create.",
        "None is needed: the next pass reads it.",
        look=vocabulary.LOOK_AT_AGGREGATE,
    ),
    _row(
        AGGREGATES,
        "ComputeAPIError",
        # Whoever follows a drain looks at ServicesReady, which says by itself what Nova does not answer.
        Flow.CONTINUES,
        "A Keystone or Nova call failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        AGGREGATES,
        "NovaComputeListError",
        Flow.STOPS,
        "Listing the other pools of the Nova failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(TRAITS, "NoTraitsDeclared", Flow.READY, "No node desires a trait, none records one, none was created."),
    _row(TRAITS, "TraitsApplied", Flow.READY, "Every managed node's Hypervisor reports its desired list."),
    _row(
        TRAITS,
        "WaitingForHypervisorOperator",
        Flow.READY,
        "The hypervisor operator has not applied a list yet.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "NodesWithCustomTraitsAnnotation",
        Flow.CONTINUES,
        "A managed node carries the annotation nova.openstack.cloud.sap/custom-traits.",
        "Remove the annotation to hand the node to the pool.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "NodesWithoutHypervisor",
        Flow.CONTINUES,
        "A managed node has no Hypervisor.",
        "Label the Node with nova.openstack.cloud.sap/virt-driver, or remove its traits.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "HypervisorLifecycleDisabled",
        Flow.CONTINUES,
        "A Hypervisor has spec.lifecycleEnabled: false.",
        "Label the Node for the hypervisor operator's lifecycle.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "HypervisorTraitsFailed",
        Flow.CONTINUES,
        "A Hypervisor reports TraitsUpdated=False.",
        "The message carries what the hypervisor operator says.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "HypervisorOperatorNotInstalled",
        Flow.CONTINUES,
        "The pool's cluster serves no hypervisors.kvm.cloud.sap.",
        "Install the hypervisor operator, or remove the traits.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "HypervisorsForbidden",
        Flow.CONTINUES,
        "Reading or patching a Hypervisor answered 403.",
        "Install the operator cluster-scoped; on a target cluster, grant its user get and patch on hypervisors.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "HypervisorError",
        Flow.CONTINUES,
        "Reading or patching a Hypervisor failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "PlacementEndpointNotFound",
        Flow.CONTINUES,
        "The token's catalog lists no internal Placement endpoint in the Nova's region.",
        "Set the Nova's spec.endpoints.placement.override, or add the endpoint.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "PlacementAPIError",
        Flow.CONTINUES,
        "Creating or deleting a trait failed.",
        "The message names the trait, the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "ComputeAPIError",
        Flow.CONTINUES,
        "The Keystone token request failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "NovaComputeListError",
        Flow.CONTINUES,
        "Listing the other pools of the Nova failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        TRAITS,
        "TargetClusterUnavailable",
        Flow.CONTINUES,
        "The pool's target cluster does not resolve.",
        "Register the cluster, or repair its registration: the message says what is wrong with it.",
        look=_INPUT,
    ),
    _row(SERVICES, "ServicesUp", Flow.READY, "Every node's compute service is registered and up."),
    _row(SERVICES, "Draining", Flow.READY, "Nodes are leaving the pool; the message counts their servers."),
    _row(
        SERVICES,
        "WaitingForServices",
        Flow.CONTINUES,
        "A selected node has no compute service yet.",
        "Look at the node's pod and its log.",
    ),
    _row(
        SERVICES,
        "WaitingForHostMapping",
        Flow.CONTINUES,
        "A selected node's service is registered, but Nova has not mapped its host into the cell yet.",
        "The message names the state of the host discovery Job.",
        look=vocabulary.LOOK_AT_MAPPING,
    ),
    _row(
        SERVICES,
        "HostDiscoveryError",
        Flow.CONTINUES,
        "The host discovery Job could not be read, created or deleted.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        SERVICES,
        "ServicesDown",
        Flow.CONTINUES,
        "Nova reports an Active node's service down.",
        "Look at the node's pod and its log.",
    ),
    _row(
        SERVICES,
        "ComputeAPIError",
        Flow.CONTINUES,
        "A Keystone or Nova call failed, or a cell did not answer.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        SERVICES,
        "PodListError",
        Flow.CONTINUES,
        "Listing the pods on a node being released failed.",
        "The message names the call and the HTTP status.",
        look=_FAILURE,
    ),
    _row(
        EXTRA_CONFIG, "NoOwnedKeysOverridden", Flow.READY, "spec.extraConfig overrides no key that the operator owns."
    ),
    _row(
        EXTRA_CONFIG,
        "OwnedKeysOverridden",
        Flow.CONTINUES,
        "spec.extraConfig overrides a key that the operator owns.",
        "Use the field that the message names.",
    ),
    _row(READY, "AllReady", Flow.READY, "All eight conditions are True."),
    _row(
        READY,
        "NotAllReady",
        Flow.CONTINUES,
        "At least one of the eight conditions is not True.",
        "Look at the conditions that are not True.",
    ),
    # Not of the specification, which knows no pass that does not come to its end.
    _row(
        READY,
        RUN_TIMEOUT,
        Flow.CONTINUES,
        "The last pass was ended at its limit; the other conditions keep what the pass before it said.",
        "The operator's log names the pass; the next one starts by itself, and a whole one says Ready anew.",
    ),
    _row(
        READY,
        RUN_FAILED,
        Flow.CONTINUES,
        "The last pass failed before it could write the status, as when the API server refuses a write to the pool.",
        "The message names the task and what it said; the next pass starts by itself, and a whole one says Ready anew.",
    ),
)

#: What the schema admits: the API server would refuse the whole status for one character more.
_MESSAGE_CHARACTERS: Final = 32768

_BY_NAME: Final = {(row.type, row.reason): row for row in REASONS}


def reason(condition: str, name: str) -> Reason:
    """The row of the table. Raises KeyError for a pair that the specification does not know."""
    return _BY_NAME[condition, name]


def outcome(condition: str, name: str, message: str, *, look: float | None = None) -> dict[str, Any]:
    """What one step found, as data: its condition, whether later steps run, and when to look again (seconds or None).

    ``look`` adds a wake-up of the step's own; the earlier of it and the table's wins.
    """
    row = reason(condition, name)
    admitted = message[:_MESSAGE_CHARACTERS]
    return {
        "condition": {"type": condition, "status": row.status, "reason": name, "message": admitted},
        "goes_on": row.flow is not Flow.STOPS,
        "look": earliest([row.look, look]),
    }


def earliest(looks: Iterable[float | None]) -> float | None:
    """The shortest of the wake-ups that were asked for, in seconds; None when nobody asked."""
    return min((look for look in looks if look is not None), default=None)


#: Which reason a failed call gives, per condition: by the API that failed, then by HTTP status (None is any other).
_FAILURES: Final[Mapping[str, Mapping[tuple[str, int | None], str]]] = {
    NOVA: {("any", None): "NovaError"},
    NODES: {("Node", 403): "NodesForbidden", ("any", None): "NodeListError"},
    CONFIG: {("any", None): "ConfigError"},
    DAEMON_SET: {("any", None): "DaemonSetError"},
    VPA: {("any", None): "VPAError"},
    AGGREGATES: {("NovaCompute", None): "NovaComputeListError", ("any", None): "ComputeAPIError"},
    TRAITS: {
        ("PlacementEndpoint", None): "PlacementEndpointNotFound",
        ("Trait", None): "PlacementAPIError",
        ("Token", None): "ComputeAPIError",
        ("placement", None): "PlacementAPIError",
        ("keystone", None): "ComputeAPIError",
        ("nova", None): "ComputeAPIError",
        # Without the password there is no token.
        ("Secret", None): "ComputeAPIError",
        ("TargetCluster", None): "TargetClusterUnavailable",
        ("Hypervisor", 403): "HypervisorsForbidden",
        ("NovaCompute", None): "NovaComputeListError",
        ("any", None): "HypervisorError",
    },
    SERVICES: {
        ("Pod", None): "PodListError",
        ("Job", None): "HostDiscoveryError",
        ("Deployment", None): "HostDiscoveryError",
        ("any", None): "ComputeAPIError",
    },
}


def failure(condition: str, message: str, error: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The outcome of a step whose call failed.

    ``error`` is a client's error as data ({system, call, status, detail, kind?}); None is a failure of our own.
    """
    table = _FAILURES[condition]
    known = error or {}
    system, kind, status = known.get("system"), known.get("kind"), known.get("status")
    for key in ((kind, status), (kind, None), (system, status), (system, None), ("any", None)):
        if key in table:
            return outcome(condition, table[key], message)  # type: ignore[index]
    raise KeyError(condition)


def describe(error: Mapping[str, Any]) -> str:
    """A failed call for a message: the node or trait it concerns, then the call, the HTTP status and the detail."""
    parts = [
        error.get("node") or error.get("trait"),
        error["call"],
        f"HTTP {error['status']}" if error.get("status") else None,
    ]
    return ": ".join([part for part in [*parts, error.get("detail")] if part])


def describe_some(errors: Iterable[Mapping[str, Any]]) -> str:
    """Failed calls for a message, each said once: the first 20, and how many more there are."""
    return name_some(list(dict.fromkeys(describe(error) for error in errors)), separator="; ")


def merge(
    old: Sequence[Mapping[str, Any]], outcomes: Sequence[Mapping[str, Any]], *, generation: int, now: str
) -> list[dict[str, Any]]:
    """The conditions after a pass: those of ``outcomes`` anew, the others as they were, and Ready from all of them.

    The order is that of first insertion, and lastTransitionTime moves only with the status, so that a pass that
    found nothing new writes nothing. A True Ready has seen no more of the spec than the oldest condition it rests on:
    a pass may run but some of the steps. ``now`` is RFC 3339.
    """
    merged = put(old, [item["condition"] for item in outcomes], generation=generation, now=now)
    known = {condition["type"]: condition for condition in merged}
    ready = _ready(known)
    if ready["status"] == "True":
        generation = min(known[step].get("observedGeneration", 0) for step in STEPS)
    return put(merged, [ready], generation=generation, now=now)


def put(
    old: Sequence[Mapping[str, Any]], fresh: Iterable[Mapping[str, Any]], *, generation: int, now: str
) -> list[dict[str, Any]]:
    """The conditions with those of ``fresh`` in the place of what they said before; Ready is not made of the others."""
    merged = {condition["type"]: dict(condition) for condition in old}
    for condition in fresh:
        before = merged.get(condition["type"])
        moved = before is None or before["status"] != condition["status"]
        merged[condition["type"]] = {
            **condition,
            "observedGeneration": generation,
            "lastTransitionTime": now if before is None or moved else before["lastTransitionTime"],
        }
    return list(merged.values())


def _ready(conditions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    if all(conditions.get(step, {}).get("status") == "True" for step in STEPS):
        return outcome(READY, "AllReady", "All sub-conditions are ready")["condition"]  # type: ignore[no-any-return]
    return outcome(READY, "NotAllReady", "One or more sub-conditions are not ready")["condition"]  # type: ignore[no-any-return]


def name_some(names: Sequence[str], *, separator: str = ", ") -> str:
    """Names for a message: the first 20, and how many more there are."""
    named = separator.join(names[: vocabulary.NAMED_AT_MOST])
    rest = len(names) - vocabulary.NAMED_AT_MOST
    return f"{named} and {rest} more" if rest > 0 else named
