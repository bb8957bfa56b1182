# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests: the lab of $KUBECONFIG, an operator with shortened poll times, a world per test."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from e2e.world import cluster, operator_process, placed, pools, stand, waiting
from e2e.world import reader as readers
from e2e.world import world as worlds
from nova_compute_operator import outcomes

#: The specification's poll times, from ten seconds to a minute, become two to twelve seconds.
POLL_SCALE = 0.2

_PASSED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def the_stand() -> stand.Stand:
    """The running lab of this shell, with the CRD of this tree."""
    kubeconfig = os.environ.get("KUBECONFIG", "")
    found = stand.Stand.find(os.environ.get("LAB", ""))
    if found is None or str(found.lab.kubeconfig) != kubeconfig:
        pytest.fail('no lab is in this shell: eval "$(lab/lab.py env)" after lab/lab.py up', pytrace=False)
    pools.install_crd(found.cluster)
    waiting.wait_for("the CRD is served", lambda: pools.is_served(found.cluster), seconds=60)
    return found


@pytest.fixture(scope="session")
def flavor(the_stand: stand.Stand) -> Iterator[str]:
    """The id of the guide's flavor."""
    made = the_stand.cloud.create_flavor("e2e.nano")
    yield made
    the_stand.cloud.delete_flavor(made)


@pytest.fixture(scope="session")
def image(the_stand: stand.Stand) -> Iterator[str]:
    """The id of an image that a server of the fake driver boots from."""
    made = the_stand.cloud.create_image("e2e-image", bytes(2**20))
    yield made
    the_stand.cloud.delete_image(made)


@pytest.fixture(scope="session")
def log_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Where the operators of all tests log."""
    return tmp_path_factory.mktemp("operator")


@pytest.fixture(scope="session")
def open_world(the_stand: stand.Stand, flavor: str, image: str, log_folder: pathlib.Path) -> worlds.Opener:
    """Opens a world whose operator does not run yet, in a Nova that knows no compute."""

    @contextlib.contextmanager
    def opened(name: str) -> Iterator[worlds.World]:
        assert the_stand.cloud.services() == {}, "an earlier test left compute services behind"
        assert the_stand.cloud.aggregates() == {}, "an earlier test left aggregates behind"
        operator = operator_process.OperatorProcess(the_stand, log_folder / f"{name}.log", poll_scale=POLL_SCALE)
        world = worlds.World(the_stand, operator, flavor=flavor, image=image)
        try:
            yield world
        finally:
            # Whatever the test has met: the next one begins with an empty Nova.
            try:
                world.clean_up()
            finally:
                operator.stop()
        world.expect_kept_promises()

    return opened


@pytest.fixture(scope="session")
def the_target(the_stand: stand.Stand, log_folder: pathlib.Path) -> Iterator[placed.Target]:
    """The first target cluster."""
    with placed.opened(the_stand, log_folder / "target.log") as found:
        yield found


@pytest.fixture
def edge(the_target: placed.Target) -> placed.Target:
    """The target cluster, registered and with the compute contract, whatever the test before has done to it."""
    the_target.register()
    the_target.mirror_contract()
    return the_target


@pytest.fixture
def idle_world(request: pytest.FixtureRequest, open_world: worlds.Opener) -> Iterator[worlds.World]:
    """A world whose operator does not run yet."""
    with open_world(re.sub(r"\W+", "-", request.node.name)[:100]) as world:
        yield world


@pytest.fixture
def world(idle_world: worlds.World) -> worlds.World:
    """A world with a running operator."""
    idle_world.operator.start()
    return idle_world


@pytest.fixture
def no_pool_labels(the_stand: stand.Stand) -> Iterator[None]:
    """Nodes without the label that the documentation selects by, and that the lab's nodes carry."""
    had = {
        node: the_stand.cluster.read("Node", node)["metadata"]["labels"].get(cluster.POOL_LABEL) for node in stand.NODES
    }
    for node in had:
        the_stand.cluster.set_labels(node, {cluster.POOL_LABEL: None})
    yield
    for node, value in had.items():
        the_stand.cluster.set_labels(node, {cluster.POOL_LABEL: value})


@pytest.fixture
def passes_seen(monkeypatch: pytest.MonkeyPatch) -> list[list[dict[str, Any]]]:
    """The events of each pass that this process runs from now on, as they come: no file holds them."""
    seen: list[list[dict[str, Any]]] = []
    take = outcomes.Reader.take

    def keep(reader: outcomes.Reader, event: dict[str, Any]) -> None:
        if event["event"] == "playbook_on_start":
            seen.append([])
        seen[-1].append(event)
        take(reader, event)

    monkeypatch.setattr(outcomes.Reader, "take", keep)
    return seen


@pytest.fixture
def reader(request: pytest.FixtureRequest, the_stand: stand.Stand, tmp_path: pathlib.Path) -> Iterator[readers.Reader]:
    """A reader of the documentation. What the test's marks say that it types has to have been typed."""
    made = readers.Reader(the_stand, tmp_path)
    yield made
    meant = {mark.args for mark in request.node.iter_markers("page")}
    if request.node.stash.get(_PASSED, False):
        assert meant == made.done, f"typed, and not said by a mark, or the other way: {sorted(meant ^ made.done)}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the pools, Nova and the operator looked like at that moment."""
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    made = getattr(item, "funcargs", {})
    known = made.get("idle_world", made.get("world"))
    if report.failed and isinstance(known, worlds.World):
        report.sections.append(("what there was", known.evidence()))
    return report
