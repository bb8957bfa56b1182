# SPDX-License-Identifier: Apache-2.0
"""Where the demo plays: its pool and its Nova, in the lab's own cluster or in target clusters of it."""

from __future__ import annotations

import dataclasses
import os

from e2e.world import pools, stand
from novalab import lab as labs
from novalab import targets


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """How many target clusters there are, of which the last has the pool, and whether the first has the Nova."""

    targets: int
    places_nova: bool

    @classmethod
    def asked_for(cls) -> Setting:
        """What the environment says: TARGET=N, TARGET_NOVA=1. Raises SystemExit for anything else."""
        count, nova = os.environ.get("TARGET") or "0", os.environ.get("TARGET_NOVA") or "0"
        if count not in ("0", "1", "2") or nova not in ("0", "1") or (nova == "1" and count == "0"):
            raise SystemExit("TARGET is how many target clusters there are, 0 to 2; TARGET_NOVA=1 needs one of them")
        return cls(targets=int(count), places_nova=nova == "1")

    @property
    def target(self) -> str:
        """The target cluster of the pool; empty for the lab's own cluster."""
        return targets.NAMES[self.targets - 1] if self.targets else ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of the pool, the last of which is the only one of its zone."""
        return labs.first_nodes(self.target) if self.target else stand.NODES

    @property
    def drained(self) -> str:
        """The node that is drained: the zone's aggregate goes with it."""
        return self.nodes[-1]

    @property
    def kept(self) -> tuple[str, ...]:
        return self.nodes[:-1]

    @property
    def nova(self) -> str:
        """The Nova that the pool joins."""
        return targets.nova_name(targets.NAMES[0]) if self.places_nova else stand.NOVA

    @property
    def is_mirrored(self) -> bool:
        """Whether the pool reads a mirror of the compute contract, because the Nova is on another cluster."""
        return self.targets > 0 and not (self.places_nova and self.targets == 1)

    @property
    def manifest(self) -> str:
        """The pool of the guide, as it is written for this setting."""
        text = pools.GUIDE.replace(f"name: {stand.NOVA}\n", f"name: {self.nova}\n")
        return f"{text}  targetClusterRef:\n    name: {self.target}\n" if self.target else text
