# SPDX-License-Identifier: Apache-2.0
"""Certificates that the operator makes for itself, for clusters without a cert-manager.

Each is signed by an authority of its own, whose key is thrown away: it can sign nothing else. So a renewal brings a new
authority, and the bundle that clients trust carries the one before as well, until every replica serves the new one.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import ipaddress
from collections.abc import Mapping, Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

LIFETIME = dt.timedelta(days=365)
#: A certificate with less than this ahead of it is renewed: a third of its life.
RENEW_BEFORE_END = LIFETIME / 3
# Clocks of a cluster differ.
_BACKDATED = dt.timedelta(minutes=10)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bundle:
    """A certificate, its key, and the authorities to trust, the newest first; all in PEM."""

    certificate: bytes
    key: bytes = dataclasses.field(repr=False)
    authorities: bytes


def make(hosts: Sequence[str], now: dt.datetime, *, trusted_before: bytes = b"") -> Bundle:
    """A new certificate for these DNS names and addresses. ``trusted_before`` are the authorities until now, in PEM."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "nova-compute-operator admission authority")])
    authority = (
        _builder(subject, subject, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    own = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "nova-compute-operator admission")])
    certificate = (
        _builder(own, subject, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Bundle(
        certificate=_pem(certificate),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        authorities=_pem(authority) + b"".join(_pem(one) for one in _newest(trusted_before, now)),
    )


def problem(bundle: Bundle, hosts: Sequence[str], now: dt.datetime) -> str:
    """Why a bundle is to be renewed; an empty text when it is not."""
    try:
        certificate = x509.load_pem_x509_certificate(bundle.certificate)
        key = serialization.load_pem_private_key(bundle.key, password=None)
        authorities = x509.load_pem_x509_certificates(bundle.authorities)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return "it cannot be read"
    if certificate.public_key() != key.public_key():
        return "its key is another one's"
    try:
        certificate.verify_directly_issued_by(authorities[0])
    except (ValueError, TypeError, InvalidSignature):
        return "its authority is another one"
    if now >= certificate.not_valid_after_utc - RENEW_BEFORE_END:
        return "it ends soon"
    missing = [host for host in hosts if _general_name(host) not in names]
    return f"it does not carry {', '.join(missing)}" if missing else ""


def hosts_of(client_configs: Sequence[Mapping[str, object]]) -> list[str]:
    """The DNS names and addresses under which webhook configurations call: those of a Service, or those of a URL."""
    hosts: dict[str, None] = {}
    for config in client_configs:
        service, url = config.get("service"), config.get("url")
        if isinstance(service, Mapping):
            hosts[f"{service['name']}.{service['namespace']}.svc"] = None
        elif isinstance(url, str):
            hosts[_host_of(url)] = None
    return list(hosts)


def _host_of(url: str) -> str:
    authority = url.partition("://")[2].partition("/")[0]
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def _newest(authorities: bytes, now: dt.datetime) -> list[x509.Certificate]:
    """The first of these authorities, which signed the certificate in use, if it can still be trusted."""
    try:
        listed = x509.load_pem_x509_certificates(authorities) if authorities.strip() else []
    except ValueError:
        return []
    return [one for one in listed[:1] if one.not_valid_after_utc > now]


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + LIFETIME)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
