# SPDX-License-Identifier: Apache-2.0
"""When a controller is shown an object, the condition Ready, and the way of a host from its Node to the end."""

from __future__ import annotations

import ast
import pathlib
from typing import Any

import novalab.hypervisor_operator
import pytest
from novalab.hypervisor_operator import loop, names, ready, world
from unit.lab_hypervisor_operator import memory


class Probe:
    """A controller that notes when it is called and answers what it is told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.answer: float | Exception | None = None

    def __call__(self, _: world.World, __: dict[str, Any]) -> float | None:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
def the_loop(site: memory.Site, probe: Probe) -> loop.Loop:
    site.options = world.Options(interval=10.0)
    (nodes,) = [each for each in loop.CONTROLLERS if each.name == "traits"]
    return loop.Loop(
        site.world, (loop.Controller(name="probe", kind="Hypervisor", reconcile=probe, notices=nodes.notices),)
    )


def test_unchanged_object_is_shown_once(the_loop: loop.Loop, probe: Probe) -> None:
    the_loop.tick(0)
    the_loop.tick(1000)
    assert probe.calls == 1


def test_changed_object_is_shown_again(the_loop: loop.Loop, probe: Probe, site: memory.Site) -> None:
    the_loop.tick(0)
    site.spec(customTraits=["CUSTOM_A"])
    the_loop.tick(0)
    assert probe.calls == 2


def test_object_is_shown_when_the_controller_asked_for_it(the_loop: loop.Loop, probe: Probe) -> None:
    probe.answer = 10.0
    the_loop.tick(0)
    the_loop.tick(9.9)
    assert probe.calls == 1
    the_loop.tick(10)
    assert probe.calls == 2


def test_shorter_interval_shortens_every_wait_alike(the_loop: loop.Loop, probe: Probe, site: memory.Site) -> None:
    site.options = world.Options(interval=1.0)
    short = loop.Loop(site.world, the_loop._controllers)
    probe.answer = 60.0
    short.tick(0)
    short.tick(5.9)
    assert probe.calls == 1
    short.tick(6)
    assert probe.calls == 2


def test_failure_is_retried_with_a_delay_that_doubles(the_loop: loop.Loop, probe: Probe, site: memory.Site) -> None:
    probe.answer = world.NotYetError("not yet")
    at = []
    for tenth in range(160):
        before = probe.calls
        the_loop.tick(tenth / 10)
        if probe.calls > before:
            at.append(tenth / 10)
    assert at == [0, 1, 3, 7, 15]
    assert site.said[0] == "probe host-1: NotYetError: not yet"


def test_success_forgets_the_failures(the_loop: loop.Loop, probe: Probe, site: memory.Site) -> None:
    probe.answer = world.NotYetError("not yet")
    the_loop.tick(0)
    the_loop.tick(1)
    probe.answer = None
    the_loop.tick(3)
    probe.answer = world.NotYetError("not yet")
    site.spec(reboot=True)
    the_loop.tick(100)
    the_loop.tick(101)
    assert probe.calls == 5


def run(site: memory.Site, seconds: int) -> None:
    """Let every controller work for as long as that."""
    the_loop = loop.Loop(site.world)
    for tenth in range(seconds * 10):
        the_loop.tick(tenth / 10)
        for server in site.cloud.servers.values():
            # What Nova does with a migration that it has accepted.
            if server["status"] == "MIGRATING":
                server |= {"status": "ACTIVE", "OS-EXT-SRV-ATTR:hypervisor_hostname": "host-2"}


def test_host_is_onboarded_from_its_label_to_the_end(site: memory.Site) -> None:
    site.cluster.delete("Hypervisor", memory.HOST)
    site.change_node(annotations={names.AGGREGATES: "", names.CUSTOM_TRAITS: "CUSTOM_A"})
    site.cloud.trait_names.add("CUSTOM_A")
    site.options = world.Options(ha=True)
    run(site, 10)
    assert site.reads("Onboarding") == "False Succeeded"
    assert site.reads("Ready") == "True Ready"
    assert site.cloud.hosts_of == {"az1": [memory.HOST], names.TEST_AGGREGATE: []}


def test_settled_host_costs_no_call_and_no_write(site: memory.Site) -> None:
    site.spec(customTraits=["CUSTOM_A"], aggregates=["az1"])
    site.cloud.trait_names.add("CUSTOM_A")
    site.options = world.Options(ha=True)
    the_loop = loop.Loop(site.world)
    for tenth in range(100):
        the_loop.tick(tenth / 10)
    assert site.reads("Ready") == "True Ready"
    calls, written = len(site.cloud.calls), len(site.cluster.written)
    for second in range(10, 1000):
        the_loop.tick(second)
    assert (site.cloud.calls[calls:], site.cluster.written[written:]) == ([], [])


def test_host_without_custom_traits_stays_in_its_handover_and_in_its_test_aggregates(site: memory.Site) -> None:
    site.options = world.Options(ha=True)
    run(site, 20)
    assert site.reads("Onboarding") == "True Handover"
    assert site.cloud.hosts_of == {"az1": [memory.HOST], names.TEST_AGGREGATE: [memory.HOST]}


def test_aggregates_that_do_not_exist_hold_the_host_at_the_beginning(site: memory.Site) -> None:
    site.cloud.hosts_of = {}
    run(site, 20)
    assert site.reads("Onboarding") == "True Initial"
    assert site.reads("AggregatesUpdated") == "False Failed"


def test_host_in_termination_is_evicted_tainted_and_offboarded(site: memory.Site) -> None:
    site.registered()
    site.onboarding("False Succeeded")
    site.spec(maintenance="termination")
    for name in ("a", "b"):
        site.cloud.servers[name] = {
            "id": name,
            "status": "ACTIVE",
            "OS-EXT-SRV-ATTR:hypervisor_hostname": memory.HOST,
        }
    run(site, 30)
    assert site.reads("Offboarded") == "True Offboarded"
    assert site.reads("Ready") == "False Offboarded"
    assert sorted(site.cloud.asked("live_migrate")) == [("a",), ("b",)]
    assert site.cloud.services == {}


@pytest.mark.parametrize(
    ("conditions", "spec", "status", "reason"),
    [
        (["Offboarded True Offboarded", "Terminating True Terminating"], {}, {}, "Offboarded"),
        (["Terminating True Terminating", "Onboarding True Initial"], {}, {}, "Terminating"),
        (["Onboarding True Initial", "Evicting True Running"], {}, {}, "Onboarding"),
        (["Onboarding False Succeeded", "Evicting True Running"], {"maintenance": "manual"}, {}, "Evicting"),
        (["Onboarding False Succeeded"], {"maintenance": "manual"}, {"evicted": True}, "Evicted"),
        (["Onboarding False Succeeded"], {"maintenance": "ha"}, {}, "Maintenance"),
        (["Onboarding False Aborted"], {}, {}, "Onboarding"),
        ([], {}, {}, "Onboarding"),
        (["Onboarding False Succeeded"], {}, {}, ""),
    ],
)
def test_ready_names_the_first_obstacle(
    site: memory.Site, conditions: list[str], spec: dict[str, Any], status: dict[str, Any], reason: str
) -> None:
    site.spec(**spec)
    site.registered(**status)
    for each in conditions:
        site.condition(*each.split())
    ready.reconcile(site.world, site.hypervisor)
    assert site.reads("Ready") == (f"False {reason}" if reason else "True Ready")


def test_stand_in_shares_no_code_with_the_product() -> None:
    (folder,) = novalab.hypervisor_operator.__path__
    imported = set()
    for path in pathlib.Path(folder).glob("*.py"):
        for part in ast.walk(ast.parse(path.read_text())):
            if isinstance(part, ast.ImportFrom):
                imported.add((part.module or "").split(".")[0])
            elif isinstance(part, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in part.names}
    assert imported & {"ansible", "ansible_collections", "nova_compute_operator"} == set()
    assert "novalab" in imported
