# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import io
import json
from typing import Any

import pytest
from novalab.openstack import settings

_SPEC = importlib.util.spec_from_file_location("lab_neutron", settings.HERE / "programs" / "neutron.py")
assert _SPEC is not None
assert _SPEC.loader is not None
neutron = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(neutron)


def call(path: str, method: str = "GET", token: str | None = "token") -> tuple[int, Any]:
    environ = {
        "PATH_INFO": path,
        "REQUEST_METHOD": method,
        "HTTP_HOST": "127.0.0.1:1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    if token is not None:
        environ["HTTP_X_AUTH_TOKEN"] = token
    statuses: list[str] = []
    content = neutron.application(environ, lambda status, _headers: statuses.append(status))
    return int(statuses[0].split()[0]), json.loads(b"".join(content))


@pytest.mark.parametrize("resource", ["ports", "networks", "security-groups", "extensions"])
def test_every_list_is_empty(resource: str) -> None:
    assert call(f"/v2.0/{resource}") == (200, {resource.replace("-", "_"): []})


def test_versions_are_told_without_a_token() -> None:
    status, body = call("/", token=None)
    assert (status, body["versions"][0]["id"]) == (200, "v2.0")


def test_list_without_a_token_is_refused() -> None:
    assert call("/v2.0/ports", token=None)[0] == 401


def test_single_resource_is_not_found() -> None:
    status, body = call("/v2.0/networks/missing")
    assert (status, body["NeutronError"]["type"]) == (404, "NetworksNotFound")


def test_nothing_can_be_created() -> None:
    assert call("/v2.0/networks", method="POST")[0] == 403
