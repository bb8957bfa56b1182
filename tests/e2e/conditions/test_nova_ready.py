# SPDX-License-Identifier: Apache-2.0
"""NovaReady: each reason is a wait or a failure that stops the pass, and heals with the next one."""

from __future__ import annotations

from typing import Any

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import own_nova as own_novas

condition = pytest.mark.condition


@condition("NovaReady", "NovaResolved")
def test_whole_nova_is_resolved_with_the_release_it_has_installed(bench: benches.Bench, settled: str) -> None:
    said = bench.expect(settled, "NovaReady", "True NovaResolved")
    assert "2026.1" in said.message
    assert benches.NOVA in said.message
    assert said.look == 60


@condition("NovaReady", "NovaNotFound")
def test_nova_that_is_gone_is_named_and_looked_for_again(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    bench.cluster.delete("Nova", benches.NOVA)
    said = bench.expect(settled, "NovaReady", "False NovaNotFound")
    assert benches.NOVA in said.message
    assert said.look == 15
    own_nova.make_whole()
    bench.expect(settled, "NovaReady", "True NovaResolved")
    bench.expect(settled, "Ready", "True AllReady")


@condition("NovaReady", "WaitingForInstalledRelease")
def test_nova_without_an_installed_release_is_waited_for(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    own_nova.set_status({"installedRelease": None})
    said = bench.expect(settled, "NovaReady", "False WaitingForInstalledRelease")
    assert benches.NOVA in said.message
    assert said.look == 15
    own_nova.set_status({})
    bench.expect(settled, "Ready", "True AllReady")


@condition("NovaReady", "ComputeConfigNotPublished")
def test_nova_that_has_published_no_contract_is_waited_for(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str
) -> None:
    own_nova.set_status({"computeConfigSecretRef": None})
    said = bench.expect(settled, "NovaReady", "False ComputeConfigNotPublished")
    assert "status.computeConfigSecretRef" in said.message
    assert said.look == 15
    own_nova.set_status({})
    bench.expect(settled, "Ready", "True AllReady")


@pytest.mark.parametrize("cause", ["absent", "without its key", "empty"])
@condition("NovaReady", "WaitingForServiceUserSecret")
def test_secret_of_the_service_user_is_named_when_it_holds_no_password(
    bench: benches.Bench, own_nova: own_novas.OwnNova, settled: str, cause: str
) -> None:
    broken: dict[str, Any] = {
        "without its key": {"data": {"password": None, "other": "eA=="}},
        "empty": {"data": {"password": ""}},
    }
    if cause == "absent":
        bench.cluster.delete("Secret", benches.USER_SECRET)
    else:
        bench.cluster.patch("Secret", benches.USER_SECRET, broken[cause])
    said = bench.expect(settled, "NovaReady", "False WaitingForServiceUserSecret")
    assert benches.USER_SECRET in said.message
    assert "password" in said.message
    assert said.look == 15
    own_nova.make_whole()
    bench.expect(settled, "Ready", "True AllReady")


@condition("NovaReady", "NovaError")
def test_secret_that_may_not_be_read_is_a_failure_with_its_http_status(bench: benches.Bench, settled: str) -> None:
    account = bench.account("without-secrets", "secrets")
    said = bench.expect(settled, "NovaReady", "False NovaError", kubeconfig=account)
    assert f"secrets/{benches.USER_SECRET}" in said.message
    assert "HTTP 403" in said.message
    assert said.look == 30
    bench.expect(settled, "Ready", "True AllReady")


@condition("NovaReady", "TargetClusterUnavailable")
def test_pool_on_a_target_cluster_does_nothing_and_says_that_the_cluster_does_not_resolve(bench: benches.Bench) -> None:
    name, _ = bench.new_pool(targetClusterRef={"name": "elsewhere"})
    said = bench.expect(name, "NovaReady", "False TargetClusterUnavailable")
    assert "elsewhere" in said.message
    assert said.look == 15
    assert set(bench.conditions(name)) == {"NovaReady", "Ready"}
    assert "finalizers" not in bench.pool(name)["metadata"]
    assert bench.cluster.children(name) == []
