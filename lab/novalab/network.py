# SPDX-License-Identifier: Apache-2.0
"""The addresses of a lab's nodes, on the loopback device: nothing outside this machine reaches them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

from novalab import errors, lab

_DEVICE = "lo"


def present() -> set[str]:
    """The addresses of the loopback device. Raises LabError when they cannot be read."""
    try:
        shown = subprocess.run(["ip", "-json", "addr", "show", _DEVICE], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise errors.LabError("'ip addr' does not work: install iproute2") from error
    return {info["local"] for device in json.loads(shown.stdout) for info in device.get("addr_info", [])}


def add(addresses: Iterable[str]) -> None:
    """Give the machine the addresses that it lacks. Raises LabError."""
    there = present()
    for address in addresses:
        if address not in there:
            done = subprocess.run(
                ["ip", "addr", "add", f"{address}/32", "dev", _DEVICE], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise errors.LabError(f"cannot add {address} to {_DEVICE}: {done.stderr.strip()}. Run as root")


def of(the_lab: lab.Lab) -> set[str]:
    """The addresses of the lab that the machine has now."""
    nodes = [lab.CONTROL_NODE, *(f"{the_lab.family}-{number}" for number in range(1, 15))]
    return present() & {the_lab.node_address(node) for node in nodes}


def remove(the_lab: lab.Lab) -> None:
    """Take every address of the lab away again."""
    for address in of(the_lab):
        subprocess.run(["ip", "addr", "del", f"{address}/32", "dev", _DEVICE], check=False)
