# SPDX-License-Identifier: Apache-2.0
"""A target cluster's registration: the Secret that holds its kubeconfig, and every reason to refuse it.

Whoever may write such a Secret decides where the operator connects and as whom, so only what stands in the Secret
itself counts. A kubeconfig that runs a program or reads a file of this machine is refused as a whole, whichever entry
asks for it, and the entries that are used are copied out as data: no library that would follow the rest ever sees it.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib import parse

from ansible_collections.c5c3.nova.plugins.module_utils import absent

try:
    import yaml
except ImportError:
    yaml = absent.library("PyYAML")

LABEL: Final = "sigs.k8s.io/multicluster-runtime-kubeconfig"
KUBECONFIG: Final = "kubeconfig"
NAMESPACES: Final = "namespaces"

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
#: What an entry may not carry, and what it would make its reader do.
_REFUSED_OF_A_USER: Final = {
    "exec": "runs a program",
    "auth-provider": "runs a plug-in",
    "tokenFile": "reads a file of this machine",
    "client-certificate": "reads a file of this machine",
    "client-key": "reads a file of this machine",
    # Without them the connection would be the impersonating user's own, who may do more.
    "as": "impersonates a user",
    "as-uid": "impersonates a user",
    "as-groups": "impersonates a group",
    "as-user-extra": "impersonates a user",
}
_REFUSED_OF_A_CLUSTER: Final = {"certificate-authority": "reads a file of this machine"}


class RefusedError(ValueError):
    """The registration cannot be used. The text says why, and holds no part of a credential."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Credentials:
    """How to connect, and as whom: a bearer token, or a client certificate with its key (both PEM)."""

    server: str
    authorities: str | None = None
    verified: bool = True
    server_name: str | None = None
    proxy: str | None = None
    token: str | None = dataclasses.field(default=None, repr=False)
    certificate: str | None = dataclasses.field(default=None, repr=False)
    key: str | None = dataclasses.field(default=None, repr=False)


def kubeconfig_of(secret: Mapping[str, Any] | None, *, namespace: str | None) -> bytes:
    """The kubeconfig that a registration Secret holds for children in ``namespace``, or None for wherever they are.

    ``secret`` is None where there is none.

    Raises RefusedError.
    """
    if secret is None:
        raise RefusedError("cluster not found: no Secret of that name registers it")
    if (secret["metadata"].get("labels") or {}).get(LABEL) != "true":
        raise RefusedError(f'cluster not found: the Secret of that name does not carry the label {LABEL}: "true"')
    data, listed = secret.get("data") or {}, namespaces_of(secret)
    if listed is not None and namespace is not None and namespace not in listed:
        raise RefusedError(f"the namespace {namespace} is not in its list of {NAMESPACES}")
    kubeconfig = _decoded(data.get(KUBECONFIG) or "", KUBECONFIG)
    if not kubeconfig.strip():
        raise RefusedError(f"the key {KUBECONFIG} is absent or empty")
    return kubeconfig


def namespaces_of(secret: Mapping[str, Any]) -> list[str] | None:
    """The namespaces that children may lie in, or None for any. Raises RefusedError.

    One that is none refuses all: nobody can tell what was meant.
    """
    data = secret.get("data") or {}
    if NAMESPACES not in data:
        return None
    names = [name.strip() for name in _decoded(data[NAMESPACES], NAMESPACES).decode(errors="replace").split(",")]
    if names == [""]:
        raise RefusedError(f"the key {NAMESPACES} is empty; remove the key to allow every namespace")
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise RefusedError(f"the key {NAMESPACES} holds {name!r}, which is no name of a namespace")
    return names


def credentials_of(kubeconfig: bytes) -> Credentials:
    """What the current context of a kubeconfig says. Raises RefusedError."""
    document = _mapping(_loaded(kubeconfig), "the kubeconfig")
    clusters, users = _entries(document, "clusters", "cluster"), _entries(document, "users", "user")
    for what, entries, refused in (("user", users, _REFUSED_OF_A_USER), ("cluster", clusters, _REFUSED_OF_A_CLUSTER)):
        for name, entry in entries.items():
            for key, does in refused.items():
                if entry.get(key) not in (None, "", []):
                    raise RefusedError(f"the {what} {name!r} of its kubeconfig {does} ({key})")
    contexts, current = _entries(document, "contexts", "context"), document.get("current-context")
    if not current or current not in contexts:
        raise RefusedError("its kubeconfig names no current context that it has")
    cluster, user = contexts[current].get("cluster"), contexts[current].get("user")
    if cluster not in clusters or user not in users:
        raise RefusedError(f"the context {current!r} of its kubeconfig names a cluster or a user that it does not have")
    return _credentials(clusters[cluster], users[user])


def _credentials(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> Credentials:
    found = Credentials(
        server=_url(cluster, "server") or "",
        authorities=_pem(cluster, "certificate-authority-data"),
        verified=cluster.get("insecure-skip-tls-verify") is not True,
        server_name=_text(cluster, "tls-server-name"),
        proxy=_url(cluster, "proxy-url"),
        token=_text(user, "token"),
        certificate=_pem(user, "client-certificate-data"),
        key=_pem(user, "client-key-data"),
    )
    if not found.server:
        raise RefusedError("its kubeconfig names no server")
    if bool(found.certificate) != bool(found.key):
        raise RefusedError(
            "its kubeconfig holds a client certificate without its key, or a key without its certificate"
        )
    if not found.token and not found.certificate:
        raise RefusedError("its kubeconfig holds neither a token nor a client certificate")
    return found


def _loaded(kubeconfig: bytes) -> Any:
    try:
        return yaml.safe_load(kubeconfig.decode())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # Not a word of the error: it quotes the line it stumbled over.
        raise RefusedError("its kubeconfig is no YAML") from error


def _entries(document: Mapping[str, Any], plural: str, singular: str) -> dict[str, Mapping[str, Any]]:
    listed = document.get(plural) or []
    if not isinstance(listed, list):
        raise RefusedError(f"{plural} of its kubeconfig is no list")
    return dict(_named(listed, plural, singular))


def _named(listed: list[Any], plural: str, singular: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    seen: set[str] = set()
    for item in listed:
        name = _mapping(item, f"an entry of {plural}").get("name")
        if not isinstance(name, str) or name in seen:
            raise RefusedError(f"{plural} of its kubeconfig holds an entry without a name, or two of one name")
        seen.add(name)
        yield name, _mapping(item.get(singular) or {}, f"{singular} {name!r}")


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RefusedError(f"{what} is no mapping")
    return value


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise RefusedError(f"{key} of its kubeconfig is no text")
    text = (value or "").strip()
    if not text.isprintable():
        raise RefusedError(f"{key} of its kubeconfig holds a character that cannot be printed")
    return text or None


def _url(entry: Mapping[str, Any], key: str) -> str | None:
    text = _text(entry, key)
    if text is None:
        return None
    try:
        parts = parse.urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        whole = False
    if not whole:
        raise RefusedError(f"{key} of its kubeconfig is no http or https address")
    return text


def _pem(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    # A long value may be folded over several lines.
    text = _text({key: "".join(value.split()) if isinstance(value, str) else value}, key)
    return _decoded(text, f"{key} of its kubeconfig").decode(errors="replace") if text else None


def _decoded(text: str, key: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RefusedError(f"{key} is no base64") from error
