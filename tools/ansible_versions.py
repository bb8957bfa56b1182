#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of plays with each release of ansible-core that the collection supports. ``make test-versions``.

    tools/ansible_versions.py              all of them
    tools/ansible_versions.py 2.20         that one

A release gets an environment of its own below $XDG_CACHE_HOME, with everything else as `requirements/dev.txt` has it.
A Python that this machine does not have is named, and its release left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Final

import pythons

ROOT: Final = pathlib.Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release:
    """A release of ansible-core: its Pythons on the machine that runs a play, and the one it is tested with here."""

    name: str
    oldest: str
    pythons: tuple[str, ...]
    tested: str


#: `meta/runtime.yml` of the collection says the same. `make test-unit` and everything after it test 2.19 on 3.11.
RELEASES: Final = (
    Release(name="2.19", oldest="2.19.14", pythons=("3.11", "3.12", "3.13"), tested="3.13"),
    Release(name="2.20", oldest="2.20.0", pythons=("3.12", "3.13", "3.14"), tested="3.12"),
    Release(name="2.21", oldest="2.21.0", pythons=("3.12", "3.13", "3.14"), tested="3.13"),
)
#: What the collection promises of a play. The tests beside them are about the operator, which brings its own release.
TESTS: Final = (
    "tests/plays/test_untrusted_text.py",
    "tests/plays/test_in_process.py",
    "tests/plays/test_pools_inventory.py",
    "tests/plays/test_galaxy.py::test_role_of_the_tarball_runs",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="such as 2.20; all when none is named")
    chosen = parser.parse_args(arguments).releases
    for unknown in set(chosen) - {release.name for release in RELEASES}:
        parser.error(f"{unknown} is not one of {', '.join(release.name for release in RELEASES)}")
    found = pythons.found()
    failed = []
    for release in RELEASES:
        if chosen and release.name not in chosen:
            continue
        if release.tested not in found:
            print(f"ansible-core {release.name} is not tested: there is no Python {release.tested}", file=sys.stderr)
            continue
        python = environment(release, found[release.tested])
        print(f"ansible-core {release.name} on Python {release.tested}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [python, "-m", "pytest", "--numprocesses=auto", "--dist=loadscope", *TESTS], cwd=ROOT, check=False
        )
        if done.returncode:
            failed.append(release.name)
    return 1 if failed else 0


def environment(release: Release, python: pathlib.Path) -> pathlib.Path:
    """The Python of an environment with the newest of that release, and everything else as it is locked."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "nova-ansible-versions" / release.name
    uv = str(pathlib.Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", str(python), str(folder)], check=True)
    own = folder / "bin" / "python"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as override:
        override.write(f"ansible-core>={release.oldest},=={release.name}.*\n")
        override.flush()
        locked = ["--requirements", "requirements/dev.txt", "--override", override.name]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(own), *locked], cwd=ROOT, check=True)
    return own


if __name__ == "__main__":
    sys.exit(main())
