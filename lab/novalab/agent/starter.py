# SPDX-License-Identifier: Apache-2.0
"""Becomes one container: reads what it shall be from standard input, builds its root, runs its command.

Run as ``python3 -I -S starter.py DESCRIPTOR``. The process that was started stays outside as the container's keeper:
it writes the container's pid to that descriptor, waits, and exits as the container did (128 + signal number when
killed). Should it be killed, the kernel kills the container, and with the last process all of its mounts are gone.

The description holds secrets in its environment, hence standard input: neither arguments nor files show them.

Nearly all of the time a container takes to start is this program's imports, so it does without json, pathlib, typing.
"""

# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH110, PTH112, PTH116, PTH120, PTH211
from __future__ import annotations

import marshal
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from novalab.agent import kernel, rootpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Exit codes as container runtimes use them.
_CANNOT_START = 125
_CANNOT_EXECUTE = 126
_NOT_FOUND = 127

#: What a container without privileges finds in /dev.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
#: File systems whose content is data of the machine, not an interface of its kernel.
_INTERFACES = {"proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "securityfs", "debugfs", "tracefs",
               "bpf", "pstore", "configfs", "fusectl", "hugetlbfs", "nsfs", "tmpfs", "ramfs", "autofs", "binfmt_misc",
               "efivarfs", "rpc_pipefs", "squashfs", "selinuxfs"}  # fmt: skip
_OVERLAY_WORK = ("upper", "work", "root")


