# SPDX-License-Identifier: Apache-2.0
"""The calls to the API server that admission makes, each with little time: somebody waits for the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import urllib3
from ansible_collections.c5c3.nova.plugins.module_utils.rules import extra_config, option_catalog

from nova_compute_operator import api
from nova_compute_operator.admission import catalogs

_CONNECT_TIMEOUT = 1.0
# The API server itself gives a webhook ten seconds unless it is told otherwise.
_READ_TIMEOUT = 3.0
# Another name belongs to no object, and is none to put into a path.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NOVAS = "/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/{}/novas/{}"


class Cluster:
    """Plain calls by path. Safe to use from several threads."""

    def __init__(self, server: api.ApiServer) -> None:
        self._client = server.client

    def call(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """The HTTP status and the object of the answer, whatever it is. Raises api.ApiError when there is none."""
        headers = {"Accept": "application/json", **({"Content-Type": content_type} if body is not None else {})}
        request = self._client.param_serialize(
            method=method, resource_path=path, header_params=headers, body=body, auth_settings=["BearerToken"]
        )
        call = f"{method} {path}"
        try:
            response = self._client.call_api(*request, _request_timeout=(_CONNECT_TIMEOUT, _READ_TIMEOUT))
            data = response.read()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise api.ApiError(call=call, status=None, detail=f"no answer ({type(error).__name__})") from error
        try:
            answer = json.loads(data)
        except ValueError:
            # What the server does not route is answered with a line of text.
            answer = {}
        return int(response.status), answer if isinstance(answer, dict) else {}

    def expect(
        self, method: str, path: str, body: Mapping[str, Any] | list[Any], *, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """The object of an answer that has to be a success. Raises api.ApiError."""
        status, answer = self.call(method, path, body, content_type=content_type)
        if status >= 300:
            raise api.ApiError(call=f"{method} {path}", status=status, detail=str(answer.get("reason", "refused")))
        return answer

    def nova(self, namespace: str, name: str) -> extra_config.Nova:
        """What admission has to know of a Nova, read anew each time: the owner may just have changed it."""
        if not _NAME.fullmatch(name) or not _NAME.fullmatch(namespace):
            return extra_config.Nova(namespace=namespace, name=name, exists=False)
        try:
            status, answer = self.call("GET", _NOVAS.format(namespace, name))
        except api.ApiError as error:
            return extra_config.Nova(namespace=namespace, name=name, failure=str(error))
        if status == 404:
            return extra_config.Nova(namespace=namespace, name=name, exists=False)
        if status != 200:
            return extra_config.Nova(namespace=namespace, name=name, failure=f"HTTP {status}")
        release = option_catalog.release_of(answer)
        return extra_config.Nova(namespace=namespace, name=name, release=release, catalog=catalogs.load(release))
