# SPDX-License-Identifier: Apache-2.0
"""What spec.maintenance does to a host's service and to its servers."""

from __future__ import annotations

import pytest
from novalab.hypervisor_operator import cloud, conditions, maintenance
from unit.lab_hypervisor_operator import memory


@pytest.fixture
def site(site: memory.Site) -> memory.Site:
    """A host that is onboarded."""
    site.registered()
    site.onboarding("False Succeeded")
    return site


def look(site: memory.Site) -> None:
    maintenance.reconcile(site.world, site.hypervisor)


def end_eviction(site: memory.Site, reason: str) -> None:
    eviction = site.cluster.get("Eviction", memory.HOST)
    assert eviction is not None
    eviction["status"] = {}
    conditions.put(eviction["status"], "Evicting", "False", reason)
    site.cluster.put(eviction)


@pytest.mark.parametrize("value", ["manual", "auto", "termination"])
def test_service_is_disabled_with_the_value_as_its_reason(site: memory.Site, value: str) -> None:
    site.spec(maintenance=value)
    look(site)
    assert site.cloud.services[memory.SERVICE] == {
        "status": "disabled",
        "disabled_reason": f"Hypervisor CRD: spec.maintenance={value}",
    }
    assert site.reads("HypervisorDisabled").startswith("True")


def test_service_is_disabled_once_even_when_somebody_enables_it_again(site: memory.Site) -> None:
    site.spec(maintenance="manual")
    look(site)
    site.cloud.services[memory.SERVICE]["status"] = "enabled"
    look(site)
    assert len(site.cloud.asked("disable_service")) == 1


def test_eviction_is_named_as_the_hypervisor_which_controls_it(site: memory.Site) -> None:
    site.spec(maintenance="manual", maintenanceReason="a person's words")
    look(site)
    eviction = site.cluster.get("Eviction", memory.HOST)
    assert eviction is not None
    (owner,) = eviction["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Hypervisor", memory.HOST, True)
    assert eviction["spec"]["hypervisor"] == memory.HOST
    assert "a person's words" not in eviction["spec"]["reason"]


def test_running_eviction_is_mirrored(site: memory.Site) -> None:
    site.spec(maintenance="manual")
    look(site)
    assert (site.reads("Evicting"), site.status["evicted"]) == ("True Running", False)


@pytest.mark.parametrize("reason", ["Succeeded", "Failed"])
def test_host_counts_as_evicted_however_its_eviction_ended(site: memory.Site, reason: str) -> None:
    site.spec(maintenance="manual")
    look(site)
    end_eviction(site, reason)
    look(site)
    assert (site.reads("Evicting"), site.status["evicted"]) == ("False Succeeded", True)


def test_eviction_is_not_looked_at_again_once_it_succeeded(site: memory.Site) -> None:
    site.spec(maintenance="manual")
    look(site)
    end_eviction(site, "Succeeded")
    look(site)
    site.cluster.delete("Eviction", memory.HOST)
    look(site)
    assert site.cluster.get("Eviction", memory.HOST) is None
    assert site.status["evicted"] is True


def test_maintenance_that_is_cleared_enables_and_forgets_the_eviction(site: memory.Site) -> None:
    site.spec(maintenance="manual")
    look(site)
    end_eviction(site, "Succeeded")
    look(site)
    site.spec(maintenance="")
    look(site)
    assert site.cloud.services[memory.SERVICE]["status"] == "enabled"
    assert site.cluster.get("Eviction", memory.HOST) is None
    assert (site.reads("Evicting"), site.status["evicted"]) == ("", False)
    assert site.reads("HypervisorDisabled") == "False Succeeded"


def test_service_is_enabled_once_after_onboarding_and_not_again(site: memory.Site) -> None:
    look(site)
    site.cloud.services[memory.SERVICE]["status"] = "disabled"
    look(site)
    assert len(site.cloud.asked("enable_service")) == 1
    assert site.cloud.services[memory.SERVICE]["status"] == "disabled"


def test_enable_of_a_deleted_service_leaves_everything_recorded_and_is_retried(site: memory.Site) -> None:
    site.spec(maintenance="manual")
    look(site)
    site.cloud.services.clear()
    site.spec(maintenance="")
    for _ in range(2):
        with pytest.raises(cloud.CloudError, match="404"):
            look(site)
    assert site.reads("HypervisorDisabled").startswith("True")
    assert site.reads("Evicting") == "True Running"
    assert site.cluster.get("Eviction", memory.HOST) is not None


def test_ha_neither_disables_nor_enables_nor_evicts(site: memory.Site) -> None:
    site.spec(maintenance="ha")
    look(site)
    assert site.cloud.calls == []
    assert site.cluster.get("Eviction", memory.HOST) is None


@pytest.mark.parametrize("phase", ["Initial", "Testing", "Handover"])
@pytest.mark.parametrize("value", ["", "manual", "auto", "termination"])
def test_nothing_happens_while_the_host_is_onboarded(site: memory.Site, phase: str, value: str) -> None:
    site.onboarding(f"True {phase}")
    site.spec(maintenance=value)
    look(site)
    assert site.cloud.calls == []


def test_maintenance_does_not_ask_for_lifecycle(site: memory.Site) -> None:
    site.spec(maintenance="manual", lifecycleEnabled=False)
    look(site)
    assert len(site.cloud.asked("disable_service")) == 1


def test_host_that_was_never_onboarded_has_no_service_to_disable(site: memory.Site) -> None:
    site.registered(serviceId="")
    site.spec(maintenance="manual")
    look(site)
    assert site.cloud.calls == []
    assert site.cluster.get("Eviction", memory.HOST) is not None
