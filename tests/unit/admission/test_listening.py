# SPDX-License-Identifier: Apache-2.0
"""Where the webhooks listen, and how the operator knows whether they serve."""

from __future__ import annotations

import pathlib
import socket

import pytest
from nova_compute_operator import settings
from nova_compute_operator.admission import process, serving


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_no_part_of_an_answer_waits_for_an_acknowledgement(host: str) -> None:
    with serving.listen(settings.Address(host=host, port=0)) as listener:
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
            accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_in_use_is_named_with_the_way_out() -> None:
    with serving.listen(settings.Address(host="127.0.0.1", port=0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*--webhook-bind-address"):
            serving.listen(settings.Address(host="127.0.0.1", port=port))


def admission(tmp_path: pathlib.Path, *flags: str) -> process.AdmissionProcess:
    (tmp_path / "reconcile.yml").write_text("[]")
    told = settings.parse([f"--playbook={tmp_path / 'reconcile.yml'}", "--webhook-bind-address=127.0.0.1:1", *flags])
    return process.AdmissionProcess([], told=told, on_death=lambda _: None)


def test_an_operator_without_certificates_is_ready_without_webhooks(tmp_path: pathlib.Path) -> None:
    assert not admission(tmp_path, f"--webhook-cert-path={tmp_path / 'none'}").unready


def test_an_operator_without_webhooks_is_ready(tmp_path: pathlib.Path) -> None:
    assert not admission(tmp_path, f"--webhook-cert-path={tmp_path}", "--enable-webhooks=false").unready


@pytest.mark.parametrize("flag", ["--webhook-cert-path={}", "--webhook-self-signed"])
def test_an_operator_is_not_ready_before_its_webhooks_are_served(tmp_path: pathlib.Path, flag: str) -> None:
    assert admission(tmp_path, flag.format(tmp_path)).unready
