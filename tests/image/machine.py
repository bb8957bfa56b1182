# SPDX-License-Identifier: Apache-2.0
"""How this machine reaches package indexes, as files for a base that is to reach them too.

Only a stand-in for the pinned base gets them: what a build needs of a machine is no part of the Dockerfile.
"""

from __future__ import annotations

import configparser
import os
import pathlib
import shutil
import subprocess
from collections.abc import Mapping

#: The package ca-certificates writes its own bundle anew, so the machine's is kept elsewhere.
BUNDLE = "etc/machine-ca.pem"
_BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
#: pip's settings that are about the way to an index, and not about a folder of the machine.
_PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def build_flags(environment: Mapping[str, str]) -> list[str]:
    """The flags of ``docker build`` for this machine: its network, and its proxies if it has some."""
    proxies = [word for name in _PROXIES if environment.get(name) for word in ("--build-arg", name)]
    return ["--network", "host", *proxies]


def files(environment: Mapping[str, str]) -> dict[str, bytes]:
    """Path below the root to text: certificates, and what pip and apt have to be told."""
    pip = pip_settings(environment)
    bundle = _bundle(pip, environment)
    found: dict[str, bytes] = {}
    if bundle is not None:
        found[BUNDLE] = bundle.read_bytes()
    settings = {name: pip[name] for name in _PIP_SETTINGS if name in pip} | (
        {} if bundle is None else {"cert": f"/{BUNDLE}"}
    )
    if settings:
        lines = [f"{name} = {' '.join(value.split())}" for name, value in settings.items()]
        found["etc/pip.conf"] = "\n".join(["[global]", *lines, ""]).encode()
    apt = _apt_proxies() + ([] if bundle is None else [f'Acquire::https::CAInfo "/{BUNDLE}";'])
    if apt:
        found["etc/apt/apt.conf.d/90machine"] = "\n".join([*apt, ""]).encode()
    return found


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """pip's settings of this machine and user, the strongest last: its files, then PIP_... of the environment."""
    home = pathlib.Path(environment.get("HOME", "/"))
    user = pathlib.Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    named = environment.get("PIP_CONFIG_FILE")
    paths = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", home / ".pip/pip.conf", user / "pip/pip.conf"]
    read = configparser.RawConfigParser(strict=False)
    read.read([*paths, *([named] if named else [])])
    settings = {
        name.replace("_", "-"): value
        for section in ("global", "install")
        if read.has_section(section)
        for name, value in read.items(section)
    }
    variables = {
        name.removeprefix("PIP_").lower().replace("_", "-").removeprefix("default-"): value
        for name, value in environment.items()
        if name.startswith("PIP_") and value
    }
    return settings | variables


def _bundle(pip: Mapping[str, str], environment: Mapping[str, str]) -> pathlib.Path | None:
    named = [pip.get("cert"), *(environment.get(name) for name in _BUNDLE_VARIABLES)]
    return next((pathlib.Path(path) for path in named if path and pathlib.Path(path).is_file()), None)


def _apt_proxies() -> list[str]:
    if shutil.which("apt-config") is None:
        return []
    command = ["apt-config", "dump", "--no-empty", "--format", '%f "%v";%n', "Acquire"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if "::Proxy" in line]


def mirrors(suite: str) -> list[tuple[str, str]]:
    """Address and release of each archive of that Debian that this machine has, the suite itself first."""
    if shutil.which("apt-get") is None:
        return []
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Origin: Debian"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.splitlines()
    found = {(address, release) for address, release, component in map(str.split, lines) if component == "main"}
    of_the_suite = [pair for pair in found if pair[1] == suite or pair[1].startswith(f"{suite}-")]
    return sorted(of_the_suite, key=lambda pair: (pair[1] != suite, pair))
