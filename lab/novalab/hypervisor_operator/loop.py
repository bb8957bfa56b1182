# SPDX-License-Identifier: Apache-2.0
"""Shows every object to every controller when it has changed, when a controller asked for it, or after a failure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping

from novalab.hypervisor_operator import (
    aggregates,
    eviction,
    ha,
    maintenance,
    nodes,
    offboarding,
    onboarding,
    ready,
    taint,
    traits,
)
from novalab.hypervisor_operator.cluster import Object
from novalab.hypervisor_operator.world import World

#: The pace of the operator whose times the controllers return: their ten seconds last ``Options.interval`` here.
_TEN_SECONDS = 10.0
#: The first delay after a failure and the longest one, in the operator's seconds; each is twice the one before.
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 300.0

Snapshot = Mapping[str, Mapping[str, Object]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Controller:
    """``notices`` is what of the snapshot makes the controller look at an object again when it changes."""

    name: str
    kind: str
    reconcile: Callable[[World, Object], float | None]
    notices: Callable[[Snapshot, str], Hashable]


def _versions(*kinds: str) -> Callable[[Snapshot, str], Hashable]:
    def notices(snapshot: Snapshot, name: str) -> Hashable:
        found = [snapshot[kind].get(name) for kind in kinds]
        return tuple(None if each is None else each["metadata"]["resourceVersion"] for each in found)

    return notices


def _generation(snapshot: Snapshot, name: str) -> Hashable:
    # What an Eviction writes into its own status is no reason to hurry: its pace is that of the migrations.
    metadata = snapshot["Eviction"][name]["metadata"]
    return metadata["uid"], metadata["generation"]


CONTROLLERS = (
    Controller(name="nodes", kind="Node", reconcile=nodes.reconcile, notices=_versions("Node", "Hypervisor")),
    *(
        Controller(name=name, kind="Hypervisor", reconcile=reconcile, notices=_versions("Hypervisor", "Eviction"))
        for name, reconcile in (
            ("onboarding", onboarding.reconcile),
            ("traits", traits.reconcile),
            ("ha", ha.reconcile),
            ("aggregates", aggregates.reconcile),
            ("maintenance", maintenance.reconcile),
            ("taint", taint.reconcile),
            ("offboarding", offboarding.reconcile),
            ("ready", ready.reconcile),
        )
    ),
    Controller(name="eviction", kind="Eviction", reconcile=eviction.reconcile, notices=_generation),
)


class Loop:
    """Remembers what each controller saw last, and when it wants to see it again."""

    def __init__(self, world: World, controllers: tuple[Controller, ...] = CONTROLLERS) -> None:
        self._world = world
        self._controllers = controllers
        self._seen: dict[tuple[str, str], Hashable] = {}
        self._due: dict[tuple[str, str], float] = {}
        self._failures: dict[tuple[str, str], int] = {}

    def tick(self, now: float) -> None:
        """Look at everything once; ``now`` is a monotonic time in seconds. Raises what the cluster's lists answer."""
        snapshot = {
            kind: {item["metadata"]["name"]: item for item in self._world.cluster.all(kind)}
            for kind in ("Node", "Hypervisor", "Eviction")
        }
        current = set()
        for controller in self._controllers:
            for name in snapshot[controller.kind]:
                key = (controller.name, name)
                current.add(key)
                noticed = controller.notices(snapshot, name)
                if self._seen.get(key) != noticed or self._due.get(key, float("inf")) <= now:
                    self._seen[key] = noticed
                    self._show(controller, name, now)
        for memory in (self._seen, self._due, self._failures):
            for key in set(memory) - current:
                del memory[key]

    def _show(self, controller: Controller, name: str, now: float) -> None:
        key = (controller.name, name)
        self._due.pop(key, None)
        item = self._world.cluster.get(controller.kind, name)
        if item is None:
            return
        try:
            again = controller.reconcile(self._world, item)
        except Exception as error:
            # Whatever it is, the next look may go better; that is how the operator itself goes on.
            self._failures[key] = self._failures.get(key, 0) + 1
            again = min(_FIRST_DELAY * 2.0 ** (self._failures[key] - 1), _LONGEST_DELAY)
            self._world.say(f"{controller.name} {name}: {type(error).__name__}: {error}")
        else:
            self._failures.pop(key, None)
        if again is not None:
            self._due[key] = now + again * self._world.options.interval / _TEN_SECONDS
