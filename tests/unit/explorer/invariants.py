# SPDX-License-Identifier: Apache-2.0
"""What has to hold in every state, and how an explorer says that something does not."""

from __future__ import annotations

import dataclasses
from typing import Final

INVARIANTS: Final = {
    "pod gone": "a service is deleted only after the pods of every pool on the node are gone",
    "counted": "a service is deleted only where this pass counted no server",
    "releasing": "a service is deleted only on a node that the ledger in the API calls Releasing",
    "taken over": "a service that another pool takes over is not deleted",
    "draining": "a service is disabled only on a node that drains",
    # A pass that ends between the disable and the count leaves no trace of the first.
    "once": "a service is disabled once in a drain, as soon as a count followed it",
    "one holder": "after a pass of the younger pool no two pools hold a node Pending or Active",
    "deleting": "a pool being deleted holds no node Pending or Active after its pass",
    "selected": "a node that the pool selects does not leave it",
    "empty": "a node is released only when it is empty or handed over",
    "kept": "a draining node keeps its pod",
    "dropped": "an entry is dropped only after its pod is gone",
    "clean": "an entry is dropped only with its service, or with a pool that takes both over",
    "finalizer": "a finalizer leaves only after every node is released",
    "aggregate": "the last pool leaves no aggregate of ours behind",
}

#: What takes a whole world to see: where it comes to rest.
OF_REST: Final = {
    "rest": "left alone, the world comes to rest",
    "goal": "at rest, every selected node is held by one pool, and what is empty and left is gone",
}

OF_TRAITS: Final = {
    "own": "a trait that no pool of ours created is never deleted",
    "declared": "a trait is deleted only when no live pool that the pass read declares it",
    "recorded": "a trait is deleted only when no pool that the pass read records it on a node",
    "written": "a list names only traits that Placement had when the pass wrote it",
    "noted": "a trait is on a node's record before its list is written",
    "left": "a pool goes only without a created trait of its own",
    "trait rest": "left alone, the lists and Placement come to rest",
    "trait goal": "at rest, what is declared exists and is applied, and what was created and nobody declares is gone",
}


class BrokenError(AssertionError):
    """An invariant that does not hold; its text names it."""


def require(holds: bool, invariant: str) -> None:  # noqa: FBT001
    """Raise BrokenError unless the invariant ``holds``."""
    if not holds:
        raise BrokenError((INVARIANTS | OF_REST | OF_TRAITS)[invariant])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What an exploration visited: which world, what may happen around it, and under which bound."""

    world: str
    surroundings: str
    states: int
    transitions: int
    invariants: int
    bound: str

    def __str__(self) -> str:
        return (
            f"{self.world}, {self.surroundings}: {self.states} states, {self.transitions} transitions, "
            f"{self.invariants} invariants hold; bound: {self.bound}"
        )
