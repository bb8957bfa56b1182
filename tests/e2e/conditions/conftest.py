# SPDX-License-Identifier: Apache-2.0
"""One bench for this folder, with a Nova of its own and a settled pool that each test finds in order."""

from __future__ import annotations

import pathlib
from collections.abc import Generator, Iterator

import pytest
from e2e.conditions import bench as benches
from e2e.conditions import hypervisors, objects
from e2e.conditions import own_nova as own_novas
from e2e.world import stand
from novalab import crds

#: What the passes of a test that went well left behind, see Bench.saw.
SEEN = pytest.StashKey[frozenset[tuple[str, ...]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what the test itself saw: passes that only clean up after it do not count."""
    report = yield
    used = getattr(item, "funcargs", {}).get("bench")
    if report.when == "call" and report.passed and isinstance(used, benches.Bench):
        item.stash[SEEN] = frozenset(used.saw)
    return report


@pytest.fixture(scope="package")
def the_bench(the_stand: stand.Stand, tmp_path_factory: pytest.TempPathFactory) -> Iterator[benches.Bench]:
    made = benches.Bench(the_stand, tmp_path_factory.mktemp("conditions"))
    yield made
    for name in made.cloud.aggregates():
        made.drop_aggregate(name)
    made.close()


@pytest.fixture(scope="package")
def own_nova(the_bench: benches.Bench) -> Iterator[own_novas.OwnNova]:
    """A Nova that tests may break: whole at the start of each."""
    made = own_novas.OwnNova(the_bench)
    made.make_whole()
    yield made
    made.remove()


@pytest.fixture
def bench(
    the_bench: benches.Bench, own_nova: own_novas.OwnNova, request: pytest.FixtureRequest
) -> Iterator[benches.Bench]:
    """The bench for one test. What the test's marks say it makes happen has to have happened."""
    the_bench.saw = set()
    own_nova.make_whole()
    yield the_bench
    the_bench.end_test()
    meant = {mark.args for name in ("condition", "phase") for mark in request.node.iter_markers(name)}
    seen = request.node.stash.get(SEEN, None)
    assert seen is None or meant <= seen, f"the test did not see {sorted(meant - seen)}"


@pytest.fixture(scope="package")
def the_settled_pool(the_bench: benches.Bench, own_nova: own_novas.OwnNova) -> Iterator[str]:
    name, _ = the_bench.new_pool(benches.NODE)
    undo = the_bench.undo.pop_all()
    the_bench.settle(name, benches.NODE)
    yield name
    the_bench.undo = undo
    the_bench.end_test()


@pytest.fixture
def settled(bench: benches.Bench, the_settled_pool: str) -> str:
    """A pool that is Ready, with a real nova-compute on NODE."""
    bench.settle(the_settled_pool, benches.NODE)
    bench.saw = set()
    return the_settled_pool


@pytest.fixture
def interposed(bench: benches.Bench) -> pathlib.Path:
    """The kubeconfig that leads through the interposer."""
    bench.interposer.take_requests()
    return bench.interposer.kubeconfig


@pytest.fixture(scope="package")
def crowd(the_bench: benches.Bench) -> Iterator[tuple[str, ...]]:
    """Nodes without anything behind them, more than a message names."""
    for name in benches.CROWD:
        the_bench.cluster.create(objects.fake_node(name, {"topology.kubernetes.io/zone": "az1"}))
    yield benches.CROWD
    for name in benches.CROWD:
        the_bench.cluster.delete("Node", name)


@pytest.fixture(scope="module")
def hypervisor_kind(the_bench: benches.Bench) -> Iterator[None]:
    """A cluster that serves Hypervisors."""
    crds.install(the_bench.stand.lab, "hypervisors")
    the_bench.wait("objects of the kind are served", lambda: the_bench.cluster.is_there(hypervisors.PATH))
    yield
    crds.remove(the_bench.stand.lab, "hypervisors")
