# SPDX-License-Identifier: Apache-2.0
"""The connection to an API server: where it is, who we are there, and bytes to and fro.

Objects (`clients.kubernetes`) and the service proxy (`clients.service_proxy`) share it, and with it the TLS sessions,
the credentials and their renewal. The `kubernetes` library reads the configuration; its files with decoded keys are
needed for an instant only, since the TLS context is built at once, so that no key stays behind on a disk when a
process is killed.
"""

from __future__ import annotations

import os
import pathlib
import ssl
import tempfile
from collections.abc import Mapping
from typing import Final
from urllib import parse

from ansible_collections.c5c3.nova.plugins.module_utils import absent
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors
from ansible_collections.c5c3.nova.plugins.module_utils.rules import registration

try:
    import urllib3
    import yaml
    from kubernetes import client, config
    from kubernetes.client import rest
    from kubernetes.config import incluster_config
except ImportError:
    urllib3 = yaml = client = config = rest = incluster_config = absent.library("kubernetes")

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0
USER_AGENT: Final = "nova-compute-operator"

_DEFAULT_KUBECONFIG: Final = "~/.kube/config"
_SAFE_TO_REPEAT: Final = frozenset({"GET", "HEAD"})


class ApiServer:
    """A connection to one API server; not to be carried into a forked process."""

    def __init__(self, configuration: client.Configuration, *, in_cluster: bool, tls: ssl.SSLContext) -> None:
        self.url = str(configuration.host).rstrip("/")
        self.in_cluster = in_cluster
        self.configuration = configuration
        self.pool: urllib3.PoolManager = rest.RESTClientObject(configuration).pool_manager
        self.pool.connection_pool_kw["ssl_context"] = tls

    @classmethod
    def connect(cls, kubeconfig: str | None = None, context: str | None = None) -> ApiServer:
        """Return the API server that is meant; nothing is sent yet.

        The order is that of kubectl: the file given, `$KUBECONFIG`, `~/.kube/config`, the service account of this
        pod. Raises `errors.CallError` without a status when none of these can be used.
        """
        configuration = client.Configuration()
        path = kubeconfig_path(kubeconfig)
        try:
            with tempfile.TemporaryDirectory(prefix="kubeconfig-") as scratch:
                if path is not None:
                    if not any(pathlib.Path(part).expanduser().is_file() for part in path.split(os.pathsep) if part):
                        raise _no_configuration(f"there is no kubeconfig at {path}")
                    config.load_kube_config(  # type: ignore[no-untyped-call]
                        config_file=path,
                        context=context,
                        client_configuration=configuration,
                        persist_config=False,
                        temp_file_path=scratch,
                    )
                elif context is not None:
                    raise _no_configuration(
                        f"the context {context!r} was asked for, but there is no kubeconfig to hold it"
                    )
                else:
                    config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
                tls = _tls_context(configuration)
        except config.ConfigException as error:
            where = path or "the service account of this pod"
            raise _no_configuration(f"{where} cannot be used: {error}") from error
        except (OSError, ValueError, AttributeError, TypeError, KeyError, yaml.YAMLError) as error:
            # A file that is not YAML, or no mapping, shows in the library as whatever it runs into first.
            raise _no_configuration(
                f"{path or 'the service account'} cannot be read: {type(error).__name__}"
            ) from error
        # What was decoded into files is part of the TLS context now, and the files are gone.
        configuration.ssl_ca_cert = configuration.cert_file = configuration.key_file = None
        return cls(configuration, in_cluster=path is None, tls=tls)

    @classmethod
    def of(cls, credentials: registration.Credentials) -> ApiServer:
        """Return the API server of credentials that are all there is to know; nothing is sent yet.

        No library reads a kubeconfig here, so nothing that one may ask for is done. Raises
        `registration.RefusedError` when a certificate or a key is not one.
        """
        configuration = client.Configuration()
        configuration.host = credentials.server
        configuration.verify_ssl = credentials.verified
        configuration.tls_server_name = credentials.server_name
        configuration.proxy = credentials.proxy
        if credentials.token:
            configuration.api_key = {"authorization": f"Bearer {credentials.token}"}
        try:
            return cls(configuration, in_cluster=False, tls=_tls_context_of(credentials))
        except (ssl.SSLError, OSError, ValueError) as error:
            raise registration.RefusedError(
                f"a certificate or the key of its kubeconfig cannot be used: {errors.cause(error)}"
            ) from error

    def send(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout: urllib3.Timeout | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """Return the answer, whatever its status. `target` is the path with its query; redirects are not followed.

        A read whose connection broke is sent once more, a write never: it may have arrived. Raises `errors.CallError`
        without a status when there is no answer.
        """
        attempts = 2 if method in _SAFE_TO_REPEAT else 1
        while True:
            attempts -= 1
            try:
                return self.pool.request(
                    method,
                    self.url + target,
                    headers={"User-Agent": USER_AGENT, **headers, **self._credentials()},
                    body=body,
                    redirect=False,
                    retries=False,
                    timeout=timeout or urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
                )
            except urllib3.exceptions.ProtocolError as error:
                if attempts:
                    continue
                raise self._no_answer(method, target, error) from error
            except (urllib3.exceptions.HTTPError, OSError, config.ConfigException) as error:
                raise self._no_answer(method, target, error) from error

    def _credentials(self) -> dict[str, str]:
        """Return the header that says who we are, renewed where it expires; a certificate is in the TLS context."""
        token = self.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return {"Authorization": token.strip()} if token else {}

    def _no_answer(self, method: str, target: str, error: Exception) -> errors.CallError:
        return errors.CallError(
            system="kubernetes",
            call=f"{method} {parse.urlsplit(target).path}",
            detail=f"no answer from the API server {self.url}: {errors.cause(error)}",
        )


def kubeconfig_path(kubeconfig: str | None) -> str | None:
    """Return the kubeconfig that is meant, several where `$KUBECONFIG` lists several; None is this pod's account."""
    if kubeconfig:
        return str(pathlib.Path(kubeconfig).expanduser())
    from_environment = os.environ.get("KUBECONFIG")
    if from_environment:
        return from_environment
    default = pathlib.Path(_DEFAULT_KUBECONFIG).expanduser()
    if default.is_file() or incluster_config.SERVICE_HOST_ENV_NAME not in os.environ:
        return str(default)
    return None


def _tls_context(configuration: client.Configuration) -> ssl.SSLContext:
    if not str(configuration.host).startswith("https:"):
        # `kubectl proxy` and its like. The machine's own authorities would be read for nothing, which takes a while.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _tls_context_of(credentials: registration.Credentials) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=credentials.authorities)
    if not credentials.verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credentials.certificate and credentials.key:
        with tempfile.TemporaryDirectory(prefix="kubeconfig-") as scratch:
            # In one file, as OpenSSL takes it: the folder is nobody else's to read.
            both = pathlib.Path(scratch, "certificate-and-key")
            both.write_text(f"{credentials.certificate}\n{credentials.key}", encoding="utf-8")
            # An encrypted key has no password here: without one to return, a terminal would be asked.
            context.load_cert_chain(both, password="")
    return context


def _no_configuration(detail: str) -> errors.CallError:
    return errors.CallError(
        system="kubernetes",
        call="connect",
        detail=f"{detail}; name a kubeconfig by the argument or by the environment variable KUBECONFIG",
    )
