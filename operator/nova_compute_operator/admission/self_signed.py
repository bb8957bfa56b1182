# SPDX-License-Identifier: Apache-2.0
"""Keeps the operator's own certificate: in a Secret for all replicas, in files for the server, trusted by the webhooks.

The order is what makes a renewal unnoticed: the Secret first, which decides who of several replicas renews; then the
trust in the webhook configurations; and only then the files that the server serves from.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime as dt
import logging
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from nova_compute_operator import api, log
from nova_compute_operator.admission import certificates, cluster

logger = logging.getLogger(__name__)

CERTIFICATE_FILE = "tls.crt"
KEY_FILE = "tls.key"
AUTHORITY_FILE = "ca.crt"

MANAGED_BY = {"app.kubernetes.io/managed-by": "nova-compute-operator-admission"}
_WEBHOOKS = {
    "mutatingwebhookconfigurations": "mnovacompute.kb.io",
    "validatingwebhookconfigurations": "vnovacompute.kb.io",
}
_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}/{}"
_JSON_PATCH = "application/json-patch+json"
_CONFLICT = 409
_NOT_FOUND = 404
_ATTEMPTS = 5


class SelfSigned:
    """The certificate of one installation."""

    def __init__(
        self,
        calls: cluster.Cluster,
        *,
        namespace: str,
        secret: str,
        configuration: str,
        folder: pathlib.Path,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(tz=dt.UTC),
    ) -> None:
        """``configuration`` is the name of both webhook configurations, ``folder`` where the server looks for files."""
        self._calls = calls
        self._secrets = f"/api/v1/namespaces/{namespace}/secrets"
        self._secret = secret
        self._configuration = configuration
        self._folder = folder
        self._now = now

    def keep(self) -> None:
        """Make or renew whatever is missing or ends soon. Raises api.ApiError and OSError; a repetition heals."""
        configurations = {plural: self._read_configuration(plural) for plural in _WEBHOOKS}
        hosts = certificates.hosts_of(
            [hook["clientConfig"] for each in configurations.values() for hook in _hooks(each)]
        )
        if not hosts:
            raise api.ApiError(
                call=f"webhook configurations {self._configuration}",
                status=None,
                detail=f"none holds a webhook named {' or '.join(_WEBHOOKS.values())}: apply one, or name another "
                "with --webhook-configuration-name",
            )
        bundle = self._agree(hosts)
        for plural, configuration in configurations.items():
            self._trust(plural, configuration, bundle.authorities)
        self._write(bundle)

    def _agree(self, hosts: list[str]) -> certificates.Bundle:
        """The bundle of the Secret, which this replica or another one has made."""
        for _ in range(_ATTEMPTS):
            status, secret = self._calls.call("GET", f"{self._secrets}/{self._secret}")
            if status not in (200, _NOT_FOUND):
                raise api.ApiError(call=f"GET {self._secrets}/{self._secret}", status=status, detail="refused")
            bundle = _bundle_of(secret) if status == 200 else None
            reason = certificates.problem(bundle, hosts, self._now()) if bundle else "there is none"
            if bundle is not None and not reason:
                return bundle
            if status == 200 and not _is_ours(secret):
                raise api.ApiError(
                    call=f"Secret {self._secret}",
                    status=None,
                    detail="it is somebody else's: choose another one with --webhook-secret-name",
                )
            made = certificates.make(hosts, self._now(), trusted_before=bundle.authorities if bundle else b"")
            written = self._store(made, secret if status == 200 else None)
            if written != _CONFLICT:
                logger.info("Made a certificate for the webhooks", extra=log.fields(hosts=hosts, because=reason))
                return made
        raise api.ApiError(call=f"Secret {self._secret}", status=_CONFLICT, detail="others keep writing it")

    def _store(self, bundle: certificates.Bundle, old: Mapping[str, Any] | None) -> int:
        """The HTTP status of the write, which is a conflict when another replica was faster. Raises api.ApiError."""
        metadata: dict[str, Any] = {"name": self._secret, "labels": MANAGED_BY}
        if old is not None:
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        data = {CERTIFICATE_FILE: bundle.certificate, KEY_FILE: bundle.key, AUTHORITY_FILE: bundle.authorities}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": "kubernetes.io/tls",
            "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
        }
        method, path = ("POST", self._secrets) if old is None else ("PUT", f"{self._secrets}/{self._secret}")
        status, _ = self._calls.call(method, path, body)
        if status >= 300 and status != _CONFLICT:
            raise api.ApiError(call=f"{method} {path}", status=status, detail="refused")
        return status

    def _read_configuration(self, plural: str) -> dict[str, Any]:
        path = _CONFIGURATIONS.format(plural, self._configuration)
        status, configuration = self._calls.call("GET", path)
        if status == _NOT_FOUND:
            return {}
        if status != 200:
            raise api.ApiError(call=f"GET {path}", status=status, detail="refused")
        return configuration

    def _trust(self, plural: str, configuration: Mapping[str, Any], authorities: bytes) -> None:
        wanted = base64.b64encode(authorities).decode()
        steps: list[dict[str, Any]] = []
        for index, hook in enumerate(configuration.get("webhooks") or []):
            trusted = hook["clientConfig"].get("caBundle")
            if hook["name"] == _WEBHOOKS[plural] and trusted != wanted:
                at = f"/webhooks/{index}"
                # Another hook may have moved here since it was read, or another replica may have renewed.
                steps.append({"op": "test", "path": f"{at}/name", "value": hook["name"]})
                if trusted:
                    steps.append({"op": "test", "path": f"{at}/clientConfig/caBundle", "value": trusted})
                steps.append({"op": "add", "path": f"{at}/clientConfig/caBundle", "value": wanted})
        if steps:
            path = _CONFIGURATIONS.format(plural, self._configuration)
            self._calls.expect("PATCH", path, steps, content_type=_JSON_PATCH)
            logger.info("Made the API server trust the webhooks", extra=log.fields(configuration=path))

    def _write(self, bundle: certificates.Bundle) -> None:
        """The files of the server, each replaced whole; the key first, so that no certificate waits for its key."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in ((KEY_FILE, bundle.key), (CERTIFICATE_FILE, bundle.certificate)):
            path = self._folder / name
            with contextlib.suppress(FileNotFoundError):
                if path.read_bytes() == content:
                    continue
            handle, fresh = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            pathlib.Path(fresh).replace(path)


def _hooks(configuration: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [hook for hook in configuration.get("webhooks") or [] if hook["name"] in _WEBHOOKS.values()]


def _is_ours(secret: Mapping[str, Any]) -> bool:
    labels = secret["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in MANAGED_BY.items())


def _bundle_of(secret: Mapping[str, Any]) -> certificates.Bundle | None:
    data = secret.get("data") or {}
    try:
        certificate, key, authorities = (
            base64.b64decode(data[name], validate=True) for name in (CERTIFICATE_FILE, KEY_FILE, AUTHORITY_FILE)
        )
    except (KeyError, binascii.Error, TypeError):
        return None
    return certificates.Bundle(certificate=certificate, key=key, authorities=authorities)
