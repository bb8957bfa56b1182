# SPDX-License-Identifier: Apache-2.0
"""Certificates that the operator makes for itself: what they are good for, and when they are made anew."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest
from cryptography import x509
from nova_compute_operator.admission import certificates

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
HOSTS = ["webhook.openstack.svc", "127.0.0.1"]
LONG_BEFORE_END = NOW + dt.timedelta(days=200)
SOON_BEFORE_END = NOW + dt.timedelta(days=250)


@pytest.fixture(scope="module")
def bundle() -> certificates.Bundle:
    return certificates.make(HOSTS, NOW)


def test_a_new_bundle_is_good_for_its_hosts(bundle: certificates.Bundle) -> None:
    assert certificates.problem(bundle, HOSTS, NOW) == ""
    assert certificates.problem(bundle, HOSTS, LONG_BEFORE_END) == ""


def test_a_bundle_is_renewed_when_two_thirds_of_its_life_are_over(bundle: certificates.Bundle) -> None:
    assert certificates.problem(bundle, HOSTS, SOON_BEFORE_END) == "it ends soon"


def test_a_bundle_is_renewed_when_the_webhooks_move(bundle: certificates.Bundle) -> None:
    assert certificates.problem(bundle, [*HOSTS, "::1"], NOW) == "it does not carry ::1"


def test_a_bundle_with_another_ones_key_is_of_no_use(bundle: certificates.Bundle) -> None:
    other = certificates.make(HOSTS, NOW)
    assert certificates.problem(dataclasses.replace(bundle, key=other.key), HOSTS, NOW) == "its key is another one's"


def test_a_bundle_that_its_authority_did_not_sign_is_of_no_use(bundle: certificates.Bundle) -> None:
    other = certificates.make(HOSTS, NOW)
    mixed = dataclasses.replace(bundle, authorities=other.authorities)
    assert certificates.problem(mixed, HOSTS, NOW) == "its authority is another one"


@pytest.mark.parametrize("part", ["certificate", "key", "authorities"])
@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_bundle_that_cannot_be_read_is_of_no_use(bundle: certificates.Bundle, part: str, content: bytes) -> None:
    broken = dataclasses.replace(bundle, **{part: content})
    assert certificates.problem(broken, HOSTS, NOW) == "it cannot be read"


def read(authorities: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(authorities)


def test_the_authority_before_stays_trusted_until_the_next_renewal(bundle: certificates.Bundle) -> None:
    second = certificates.make(HOSTS, SOON_BEFORE_END, trusted_before=bundle.authorities)
    third = certificates.make(HOSTS, SOON_BEFORE_END, trusted_before=second.authorities)
    assert read(second.authorities)[1:] == read(bundle.authorities)
    assert read(third.authorities)[1:] == read(second.authorities)[:1]
    assert certificates.problem(second, HOSTS, SOON_BEFORE_END) == ""


def test_an_authority_that_has_ended_is_not_carried_on(bundle: certificates.Bundle) -> None:
    after_end = NOW + dt.timedelta(days=400)
    assert len(read(certificates.make(HOSTS, after_end, trusted_before=bundle.authorities).authorities)) == 1


def test_the_key_is_not_in_what_is_printed(bundle: certificates.Bundle) -> None:
    assert bundle.key.decode().splitlines()[1] not in repr(bundle)


@pytest.mark.parametrize(
    ("config", "host"),
    [
        ({"service": {"name": "webhook", "namespace": "openstack", "path": "/x"}}, "webhook.openstack.svc"),
        ({"url": "https://127.0.0.1:9443/x"}, "127.0.0.1"),
        ({"url": "https://[::1]:9443/x"}, "::1"),
        ({"url": "https://host.example/x"}, "host.example"),
    ],
)
def test_a_certificate_is_for_the_name_that_the_api_server_calls(config: dict[str, object], host: str) -> None:
    assert certificates.hosts_of([config, config]) == [host]
