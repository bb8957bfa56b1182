# SPDX-License-Identifier: Apache-2.0
"""What a pod's volumes are on the node: folders and files made ready for the starter to mount."""

from __future__ import annotations

import os
import pathlib
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from novalab.agent import environment, rootpath

_DEFAULT_MODE = 0o644
_WHAT = {
    "Directory": stat.S_ISDIR,
    "File": stat.S_ISREG,
    "Socket": stat.S_ISSOCK,
    "CharDevice": stat.S_ISCHR,
    "BlockDevice": stat.S_ISBLK,
}


class Volumes:
    """The volumes of one pod below ``folder``. ``token`` gives a service account token for a validity in seconds."""

    def __init__(
        self,
        *,
        folder: pathlib.Path,
        node_root: pathlib.Path,
        group: int | None,
        source: environment.Source,
        field_of: Callable[[str], str],
        token: Callable[[Mapping[str, Any]], str],
    ) -> None:
        self._folder = folder
        self._node_root = node_root
        self._group = group
        self._source = source
        self._field_of = field_of
        self._token = token
        self._paths: dict[str, str] = {}

    def prepare(self, volume: Mapping[str, Any]) -> None:
        """Make the volume ready. Raises ConfigError when it cannot be yet, naming what is missing."""
        folder = self._folder / volume["name"]
        if "hostPath" in volume:
            self._paths[volume["name"]] = host_path(str(self._node_root), volume["hostPath"])
            return
        folder.mkdir(parents=True, exist_ok=True)
        if "emptyDir" in volume:
            folder.chmod(0o777)
        else:
            self._write_all(folder, volume)
        if self._group is not None:
            self._hand_to_group(folder, writable="emptyDir" in volume)
        self._paths[volume["name"]] = str(folder)

    def mounts(self, container: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The ``mounts`` part of the starter's description of a container."""
        return [
            {
                "source": self._source_of(mount),
                "path": mount["mountPath"].rstrip("/") or "/",
                "read_only": bool(mount.get("readOnly")),
                "propagation": mount.get("mountPropagation") or "None",
            }
            for mount in container.get("volumeMounts") or []
        ]

    def _source_of(self, mount: Mapping[str, Any]) -> str:
        volume = self._paths[mount["name"]]
        if not mount.get("subPath"):
            return volume
        path = pathlib.Path(rootpath.resolve(volume, mount["subPath"]))
        if not path.exists():
            path.mkdir(parents=True)
        return str(path)

    def _write_all(self, folder: pathlib.Path, volume: Mapping[str, Any]) -> None:
        if "projected" in volume:
            default = volume["projected"].get("defaultMode") or _DEFAULT_MODE
            for part in volume["projected"]["sources"]:
                self._write(folder, part, default)
            return
        for kind in ("secret", "configMap", "downwardAPI"):
            if kind in volume:
                self._write(folder, volume, volume[kind].get("defaultMode") or _DEFAULT_MODE)
                return
        kinds = ", ".join(key for key in volume if key != "name")
        raise environment.ConfigError(f"volumes of kind {kinds} are not served by this agent")

    def _write(self, folder: pathlib.Path, part: Mapping[str, Any], default: int) -> None:
        if "secret" in part:
            secret = part["secret"]
            name = secret.get("secretName") or secret.get("name")
            data = self._source("secrets", name, bool(secret.get("optional")))
            self._write_items(folder, data, secret, default, f"secret {name}")
        elif "configMap" in part:
            config_map = part["configMap"]
            data = self._source("configmaps", config_map["name"], bool(config_map.get("optional")))
            self._write_items(folder, data, config_map, default, f"configmap {config_map['name']}")
        elif "downwardAPI" in part:
            for item in part["downwardAPI"].get("items") or []:
                value = self._field_of(item["fieldRef"]["fieldPath"]).encode()
                write_file(folder, item["path"], value, item.get("mode") or default)
        elif "serviceAccountToken" in part:
            projection = part["serviceAccountToken"]
            write_file(folder, projection["path"], self._token(projection).encode(), default)
        else:
            raise environment.ConfigError(f"projected {', '.join(part)} is not served by this agent")

    def _write_items(
        self, folder: pathlib.Path, data: Mapping[str, bytes], source: Mapping[str, Any], default: int, name: str
    ) -> None:
        items: Iterable[Mapping[str, Any]] = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            if item["key"] in data:
                write_file(folder, item["path"], data[item["key"]], item.get("mode") or default)
            elif not source.get("optional"):
                raise environment.ConfigError(f"{name} references non-existent key: {item['key']}")

    def _hand_to_group(self, folder: pathlib.Path, *, writable: bool) -> None:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, -1, self._group or 0)
            mode = path.stat().st_mode & 0o7777
            more = (0o2070 if writable else 0o2050) if path.is_dir() else (0o060 if writable else 0o040)
            path.chmod(mode | more)


def write_file(folder: pathlib.Path, relative: str, content: bytes, mode: int) -> None:
    """Write a file below ``folder``; its content appears at once and never with more rights than ``mode``."""
    target = folder / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
    fresh.chmod(mode)
    fresh.rename(target)


def host_path(node_root: str, volume: Mapping[str, Any]) -> str:
    """The path of a hostPath volume, made if its type says so. Raises ConfigError when its type does not fit."""
    path = pathlib.Path(rootpath.resolve(node_root, volume["path"]))
    kind = volume.get("type") or ""
    if kind in ("", "DirectoryOrCreate") and not path.exists():
        path.mkdir(parents=True, mode=0o755)
    elif kind == "FileOrCreate" and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o644)
    expected = _WHAT.get(kind.removesuffix("OrCreate"))
    if expected is not None and not (path.exists() and expected(path.stat().st_mode)):
        article = kind.removesuffix("OrCreate").lower()
        raise environment.ConfigError(f"hostPath type check failed: {volume['path']} is not a {article}")
    return str(path)
