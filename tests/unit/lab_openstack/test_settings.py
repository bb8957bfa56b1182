# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import os
import pathlib

import pytest
from novalab import errors
from novalab import lab as labs
from novalab.openstack import installation, settings


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("identity", "http://keystone.openstack.svc.cluster.local:5000/v3"),
        ("compute", "http://controlplane-nova.openstack.svc.cluster.local:8774/v2.1"),
        ("placement", "http://placement.openstack.svc.cluster.local:8778"),
    ],
)
def test_internal_url_is_the_service(cloud: settings.Cloud, kind: str, url: str) -> None:
    (row,) = [row for row in cloud.catalog if row["type"] == kind]
    assert row["internal"] == url


def test_public_urls_need_no_name(cloud: settings.Cloud) -> None:
    hosts = {row["public"].split("/")[2].split(":")[0] for row in cloud.catalog}
    assert hosts == {"198.51.100.1", "127.0.0.1"}


def test_passwords_stay_those_that_were_drawn(cloud: settings.Cloud) -> None:
    assert settings.Cloud(cloud.lab).passwords == cloud.passwords


def test_passwords_differ_from_each_other(cloud: settings.Cloud) -> None:
    drawn = dataclasses.astuple(cloud.passwords)
    assert len(set(drawn)) == len(drawn)


def test_passwords_differ_between_labs(cloud: settings.Cloud, tmp_path: pathlib.Path) -> None:
    other = settings.Cloud(labs.Lab(name="other", root=tmp_path / "other", slot=1))
    assert not set(dataclasses.astuple(cloud.passwords)) & set(dataclasses.astuple(other.passwords))


def test_only_their_owner_reads_the_passwords(cloud: settings.Cloud) -> None:
    assert cloud.passwords.admin
    assert (cloud.root / "passwords.json").stat().st_mode & 0o777 == 0o600


def test_newest_postgresql_is_the_highest_number(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("9.6", "15", "17"):
        programs = tmp_path / version / "bin"
        programs.mkdir(parents=True)
        (programs / "initdb").touch()
    # A client alone is no server.
    (tmp_path / "18" / "bin").mkdir(parents=True)
    monkeypatch.setattr(installation, "_POSTGRESQL", tmp_path)
    assert installation.postgresql_bin() == tmp_path / "17" / "bin"


def test_missing_packages_are_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_POSTGRESQL", tmp_path)
    monkeypatch.setattr(installation, "RABBITMQ_SERVER", tmp_path / "rabbitmq-server")
    assert installation.missing_packages() == ["rabbitmq-server", "postgresql"]


def test_without_root_the_message_names_the_packages(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "RABBITMQ_SERVER", tmp_path / "rabbitmq-server")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(errors.LabError, match="apt-get install --yes --no-install-recommends rabbitmq-server"):
        installation.install(lambda _activity: None)  # type: ignore[arg-type]


def test_environment_of_another_lock_is_another_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = installation.environment_path()
    lock = tmp_path / "lock.txt"
    lock.write_text("nova==1\n")
    monkeypatch.setattr(installation, "_LOCK", lock)
    assert installation.environment_path() != before
