# SPDX-License-Identifier: Apache-2.0
"""Whose child an object is ("Sub-Resource Naming Convention").

On the owner's own cluster an owner reference says so, and garbage collection takes the child along. On a target cluster
the owner does not exist, and a reference to it would have its children collected: three labels say it there. Which of
the two it is, is the owner's own to say: ``targetClusterRef`` never changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import vocabulary

KIND_LABEL: Final = "openstack.c5c3.io/owner-kind"
NAME_LABEL: Final = "openstack.c5c3.io/owner-name"
NAMESPACE_LABEL: Final = "openstack.c5c3.io/owner-namespace"


def target_cluster(placed: Mapping[str, Any]) -> str:
    """The target cluster that a NovaCompute or a Nova names, or an empty text for the cluster it lives on."""
    return ((placed.get("spec") or {}).get("targetClusterRef") or {}).get("name") or ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Owner:
    """A NovaCompute or a Nova that has children. ``target_cluster`` is where they lie, empty for its own cluster."""

    kind: str
    name: str
    namespace: str
    uid: str
    target_cluster: str = ""

    @property
    def labels(self) -> dict[str, str]:
        """What children on a target cluster carry, and are listed by."""
        return {KIND_LABEL: self.kind, NAME_LABEL: self.name, NAMESPACE_LABEL: self.namespace}

    def marks(self) -> dict[str, Any]:
        """The metadata that makes a child the owner's: ``{labels, ownerReferences}``, one of them empty."""
        if self.target_cluster:
            return {"labels": self.labels, "ownerReferences": []}
        reference = {
            "apiVersion": vocabulary.API_VERSION,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        return {"labels": {}, "ownerReferences": [reference]}

    def owns(self, child: Mapping[str, Any]) -> bool:
        """Whether the child is the owner's.

        Locally that is the very object, not a namesake of an earlier life. What an earlier life left on a target
        cluster is taken over: nothing else would ever remove it.
        """
        metadata = child["metadata"]
        if self.target_cluster:
            return self.labels.items() <= (metadata.get("labels") or {}).items()
        return any(reference.get("uid") == self.uid for reference in metadata.get("ownerReferences") or [])

    def refuse_foreign(self, found: Mapping[str, Any] | None, kind: str) -> None:
        """Raise ValueError for an object of a child's name that is somebody else's: it is not adopted."""
        if found is not None and not self.owns(found):
            where = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
            raise ValueError(
                f"{kind} {where} does not belong to {self.kind} {self.name}: remove it, or rename the {self.kind}"
            )


def of_pool(pool: Mapping[str, Any]) -> Owner:
    """The NovaCompute as the owner of its children."""
    metadata = pool["metadata"]
    return Owner(
        kind=vocabulary.KIND,
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=metadata["uid"],
        target_cluster=target_cluster(pool),
    )


def of_nova(nova: Mapping[str, Any]) -> Owner:
    """The resolved Nova as the owner of its children."""
    return Owner(
        kind="Nova",
        name=nova["name"],
        namespace=nova["namespace"],
        uid=nova["uid"],
        target_cluster=nova["target"]["cluster"],
    )
