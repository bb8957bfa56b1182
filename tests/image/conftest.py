# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the image: an engine, the image built by it, a lab, and a pod in front of that lab."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from e2e.world import pools, stand, waiting
from image import bases, building, containers, debian, engines

LAB = "image"


@pytest.fixture(scope="session", autouse=True)
def takes_down_what_it_made() -> None:
    """Told to end, these tests end as when they are interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def engine() -> Iterator[engines.Engine]:
    """The engine of DOCKER_HOST, else one of our own."""
    try:
        with engines.opened() as found:
            yield found
    except debian.MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def base(engine: engines.Engine) -> str:
    """What the image is built on here."""
    return bases.find(engine)


@pytest.fixture(scope="session")
def revision() -> str:
    """The commit that the tree is at when the image is built."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=bases.TREE, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def image(engine: engines.Engine, base: str, revision: str) -> str:
    """The tag of the image of this tree."""
    return building.build(engine, base)


@pytest.fixture(scope="session")
def the_stand() -> Iterator[stand.Stand]:
    """A lab of these tests' own, with the CRD."""
    _lab("up")
    try:
        found = stand.Stand.find(LAB)
        assert found is not None
        pools.install_crd(found.cluster)
        waiting.wait_for("the CRD is served", lambda: pools.is_served(found.cluster), seconds=60)
        yield found
    finally:
        _lab("down")


@pytest.fixture(scope="session")
def pod(
    engine: engines.Engine, image: str, the_stand: stand.Stand, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[containers.Pod]:
    """A network with nothing but the lab's API server."""
    with containers.pod(engine, image, the_stand, tmp_path_factory.mktemp("pod")) as found:
        yield found


def _lab(action: str) -> None:
    command = [sys.executable, str(bases.TREE / "lab" / "lab.py"), action, "--name", LAB]
    # The lab's programs are worth their byte code, and this lab has a cluster of its own.
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED_ON}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


_NOT_PASSED_ON = ("PYTHONDONTWRITEBYTECODE", "KUBECONFIG", "LAB")