def _mounts() -> list[tuple[str, str, bool]]:
    """Every mount point of this namespace: its path, kind of file system, and whether it is shared."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().splitlines()
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        path = fields[4].encode().decode("unicode_escape")
        found.append((path, after.split()[0], any(field.startswith("shared:") for field in fields[6:])))
    return found


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def build_root(container: dict[str, Any]) -> str:
    """Build the container's root below its work folder, in this mount namespace; returns the root's path."""
    bidirectional = any(mount["propagation"] == "Bidirectional" for mount in container["mounts"])
    machine = _mounts()
    for path, _, shared in machine:
        if shared and not (bidirectional and _below(path, container["node_root"])):
            kernel.change_propagation(path, kernel.MS_PRIVATE)
    work = container["work_folder"]
    # An overlay's upper folder may not lie below its lower one, and a tmpfs is gone with the last process.
    kernel.mount("tmpfs", work, "tmpfs", 0, "mode=755")
    for name in _OVERLAY_WORK:
        os.mkdir(f"{work}/{name}")
    root = f"{work}/root"
    kernel.mount("overlay", root, "overlay", 0, f"lowerdir=/,upperdir={work}/upper,workdir={work}/work")
    _add_other_disks(machine, root, container["lab_root"])
    _open_the_way(root, container["image_paths"])
    _mount_kernel_interfaces(root, privileged=container["security"]["privileged"])
    for path, options in (("/tmp", "mode=1777"), ("/run", "mode=755")):
        kernel.mount("tmpfs", rootpath.resolve(root, path), "tmpfs", 0, options)
    targets = {_mount_volume(root, mount) for mount in sorted(container["mounts"], key=lambda m: m["path"].count("/"))}
    if container["security"]["read_only_root"]:
        for path in (root, f"{root}/tmp", f"{root}/run"):
            if path not in targets:
                kernel.change_propagation(path, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)
    return root


def _add_other_disks(machine: list[tuple[str, str, bool]], root: str, lab_root: str) -> None:
    # The overlay shows the machine's root file system alone; /usr or /home may be another one.
    for path, kind, _ in machine:
        if path == "/" or kind in _INTERFACES or _below(path, lab_root) or _below(path, "/dev") or _below(path, "/run"):
            continue
        target = rootpath.resolve(root, path)
        if os.path.isdir(path) == os.path.isdir(target) and os.path.exists(target):
            kernel.mount(path, target, None, kernel.MS_BIND)
            kernel.change_propagation(target, kernel.MS_PRIVATE)
            kernel.change_propagation(target, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)


def _open_the_way(root: str, image_paths: list[str]) -> None:
    # A program below a home folder of mode 0700 could be run by root only. This changes the overlay, not the machine.
    for path in image_paths:
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            inside = "/".join([root, *parts[:depth]])
            mode = os.stat(inside).st_mode if os.path.isdir(inside) else 0o777
            if mode & 0o001 == 0:
                os.chmod(inside, (mode & 0o7777) | 0o011)


def _mount_kernel_interfaces(root: str, *, privileged: bool) -> None:
    if privileged:
        kernel.mount("/dev", f"{root}/dev", None, kernel.MS_BIND | kernel.MS_REC)
    else:
        kernel.mount("tmpfs", f"{root}/dev", "tmpfs", 0, "mode=755")
        for name in _DEVICES:
            _touch(f"{root}/dev/{name}")
            kernel.mount(f"/dev/{name}", f"{root}/dev/{name}", None, kernel.MS_BIND)
        for name, target in (("fd", "/proc/self/fd"), ("stdout", "fd/1"), ("stderr", "fd/2"), ("ptmx", "pts/ptmx")):
            os.symlink(target, f"{root}/dev/{name}")
        os.mkdir(f"{root}/dev/pts")
        kernel.mount("devpts", f"{root}/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620")
        os.mkdir(f"{root}/dev/shm")
        kernel.mount("tmpfs", f"{root}/dev/shm", "tmpfs", 0, "mode=1777")
    kernel.mount("/sys", f"{root}/sys", None, kernel.MS_BIND | kernel.MS_REC)
    for path in ("dev", "sys"):
        kernel.change_propagation(f"{root}/{path}", kernel.MS_PRIVATE | kernel.MS_REC)
    if not privileged:
        kernel.change_propagation(f"{root}/sys", kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _mount_volume(root: str, mount: dict[str, Any]) -> str:
    source, target = mount["source"], rootpath.resolve(root, mount["path"])
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _touch(target)
    kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)
    if mount["propagation"] != "Bidirectional":
        way = kernel.MS_SLAVE if mount["propagation"] == "HostToContainer" else kernel.MS_PRIVATE
        kernel.change_propagation(target, way | kernel.MS_REC)
    if mount["read_only"]:
        kernel.change_propagation(target, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)
    return target


def enter(container: dict[str, Any], root: str) -> None:
    """Make ``root`` the root of this process and give up what the container may not have."""
    kernel.mount("proc", f"{root}/proc", "proc")
    old = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.chdir(root)
    kernel.pivot_root(".", ".")
    # "." now names the new root for mount(2): only through the descriptor is the old one reached. Were the new one
    # made a slave instead, mounts of a Bidirectional volume would no longer reach the node.
    os.fchdir(old)
    kernel.change_propagation(".", kernel.MS_SLAVE | kernel.MS_REC)
    kernel.unmount(".", kernel.MNT_DETACH)
    os.close(old)
    os.chdir(container["working_folder"])
    kernel.set_hostname(container["hostname"])
    security = container["security"]
    if not security["privileged"]:
        kernel.keep_only_capabilities(frozenset(security["capabilities"]))
    os.umask(0o022)
    os.setsid()
    os.setgroups(security["groups"])
    os.setgid(security["gid"])
    os.setuid(security["uid"])
    if security["no_new_privileges"]:
        kernel.forbid_new_privileges()
    kernel.die_with_parent(signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def _contain(container: dict[str, Any], root: str, may_go: int) -> int:
    """Runs in the child: returns only if the command could not be run, with the exit code to use."""
    try:
        kernel.die_with_parent(signal.SIGKILL)
        if os.read(may_go, 1) != b"g":
            return _CANNOT_START
        os.close(may_go)
        enter(container, root)
        os.execvpe(container["command"][0], container["command"], container["environment"])
    except FileNotFoundError as error:
        os.write(2, f"cannot start {container['command'][0]}: {error}\n".encode())
        return _NOT_FOUND
    except OSError as error:
        os.write(2, f"cannot start {container['command'][0]}: {error}\n".encode())
        return _CANNOT_EXECUTE


def main() -> int:
    report = int(sys.argv[1])
    kernel.die_with_parent(signal.SIGKILL)
    container = marshal.load(sys.stdin.buffer)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    try:
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWPID)
        root = build_root(container)
    except OSError as error:
        os.write(2, f"cannot build the container's root: {error}\n".encode())
        return _CANNOT_START
    may_go, let_go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(let_go)
        os.close(report)
        os._exit(_contain(container, root, may_go))
    os.close(may_go)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: os.kill(pid, received))
    os.write(report, str(pid).encode())
    os.close(report)
    os.write(let_go, b"g")
    os.close(let_go)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main())
