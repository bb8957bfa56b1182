# SPDX-License-Identifier: Apache-2.0
"""What volumes are on a node."""

from __future__ import annotations

import pathlib
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from novalab.agent import environment, volumes

DATA = {("secrets", "s"): {"one": b"1", "two": b"2"}, ("configmaps", "c"): {"three": b"3"}}


def make(tmp_path: pathlib.Path) -> volumes.Volumes:
    def source(kind: str, name: str, optional: object) -> Mapping[str, bytes]:
        return DATA.get((kind, name), {}) if optional else DATA[kind, name]

    return volumes.Volumes(
        folder=tmp_path / "volumes",
        node_root=tmp_path / "node",
        group=None,
        source=source,
        field_of=lambda path: f"field {path}",
        token=lambda projection: f"token for {projection['audience']}",
    )


def files(folder: pathlib.Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_secret_becomes_one_file_for_each_key(tmp_path: pathlib.Path) -> None:
    make(tmp_path).prepare({"name": "v", "secret": {"secretName": "s"}})
    assert files(tmp_path / "volumes/v") == {"one": "1", "two": "2"}


def test_files_have_the_mode_of_their_item_or_the_default(tmp_path: pathlib.Path) -> None:
    items = [{"key": "one", "path": "a", "mode": 0o440}, {"key": "two", "path": "b/c"}]
    make(tmp_path).prepare({"name": "v", "secret": {"secretName": "s", "defaultMode": 0o400, "items": items}})
    modes = {name: (tmp_path / "volumes/v" / name).stat().st_mode & 0o777 for name in ("a", "b/c")}
    assert modes == {"a": 0o440, "b/c": 0o400}


def test_item_without_its_key_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    volume = {"name": "v", "configMap": {"name": "c", "items": [{"key": "four", "path": "f"}]}}
    with pytest.raises(environment.ConfigError, match="configmap c references non-existent key: four"):
        make(tmp_path).prepare(volume)


def test_projected_volume_joins_its_sources(tmp_path: pathlib.Path) -> None:
    sources: list[dict[str, Any]] = [
        {"secret": {"name": "s", "items": [{"key": "one", "path": "one"}]}},
        {"configMap": {"name": "c"}},
        {"downwardAPI": {"items": [{"path": "node", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
        {"serviceAccountToken": {"path": "token", "audience": "nova"}},
    ]
    make(tmp_path).prepare({"name": "v", "projected": {"sources": sources}})
    expected = {"one": "1", "three": "3", "node": "field spec.nodeName", "token": "token for nova"}
    assert files(tmp_path / "volumes/v") == expected


def test_volume_that_is_not_served_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(environment.ConfigError, match="nfs"):
        make(tmp_path).prepare({"name": "v", "nfs": {"server": "s", "path": "/"}})


def test_path_below_a_volume_stays_in_it(tmp_path: pathlib.Path) -> None:
    made = make(tmp_path)
    made.prepare({"name": "v", "emptyDir": {}})
    (tmp_path / "volumes/v/out").symlink_to("/etc")
    (mount,) = made.mounts({"volumeMounts": [{"name": "v", "mountPath": "/v/", "subPath": "out"}]})
    assert mount["source"] == f"{tmp_path}/volumes/v/etc"


@pytest.mark.parametrize("kind", ["", "DirectoryOrCreate"])
def test_missing_folder_of_the_host_is_made(tmp_path: pathlib.Path, kind: str) -> None:
    path = volumes.host_path(str(tmp_path), {"path": "/run/libvirt", "type": kind})
    assert pathlib.Path(path) == tmp_path / "run/libvirt"
    assert pathlib.Path(path).is_dir()


def test_missing_file_of_the_host_is_made(tmp_path: pathlib.Path) -> None:
    assert pathlib.Path(volumes.host_path(str(tmp_path), {"path": "/etc/m.conf", "type": "FileOrCreate"})).is_file()


@pytest.mark.parametrize("kind", ["Directory", "File", "Socket", "CharDevice", "BlockDevice"])
def test_path_that_must_exist_is_not_made(tmp_path: pathlib.Path, kind: str) -> None:
    with pytest.raises(environment.ConfigError, match="hostPath type check failed: /x is not a"):
        volumes.host_path(str(tmp_path), {"path": "/x", "type": kind})


def test_file_where_a_folder_is_wanted_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(environment.ConfigError, match="/x is not a directory"):
        volumes.host_path(str(tmp_path), {"path": "/x", "type": "DirectoryOrCreate"})


def test_socket_of_the_host_is_taken_as_one(tmp_path: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert volumes.host_path(str(tmp_path), {"path": "/s", "type": "Socket"}) == f"{tmp_path}/s"
