# SPDX-License-Identifier: Apache-2.0
"""Where the programs of the control plane, and Helm, come from: the user's folder, the PATH, or Go modules.

A build takes minutes once and is kept outside the tree, keyed by everything that decides its outcome.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable

from novalab import errors, lab, progress

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
KWOK = ("kwok", "kwokctl")
HELM = "helm"

_MODULE = pathlib.Path(__file__).resolve().parents[2] / "kubernetes"
_KWOK_MODULE = _MODULE / "kwok"
_HELM_MODULE = _MODULE / "helm"
#: What is built of a module that names the programs of others; the control plane is a program of its own.
_PACKAGES = {
    _KWOK_MODULE: [f"sigs.k8s.io/kwok/cmd/{name}" for name in KWOK],
    _HELM_MODULE: ["helm.sh/helm/v4/cmd/helm"],
}
_KUBERNETES_VERSION = re.compile(r"^\s+k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", re.MULTILINE)
#: What Go's module and build caches take for a cold build, measured, with some air.
_SPACE_TO_BUILD = 7 * 1024**3


def find_or_build(tell: progress.Part) -> dict[str, pathlib.Path]:
    """The path of each program, by name. Raises LabError when they can neither be found nor built."""
    if folder := os.environ.get("LAB_KUBERNETES_BIN"):
        return _from_folder(pathlib.Path(folder).expanduser())
    on_path = {name: path for name in (*CONTROL_PLANE, *KWOK) if (path := shutil.which(name))}
    if len(on_path) == len(CONTROL_PLANE) + len(KWOK):
        return {name: pathlib.Path(path) for name, path in on_path.items()}
    return {**_built(_KWOK_MODULE, KWOK, tell), **_built(_MODULE, CONTROL_PLANE, tell)}


def find_or_build_helm(tell: progress.Part) -> pathlib.Path:
    """The path of Helm, which is no part of a lab but installs charts into one. Raises LabError."""
    return _built(_HELM_MODULE, (HELM,), tell)[HELM]


def _from_folder(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    found = {name: folder / name for name in (*CONTROL_PLANE, *KWOK)}
    missing = [name for name, path in found.items() if not os.access(path, os.X_OK)]
    if missing:
        raise errors.LabError(
            f"LAB_KUBERNETES_BIN={folder} lacks {', '.join(missing)}: put them there, "
            "or unset LAB_KUBERNETES_BIN to have everything built from Go modules"
        )
    return found


def _built(module: pathlib.Path, names: tuple[str, ...], tell: progress.Part) -> dict[str, pathlib.Path]:
    target = lab.cache_home() / f"{module.name}-{_checksum(module)}"
    programs = {name: target / name for name in names}
    if not target.exists():
        with lab.locked(lab.cache_home() / f"{module.name}.lock"):
            if not target.exists():
                _build(module, target, tell)
    return programs


def _checksum(module: pathlib.Path) -> str:
    checksum = hashlib.sha256()
    for path in sorted([module / "go.mod", module / "go.sum", *module.glob("*.go")]):
        checksum.update(path.name.encode() + b"\0" + path.read_bytes())
    return checksum.hexdigest()[:12]


def _build(module: pathlib.Path, target: pathlib.Path, tell: progress.Part) -> None:
    go = shutil.which("go") or next((path for path in ("/usr/local/go/bin/go",) if os.access(path, os.X_OK)), None)
    if go is None:
        raise errors.LabError(
            "Go is missing, and the Kubernetes control plane is built with it. Install Go 1.26 or newer "
            "(https://go.dev/dl/), or set LAB_KUBERNETES_BIN to a folder with " + ", ".join((*CONTROL_PLANE, *KWOK))
        )
    _check_space(go)
    lab.cache_home().mkdir(parents=True, exist_ok=True)
    log = lab.cache_home() / f"{module.name}-build.log"
    log.write_text("")
    if module == _MODULE:
        major, minor, patch = _version(module)
        package, what = ["."], f"Kubernetes {major}.{minor}.{patch}"
        prefix = "k8s.io/component-base/version."
        # kubectl refuses to compare itself with a server that cannot tell its version.
        version = {"gitVersion": f"v{major}.{minor}.{patch}", "gitMajor": major, "gitMinor": minor}
        flags = "-s -w " + " ".join(f"-X {prefix}{key}={value}" for key, value in version.items())
    else:
        package, what, flags = _PACKAGES[module], module.name, "-s -w"
    tell(f"{what}: downloading Go modules")
    listed = _run([go, "list", "-mod=readonly", "-deps", *package], module, log)
    with tempfile.TemporaryDirectory(dir=lab.cache_home(), prefix="build-") as folder:
        out = pathlib.Path(folder) / "bin"
        out.mkdir()
        command = [
            "nice",
            go,
            "build",
            "-mod=readonly",
            "-v",
            "-buildvcs=false",
            "-ldflags",
            flags,
            "-o",
            str(out) + "/",
        ]
        packages = len(listed.splitlines())
        tell(f"{what}: compiling")
        _compile(
            [*command, *package],
            module,
            log,
            lambda count: tell(f"{what}: compiling, {count} of at most {packages} packages"),
        )
        if module == _MODULE:
            (binary,) = out.iterdir()
            for name in CONTROL_PLANE:
                (out / name).symlink_to(binary.name)
        out.rename(target)


def _version(module: pathlib.Path) -> tuple[str, str, str]:
    match = _KUBERNETES_VERSION.search((module / "go.mod").read_text())
    if match is None:
        raise errors.LabError(f"{module}/go.mod names no version of k8s.io/kubernetes: restore the file")
    return match[1], match[2], match[3]


def _check_space(go: str) -> None:
    caches = subprocess.run([go, "env", "GOCACHE", "GOMODCACHE"], capture_output=True, text=True, check=True)
    for cache in map(pathlib.Path, caches.stdout.split()):
        existing = next(path for path in (cache, *cache.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        # Caches that are filled already need no more room; a gigabyte is what the link itself takes.
        if free < (_SPACE_TO_BUILD if not cache.exists() else 1024**3):
            raise errors.LabError(
                f"{existing} has {free / 1024**3:.1f} GiB free, and a first build of Kubernetes takes up to 7 GiB "
                "there: make room, or point GOCACHE and GOMODCACHE to another disk"
            )


def _run(argv: list[str], module: pathlib.Path, log: pathlib.Path) -> str:
    with log.open("a") as errors_to:
        done = subprocess.run(argv, cwd=module, stdout=subprocess.PIPE, stderr=errors_to, text=True, check=False)
    if done.returncode:
        raise errors.LabError(f"'{' '.join(argv[:2])}' failed in {module}", log=log)
    return done.stdout


def _compile(argv: list[str], module: pathlib.Path, log: pathlib.Path, tell_count: Callable[[int], None]) -> None:
    with log.open("a") as file, subprocess.Popen(argv, cwd=module, stderr=subprocess.PIPE, text=True) as build:
        assert build.stderr is not None
        # Another part of the lab may fail and end the command meanwhile: then nobody waits for this.
        atexit.register(build.terminate)
        for count, line in enumerate(build.stderr, 1):
            file.write(line)
            if count % 50 == 0:
                tell_count(count)
    if build.returncode:
        raise errors.LabError(f"'go build' failed in {module}", log=log)
