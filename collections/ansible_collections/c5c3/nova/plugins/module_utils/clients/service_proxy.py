# SPDX-License-Identifier: Apache-2.0
"""OpenStack's services from outside the cluster they run in: through the API server's service proxy.

A Service address such as `http://nova.openstack.svc.cluster.local:8774/v2.1` means something in its own cluster only.
From elsewhere, and for a Nova on another cluster, the same request goes to the API server, which forwards it to the
Service; method, body, query and `X-Auth-Token` pass unchanged. It is a transport of `requests`, so that everything
above it keeps speaking of Service addresses, and no port-forward and no entry in a hosts file is needed.

Two things differ behind the proxy, and both are met here: an error may be the API server's own, and must not be taken
for an answer of the service ("404, so it is deleted already"); and links in answers name addresses that lead nowhere,
so none is ever followed.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib import parse

from ansible_collections.c5c3.nova.plugins.module_utils import absent
from ansible_collections.c5c3.nova.plugins.module_utils.clients import api_server, errors

try:
    import requests
    import urllib3
    from requests import adapters, structures, utils
except ImportError:
    requests = urllib3 = adapters = structures = utils = absent.library("requests")

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 90.0
"""A page of a thousand hypervisors takes seconds on a quiet Nova and many more on a busy one.

It is longer than the minute that Nova waits for a nova-compute that it tells of its disabled service: one that restarts
just then, by the rollout of a drain that starts, may not answer, and Nova has done what was asked all the same.
"""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SERVICE_HOST: Final = re.compile(rf"({_LABEL})\.({_LABEL})\.svc(?:\.cluster\.local)?\.?")
# Of this hop, not of the call. The credentials at the API server are those of the connection to it.
_NOT_FORWARDED: Final = frozenset({"host", "connection", "authorization"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Service:
    """A port of a Service, as a URL names it."""

    scheme: str
    name: str
    namespace: str
    port: int

    @property
    def proxy_path(self) -> str:
        """The path of the API server below which the Service answers."""
        return f"/api/v1/namespaces/{self.namespace}/services/{self.scheme}:{self.name}:{self.port}/proxy"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.name}.{self.namespace}.svc:{self.port}"


def service_of(url: str) -> Service | None:
    """Return the Service that a URL addresses, or None when its host is not
    `<service>.<namespace>.svc[.cluster.local]`.
    """
    parts = parse.urlsplit(url)
    host = _SERVICE_HOST.fullmatch(parts.hostname or "")
    if host is None or parts.scheme not in _DEFAULT_PORTS:
        return None
    return Service(
        scheme=parts.scheme,
        name=host.group(1),
        namespace=host.group(2),
        port=parts.port or _DEFAULT_PORTS[parts.scheme],
    )


class DirectAdapter(adapters.HTTPAdapter):
    """Dials the address itself, with time-outs: `requests` has none of its own."""

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        options["timeout"] = (CONNECT_SECONDS, READ_SECONDS)
        return super().send(request, **options)


class ProxyAdapter(adapters.BaseAdapter):
    """Reaches Services through the API server, and any other host directly unless that is refused.

    Raises `errors.CallError` of the system `kubernetes` when the proxy itself fails: no such Service, no ready pod
    behind it, no permission for `services/proxy`, no answer. What the service answers stays as it is, whatever its
    status.
    """

    def __init__(self, server: api_server.ApiServer, *, refuse_other_hosts: bool) -> None:
        super().__init__()
        self._server = server
        self._refuse_other_hosts = refuse_other_hosts
        self._direct = DirectAdapter()

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        url = request.url or ""
        service = service_of(url)
        if service is not None:
            return self._through_the_proxy(request, service)
        if self._refuse_other_hosts:
            parts = parse.urlsplit(url)
            raise errors.CallError(
                system="kubernetes",
                call=f"{request.method} {parts.path}",
                detail=f"{parts.scheme}://{parts.hostname} is not dialled: the service proxy reaches "
                "<service>.<namespace>.svc hosts only",
            )
        return self._direct.send(request, **options)

    def close(self) -> None:
        self._direct.close()

    def _through_the_proxy(self, request: requests.PreparedRequest, service: Service) -> requests.Response:
        method = request.method or "GET"
        target = service.proxy_path + request.path_url
        body = request.body.encode() if isinstance(request.body, str) else request.body
        try:
            answer = self._server.send(
                method,
                target,
                headers=_forwarded(request.headers),
                body=body,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            )
        except errors.CallError as error:
            # Which of the two was silent cannot be told from here; the one that was asked for is named first.
            raise errors.CallError(
                system="kubernetes", call=error.call, detail=f"nothing came from {service}; {error.detail}"
            ) from error
        failure = _own_failure(answer)
        if failure is not None:
            raise errors.CallError(
                system="kubernetes",
                call=f"{method} {parse.urlsplit(target).path}",
                status=answer.status,
                detail=f"the service proxy did not reach {service}: {failure}",
            )
        return _response(request, answer)


def _own_failure(answer: urllib3.BaseHTTPResponse) -> str | None:
    """Return the message of an error that is the API server's own, or None when the service answered."""
    if answer.status < 400:
        return None
    try:
        status = json.loads(answer.data)
    except ValueError:
        return None
    if not isinstance(status, dict) or (status.get("kind"), status.get("apiVersion")) != ("Status", "v1"):
        return None
    return str(status.get("message") or status.get("reason") or "no reason given")


def _response(request: requests.PreparedRequest, answer: urllib3.BaseHTTPResponse) -> requests.Response:
    response = requests.Response()
    response.status_code = answer.status
    response.reason = answer.reason or ""
    response.headers = structures.CaseInsensitiveDict(answer.headers.items())
    response.encoding = utils.get_encoding_from_headers(response.headers)
    response.raw = io.BytesIO(answer.data)
    response.url = request.url or ""
    response.request = request
    return response


def _forwarded(headers: Mapping[str, str | bytes]) -> dict[str, str]:
    return {
        name: value.decode("latin-1") if isinstance(value, bytes) else value
        for name, value in headers.items()
        if name.lower() not in _NOT_FORWARDED
    }
