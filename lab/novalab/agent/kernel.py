# SPDX-License-Identifier: Apache-2.0
"""The system calls that Python has no name for (``os.unshare`` came with 3.12). Standard library only."""

from __future__ import annotations

import ctypes
import os

MS_RDONLY = 1
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MS_SHARED = 1 << 20

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000

MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38

_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "ppc64le": 203, "s390x": 217, "riscv64": 41}

#: In the order of their numbers in linux/capability.h.
CAPABILITIES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
]

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    """Mount as the system call does. Raises OSError naming source and target."""
    words = (os.fsencode(source), os.fsencode(target), kind.encode() if kind else None)
    options = data.encode() if data else None
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options), f"mount {kind or source} on {target}")


def change_propagation(target: str, flags: int) -> None:
    mount("none", target, None, flags)


def unmount(target: str, flags: int = 0) -> None:
    _check(_libc.umount2(os.fsencode(target), flags), f"unmount {target}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def pivot_root(new: str, old: str) -> None:
    number = _SYS_PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(f"pivot_root: its number on {os.uname().machine} is not known: add it to _SYS_PIVOT_ROOT")
    _check(_libc.syscall(number, os.fsencode(new), os.fsencode(old)), "pivot_root")


def set_hostname(name: str) -> None:
    encoded = name.encode()
    _check(_libc.sethostname(encoded, len(encoded)), "sethostname")


def die_with_parent(number: int) -> None:
    """Ask for a signal when the thread that forked this process ends. setuid(2) clears it."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0), "prctl PDEATHSIG")


def forbid_new_privileges() -> None:
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl NO_NEW_PRIVS")


def keep_only_capabilities(kept: frozenset[str]) -> None:
    """Drop all others from the bounding set: an exec by root then has no more than these."""
    for number, name in enumerate(CAPABILITIES):
        if name not in kept and _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), f"drop {name}")
