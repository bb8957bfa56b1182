# SPDX-License-Identifier: Apache-2.0
"""One Keystone token and the calls made with it.

The token is asked for at the first call, kept in the memory of this process only, renewed before it expires and once
when a service refuses it (401). Of keystoneauth only what follows no link is used: the plug-in of the v3 password
method, whose address is known, and full URLs. Its version discovery would follow links that lead nowhere through the
service proxy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib import parse

from ansible_collections.c5c3.nova.plugins.module_utils import absent
from ansible_collections.c5c3.nova.plugins.module_utils.clients import calls, errors

try:
    from keystoneauth1 import access as keystone_access
    from keystoneauth1 import exceptions as keystone_errors
    from keystoneauth1 import session as keystone_session
    from keystoneauth1.identity import v3
except ImportError:
    keystone_access = keystone_errors = keystone_session = v3 = absent.library("keystoneauth1")

if TYPE_CHECKING:
    import requests

TOKEN_CALL: Final = "POST /v3/auth/tokens"  # noqa: S105 - a method and a path
USER_AGENT: Final = "nova-compute-operator"

_CREATED: Final = 201

Document = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What a service answered to a call: its status, and its body where that is a JSON object."""

    system: errors.System
    call: str
    status: int
    body: Document
    text: str

    def rows(self, key: str) -> list[Document]:
        """Return the list of that name. Raises `errors.CallError` for an answer without one."""
        rows = self.body.get(key)
        if not isinstance(rows, list):
            raise errors.CallError(
                system=self.system, call=self.call, status=self.status, detail=f"the answer holds no list of {key}"
            )
        return rows


class Identity:
    """A service user's session: every call that an OpenStack client makes goes through `call`."""

    def __init__(
        self,
        transport: requests.Session,
        *,
        endpoint: str,
        username: str,
        password: str,
        project_name: str,
        user_domain_name: str,
        project_domain_name: str,
    ) -> None:
        self._auth = _Password(
            endpoint,
            password,
            username=username,
            user_domain_name=user_domain_name,
            project_name=project_name,
            project_domain_name=project_domain_name,
        )
        self._session = keystone_session.Session(
            auth=self._auth, session=transport, redirect=False, user_agent=USER_AGENT
        )

    def authenticate(self) -> None:
        """Ask for the token unless there is one already; raises `errors.CallError` of the system `keystone`."""
        self._auth.get_access(self._session)

    def token_data(self) -> Document:
        """Return who the token stands for: `{user, project, roles, expires_at}`, never the token itself."""
        granted = self._auth.get_access(self._session)
        return {
            "user": granted.username,
            "project": granted.project_name,
            "roles": sorted(granted.role_names or ()),
            "expires_at": granted.expires.isoformat() if granted.expires else None,
        }

    def endpoint(self, service_type: str, *, region: str | None, interface: str = "internal") -> str | None:
        """Return the URL that the token's catalog lists, or None. Without a region the first of any region counts."""
        granted = self._auth.get_access(self._session)
        try:
            return str(
                granted.service_catalog.url_for(
                    service_type=service_type, interface=interface, region_name=region or None
                )
            )
        except keystone_errors.CatalogException:
            return None

    def call(
        self,
        method: str,
        url: str,
        *,
        system: errors.System,
        microversion: tuple[str, str],
        accept: frozenset[int],
        body: Document | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer when its status is one of `accept`.

        `microversion` is the service type and the version that the call is made at. Raises `errors.CallError` for any
        other status, and without a status when there is no answer.
        """
        call = call_name(method, url)
        service_type, version = microversion
        try:
            response = self._session.request(
                url,
                method,
                json=body,
                params=dict(query or {}),
                headers={"Accept": "application/json"},
                microversion=version,
                microversion_service_type=service_type,
                raise_exc=False,
                # A body may carry what a log should not.
                log=False,
            )
        except keystone_errors.ClientException as error:
            calls.count(system, method, None)
            raise errors.CallError(
                system=system, call=call, detail=f"no answer from {_origin(url)}: {errors.cause(error)}"
            ) from error
        calls.count(system, method, response.status_code)
        document = _document(response)
        if response.status_code not in accept:
            detail = message_of(document) or response.text or response.reason
            raise errors.CallError(system=system, call=call, status=response.status_code, detail=detail)
        return Answer(system=system, call=call, status=response.status_code, body=document, text=response.text)


class _Password(v3.Password):
    """Says of a failed token request that Keystone refused it: it may come in the middle of a call to Nova."""

    def get_auth_ref(self, session: keystone_session.Session) -> keystone_access.AccessInfoV3:
        try:
            granted = super().get_auth_ref(session)
        except keystone_errors.HttpError as error:
            detail = message_of(_document(error.response)) if error.response is not None else None
            self._refused(error, status=error.http_status, detail=detail or error.message)
        except keystone_errors.InvalidResponse as error:
            self._refused(error, status=error.response.status_code, detail="the answer holds no token")
        except KeyError as error:
            self._refused(error, status=None, detail=f"the answer holds no {error}")
        except keystone_errors.ClientException as error:
            self._refused(error, status=None, detail=f"no answer from {_origin(self.auth_url)}: {errors.cause(error)}")
        calls.count("keystone", "POST", _CREATED)
        return granted

    def _refused(self, error: Exception, *, status: int | None, detail: str) -> NoReturn:
        calls.count("keystone", "POST", status)
        raise errors.CallError(system="keystone", call=TOKEN_CALL, status=status, detail=detail) from error


def message_of(document: Document) -> str | None:
    """Return the message in an error's body: `{"<fault>": {"message": ...}}` or Placement's `{"errors": [{"detail":
    ...}]}`.
    """
    for value in document.values():
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return str(value["message"])
        if isinstance(value, list) and value and isinstance(value[0], dict):
            found = value[0].get("detail") or value[0].get("title")
            return str(found) if found else None
    return None


def call_name(method: str, url: str) -> str:
    """Return how a call is named in errors: its method and path, without the query."""
    return f"{method} {parse.urlsplit(url).path}"


def _document(response: requests.Response) -> Document:
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _origin(url: str) -> str:
    """Return scheme, host and port of a URL: no credentials, no query."""
    parts = parse.urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"
