# SPDX-License-Identifier: Apache-2.0
"""The last pool of a Nova takes the mirrored Secrets along, and nobody else's."""

from __future__ import annotations

from typing import Any

from ansible_collections.c5c3.nova.plugins.module_utils.rules import mirrors, vocabulary
from unit.rules import objects

LEAVING = objects.novacompute(deleting=True)


def draining(*, finalizer: bool = True) -> dict[str, Any]:
    pool = objects.novacompute("pool-b", deleting=True, status={"nodes": [objects.entry(vocabulary.DRAINING)]})
    if finalizer:
        pool["metadata"]["finalizers"] = [vocabulary.DRAIN_FINALIZER]
    return pool


def secret(value: str | None) -> dict[str, Any]:
    return {"metadata": {"labels": {} if value is None else {vocabulary.MIRROR_LABEL: value}}}


def test_only_pool_is_the_last() -> None:
    assert mirrors.is_last(LEAVING, [LEAVING], nova_gone=False)


def test_live_pool_of_the_same_nova_keeps_the_mirrors() -> None:
    assert not mirrors.is_last(LEAVING, [LEAVING, objects.novacompute("pool-b")], nova_gone=False)


def test_live_pool_keeps_them_even_without_its_nova() -> None:
    assert not mirrors.is_last(LEAVING, [LEAVING, objects.novacompute("pool-b")], nova_gone=True)


def test_pool_of_another_nova_does_not_count() -> None:
    assert mirrors.is_last(LEAVING, [objects.novacompute("pool-b", nova="other")], nova_gone=False)


def test_pool_on_another_cluster_does_not_count() -> None:
    placed = objects.novacompute("pool-b", targetClusterRef={"name": "west"})
    assert mirrors.is_last(LEAVING, [placed], nova_gone=False)


def test_deleting_pool_that_still_drains_a_node_keeps_them() -> None:
    assert not mirrors.is_last(LEAVING, [draining()], nova_gone=False)


def test_deleting_pool_whose_finalizer_was_removed_does_not_count() -> None:
    assert mirrors.is_last(LEAVING, [draining(finalizer=False)], nova_gone=False)


def test_deleting_pool_drains_nothing_once_its_nova_is_gone() -> None:
    assert mirrors.is_last(LEAVING, [draining()], nova_gone=True)


def test_both_mirrors_are_named_after_the_nova() -> None:
    assert mirrors.names("nova") == ["nova-compute-config", "nova-hypervisor-operator-auth"]


def test_only_a_secret_with_the_mark_is_a_mirror() -> None:
    assert mirrors.is_mirror(secret("true"))
    assert not mirrors.is_mirror(secret("false"))
    assert not mirrors.is_mirror(secret(None))
