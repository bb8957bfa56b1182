# SPDX-License-Identifier: Apache-2.0
"""The image, built as a person builds it: by ``make image``."""

from __future__ import annotations

import os
import shlex
import subprocess
import tomllib

from image import bases, engines, machine


def tag() -> str:
    """How ``make image`` calls it."""
    project = tomllib.loads((bases.TREE / "pyproject.toml").read_text())["project"]
    return f"{project['name']}:{project['version']}"


def build(engine: engines.Engine, base: str) -> str:
    """Build the image of this tree; returns its tag. Raises EngineError with the end of the build's log."""
    flags = shlex.join(machine.build_flags(os.environ))
    command = ["make", f"--directory={bases.TREE}", "image", f"BASE={base}", f"BUILD_FLAGS={flags}"]
    done = subprocess.run(command, env=engine.variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise engines.EngineError(f"{shlex.join(command)}: exit {done.returncode}\n{said}")
    return tag()


def build_stage(engine: engines.Engine, base: str) -> str:
    """The stage of the Dockerfile in which the environment is made, as an image of its own; returns its tag."""
    name = f"{tag()}-build"
    words = (*machine.build_flags(os.environ), "--build-arg", f"BASE={base}", "--target=build", f"--tag={name}")
    engine.output("build", *words, str(bases.TREE))
    return name
