#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the option catalogs that admission checks spec.extraConfig against, from Nova's own options.

    tools/option_catalog.py            writes all of them
    tools/option_catalog.py 2026.1     writes that one

For each release, Nova is installed as it was when it came out, with the libraries of that day, into an environment
below $XDG_CACHE_HOME, and oslo.config's generator lists what all of them register. A catalog changes only with this
file.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from typing import Any, Final

ROOT: Final = pathlib.Path(__file__).resolve().parents[1]
CATALOGS: Final = ROOT / "operator" / "nova_compute_operator" / "catalogs"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release:
    """A release of OpenStack: the versions of Nova that belong to it, and a day on which its libraries were current."""

    name: str
    nova: str
    day: str


RELEASES: Final = (
    Release(name="2025.2", nova=">=32,<33", day="2025-10-15"),
    Release(name="2026.1", nova=">=33,<34", day="2026-04-15"),
    Release(name="2026.2", nova=">=34,<35", day="2026-10-15"),
)

#: What a nova-compute reads, Nova's own options and those of its libraries.
NAMESPACES: Final = (
    "nova.conf",
    "keystonemiddleware.auth_token",
    "os_brick",
    "os_brick.lightos",
    "os_vif",
    "oslo.cache",
    "oslo.concurrency",
    "oslo.db",
    "oslo.limit",
    "oslo.log",
    "oslo.messaging",
    "oslo.middleware",
    "oslo.policy",
    "oslo.privsep",
    "oslo.reports",
    "oslo.service.periodic_task",
    "oslo.service.service",
    "oslo.service.sslutils",
    "oslo.service.wsgi",
    "oslo.versionedobjects",
)
#: Each privileged helper reads the options of [privsep] from a section of its own, which no generator lists.
PRIVILEGED_SECTIONS: Final = ("nova_sys_admin", "privsep_osbrick", "vif_plug_ovs_privileged")
#: Fewer options than this are not Nova's but those of an installation that went wrong.
FLOOR: Final = 100


def catalog(release: str, listed: Mapping[str, Any]) -> dict[str, Any]:
    """The catalog of a release, from what oslo.config's generator prints as JSON.

    An option that is to be removed is listed with the deprecated names, without a replacement; a name that is
    deprecated in one place and alive in another is alive.
    """
    alive: dict[str, set[str]] = collections.defaultdict(set)
    deprecated: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for section, group in listed["options"].items():
        for option in group["opts"]:
            name = _in_file(option["name"])
            if option["deprecated_for_removal"]:
                deprecated[section].setdefault(name, "")
            else:
                alive[section].add(name)
    for section, options in listed["deprecated_options"].items():
        for option in options:
            replacement = f"[{option['replacement_group']}] {_in_file(option['replacement_name'])}"
            deprecated[section].setdefault(_in_file(option["name"]), replacement)
    for section in PRIVILEGED_SECTIONS:
        alive[section] |= alive["privsep"]
    sections = {
        section: {
            "opts": sorted(alive[section]),
            "deprecated": {
                name: replacement
                for name, replacement in sorted(deprecated[section].items())
                if name not in alive[section]
            },
        }
        for section in sorted({*alive, *deprecated})
    }
    count = sum(len(section["opts"]) for section in sections.values())
    if count < FLOOR or "DEFAULT" not in sections:
        raise ValueError(
            f"only {count} options for {release}: Nova or its libraries were not found, look at the versions"
        )
    return {"service": "nova", "release": release, "sections": sections}


def _in_file(name: str) -> str:
    """An option's name as a file has it: dashes are for the command line."""
    return name.replace("-", "_")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [release.name for release in RELEASES]
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(names)}; all when none is named")
    chosen = parser.parse_args(arguments).releases
    for unknown in set(chosen) - set(names):
        parser.error(f"{unknown} is not one of {', '.join(names)}: add it to RELEASES in this file")
    for release in RELEASES:
        if not chosen or release.name in chosen:
            made = catalog(release.name, _listed(_environment(release)))
            path = CATALOGS / f"{release.name}.json"
            path.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            counts = (len(made["sections"]), sum(len(one["opts"]) for one in made["sections"].values()))
            print(f"{path.relative_to(ROOT)}: {counts[0]} sections, {counts[1]} options", file=sys.stderr)
    return 0


def _environment(release: Release) -> pathlib.Path:
    """The folder of programs of an environment with that release's Nova in it."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "nova-option-catalogs" / f"{release.name}-{release.day}"
    if not (folder / "done").exists():
        venv.create(folder, clear=True)
        command = [_uv(), "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        subprocess.run([*command, "--exclude-newer", release.day, f"nova{release.nova}"], check=True)
        (folder / "done").touch()
    return folder / "bin"


def _uv() -> str:
    beside = pathlib.Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise SystemExit("uv was not found: run this with the project's environment (`make venv`)")
    return found


def _listed(programs: pathlib.Path) -> dict[str, Any]:
    command = [str(programs / "oslo-config-generator"), "--format", "json"]
    for namespace in NAMESPACES:
        command += ["--namespace", namespace]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    listed: dict[str, Any] = json.loads(printed)
    return listed


if __name__ == "__main__":
    sys.exit(main())
