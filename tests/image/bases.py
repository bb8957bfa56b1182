# SPDX-License-Identifier: Apache-2.0
"""What the image is built on: the base that the Dockerfile pins, or a stand-in where no registry answers.

The stand-in is made by debootstrap of the same Debian and cut down as its slim images are, so that what is built on it
differs by nothing but Debian's own updates and the way to the package indexes.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from image import debian, engines, machine
from novalab import lab as labs

TREE = pathlib.Path(__file__).resolve().parents[2]
STAND_IN = "nova-compute-operator-base"
#: The registry has answered, and has not got what is pinned: that is a mistake in the Dockerfile.
_UNKNOWN = re.compile(r"manifest unknown|manifest for \S+ not found|repository does not exist")
#: What Debian's slim images leave out, now and at every later installation.
_LEFT_OUT = ("doc", "info", "locale", "lintian", "man")
_DPKG = "".join(f"path-exclude /usr/share/{name}/*\n" for name in _LEFT_OUT)
_DPKG += "path-include /usr/share/doc/*/copyright\n"


def pinned() -> str:
    """The base that the Dockerfile names."""
    (found,) = re.findall(r"^ARG BASE=(\S+)$", (TREE / "Dockerfile").read_text(), re.MULTILINE)
    return str(found)


def find(engine: engines.Engine) -> str:
    """The base to build on. Raises EngineError when a registry answers that it has no such base."""
    base = pinned()
    done = engine.run("pull", "--quiet", base)
    if done.returncode == 0:
        return base
    if _UNKNOWN.search(done.stderr):
        raise engines.EngineError(f"the base that the Dockerfile pins is not there: {done.stderr}")
    (suite,) = re.findall(r"/debian:(\w+)-slim@", base)
    return stand_in(engine, suite)


def stand_in(engine: engines.Engine, suite: str) -> str:
    """A tag of the engine for a Debian that was made here, with this machine's way to the package indexes."""
    archive, files = _archive(suite), machine.files(os.environ)
    # The same files would be another image at each import, and nothing built on the one before would be used again.
    tag = f"{STAND_IN}:{_key(archive.name, sorted(files.items()))}"
    if engine.run("image", "inspect", tag).returncode == 0:
        return tag
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "base.tar"
        shutil.copyfile(archive, whole)
        with tarfile.open(whole, "a") as tar:
            for path, text in files.items():
                written = pathlib.Path(folder) / "file"
                written.write_bytes(text)
                written.chmod(0o644)
                tar.add(written, arcname=f"./{path}")
        engine.output("import", str(whole), tag)
    return tag


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _archive(suite: str) -> pathlib.Path:
    """The files of a Debian, made once for each way to its archives."""
    mirrors = machine.mirrors(suite)
    archive = labs.cache_home() / f"image-base-{suite}-{_key(mirrors, _DPKG)}.tar"
    with labs.locked(labs.cache_home() / "image-base.lock"):
        if not archive.exists():
            debian.expect_root("a base for the image, where no registry has it,")
            _make(archive, suite, mirrors)
    return archive


def _make(archive: pathlib.Path, suite: str, mirrors: list[tuple[str, str]]) -> None:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="image-base-", dir="/var/tmp"))
    root = folder / "root"
    try:
        command = [debian.program("debootstrap", "debootstrap"), "--variant=minbase", suite, str(root)]
        done = subprocess.run(
            [*command, *(address for address, release in mirrors if release == suite)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
            raise debian.MissingError(f"no registry answers, and '{' '.join(command)}' failed:\n{said}")
        if mirrors:
            lines = [f"deb {address} {release} main\n" for address, release in mirrors]
            (root / "etc/apt/sources.list").write_text("".join(lines))
        _cut_down(root)
        part = archive.with_suffix(".part")
        subprocess.run(["tar", "--directory", root, "--numeric-owner", "--create", "--file", part, "."], check=True)
        part.rename(archive)
    finally:
        engines.unmount_below(folder)
        shutil.rmtree(folder)


def _cut_down(root: pathlib.Path) -> None:
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(_DPKG)
    share = root / "usr/share"
    for path in [path for name in _LEFT_OUT for path in (share / name).rglob("*")]:
        if not path.is_dir() and not (path.name == "copyright" and path.is_relative_to(share / "doc")):
            path.unlink()
    for emptied in ("var/lib/apt/lists", "var/cache/apt", "var/log"):
        for path in (root / emptied).iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
