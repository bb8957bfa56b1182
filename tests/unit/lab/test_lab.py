# SPDX-License-Identifier: Apache-2.0
"""Labs beside each other: names, slots, addresses, ports."""

from __future__ import annotations

import pathlib
import socket

import pytest
from novalab import errors
from novalab import lab as labs
from novalab.kubernetes import foreign

PORT_IS_FREE = labs.port_is_free
ADDRESS_IS_HERE = labs.address_is_here


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A place for labs that is short enough for sockets."""
    folder = tmp_path_factory.getbasetemp().parent / f"labs-{tmp_path_factory.mktemp('n').name}"
    monkeypatch.setenv("LAB_STATE", str(folder))
    monkeypatch.setattr(labs, "_LONGEST_ROOT", 200)
    # A lab that runs beside the tests would decide what they see.
    monkeypatch.setattr(labs, "port_is_free", lambda _: True)
    monkeypatch.setattr(labs, "address_is_here", lambda _: False)
    return folder


def make(slot: int) -> labs.Lab:
    return labs.Lab(name="x", root=pathlib.Path("/x"), slot=slot)


def test_no_two_labs_share_an_address() -> None:
    nodes = ["control", *(f"compute-{n}" for n in range(1, 15))]
    addresses = [make(slot).node_address(node) for slot in range(15) for node in nodes]
    assert len(set(addresses)) == len(addresses)


def test_addresses_are_of_documentation_space() -> None:
    assert all(make(slot).node_address("compute-14").startswith("198.51.100.") for slot in range(15))


def test_no_two_labs_share_a_port() -> None:
    ports = [make(slot).port(name) for slot in range(15) for name in labs._PORT_NAMES]
    assert len(set(ports)) == len(ports)


def test_name_of_no_node_is_refused() -> None:
    with pytest.raises(ValueError, match="compute-15 is no node"):
        make(0).node_address("compute-15")


def test_known_lab_keeps_its_slot() -> None:
    first = labs.create("a")
    labs.create("b")
    assert labs.create("a") == first


def test_second_lab_gets_another_slot() -> None:
    assert labs.create("a").slot != labs.create("b").slot


def test_port_that_a_program_listens_on_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not PORT_IS_FREE(taken.getsockname()[1])


def test_address_of_this_machine_is_here() -> None:
    assert ADDRESS_IS_HERE("127.0.0.1")


def test_slot_whose_port_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "port_is_free", lambda port: port != make(0).port("etcd"))
    assert labs.create("a").slot == 1


def test_slot_whose_address_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "address_is_here", lambda address: address == make(0).node_address("control"))
    assert labs.create("a").slot == 1


def test_machine_without_a_free_slot_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "port_is_free", lambda _: False)
    with pytest.raises(errors.LabError, match="End a lab with"):
        labs.create("a")


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "-a", "a" * 21])
def test_name_that_could_not_be_a_folder_and_a_cluster_is_refused(name: str) -> None:
    with pytest.raises(errors.LabError, match="cannot name a lab"):
        labs.create(name)


def test_path_too_long_for_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "_LONGEST_ROOT", 5)
    with pytest.raises(errors.LabError, match="LAB_STATE"):
        labs.create("a")


def test_kubeconfig_of_a_lab_is_nobody_elses_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(labs.create("a").kubeconfig))
    assert foreign.wanted() is None


def test_kubeconfig_of_the_user_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    assert foreign.wanted() == "/home/me/.kube/config"
