# SPDX-License-Identifier: Apache-2.0
"""What a call that did not go as it should have leaves behind.

Every client raises the one error below, so that a role can turn a failure into the condition of its step without
knowing which library spoke. It names the call and the HTTP status, because that is what a reader of a condition needs
to find the cause, and it is built from scrubbed text only, because conditions, events and logs are read by many.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator

System = typing.Literal["kubernetes", "keystone", "nova", "placement"]

DETAIL_LENGTH = 256
"""Characters of a detail that are kept: enough for a message of an API, too little for a page of HTML."""

_SECRETS = (
    # user:password@host of a URL
    (re.compile(r"(?<=://)[^/\s@]+@"), ""),
    # tokens by their form: Keystone's Fernet tokens, JSON web tokens
    (re.compile(r"\bgAAAA[\w=-]{16,}"), "***"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), "***"),
    # credentials by the name in front of them, in headers, JSON, queries and INI; "Secret: not found" is prose
    (
        re.compile(
            r"""(?i)(\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic)?\s*
                |\bbearer\s+
                |\bx-(?:auth|subject)-token["']?\s*[:=]\s*["']?
                |passw(?:or)?d["']?\s*[:=]\s*["']?
                |(?:secret|token|adminpass)(?:=|["']\s*[:=]\s*)["']?)
                [^\s"',;&}]+""",
            re.VERBOSE,
        ),
        r"\1***",
    ),
)
_CAUSES = {
    "NameResolutionError": "the name cannot be resolved",
    "ConnectTimeoutError": "no connection in time",
    "ReadTimeoutError": "the call was accepted, but not answered in time",
    "ReadTimeout": "the call was accepted, but not answered in time",
    "RemoteDisconnected": "the connection was closed without an answer",
}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+")


def without_secrets(text: str) -> str:
    """Return the text with whatever looks like a credential cut out."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def scrub(text: object) -> str:
    """Return the text as one printable line of at most 256 characters, without what looks like a credential."""
    line = _UNPRINTABLE.sub(" ", without_secrets(str(text))).strip()
    return line if len(line) <= DETAIL_LENGTH else line[: DETAIL_LENGTH - 1] + "…"


def cause(error: BaseException) -> str:
    """Return why a connection failed, in a few words of the operating system where it has any.

    The messages of the HTTP libraries hold the whole URL with its query, and the representation of their own objects.
    """
    for each in _chain(error):
        if type(each).__name__ in _CAUSES:
            return _CAUSES[type(each).__name__]
        if isinstance(each, OSError) and each.strerror:
            return each.strerror
    return type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Return the error and what caused it, the innermost last; urllib3 and requests keep causes in their arguments."""
    seen: list[BaseException] = []
    todo: list[object] = [error]
    while todo:
        each = todo.pop(0)
        if isinstance(each, BaseException) and not any(each is other for other in seen):
            seen.append(each)
            todo += [*each.args, getattr(each, "reason", None), each.__cause__, each.__context__]
    return iter(seen)


class CallError(Exception):
    """A call to Kubernetes, Keystone, Nova or Placement that failed, or whose answer cannot be relied on.

    `call` is the method and the path, for example `GET /v2.1/os-services`, never a query. `status` is the HTTP
    status, or None when there was no answer. `reason` is the machine-readable reason of the API server
    (`AlreadyExists`, `Conflict`), where there is one, and `kind` the kind of the Kubernetes object that was asked for.
    """

    def __init__(
        self,
        *,
        system: System,
        call: str,
        status: int | None = None,
        detail: object = "",
        reason: str | None = None,
        kind: str | None = None,
    ) -> None:
        self.system: System = system
        self.call = scrub(call)
        self.status = status
        self.detail = scrub(detail)
        self.reason = reason
        self.kind = kind
        super().__init__(self.call, status, self.detail)

    def __str__(self) -> str:
        parts = [self.call]
        if self.status is not None:
            parts.append(f"HTTP {self.status}")
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)

    def as_data(self) -> dict[str, str | int | None]:
        """Return `{system, kind, call, status, detail}`, the `error` of a failed module's result."""
        return {
            "system": self.system,
            "kind": self.kind,
            "call": self.call,
            "status": self.status,
            "detail": self.detail,
        }
