# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a field, in the words and the shape that the API server uses for its own refusals.

A person who reads a refusal cannot tell, and need not, whether the schema or the webhook wrote it; so the kinds, the
paths and the quoting are those of Kubernetes (apimachinery, ``util/validation/field``).
"""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any, Final

#: What is shown of a value in a message. Longer ones are cut: a refusal is read by a person and has to fit an answer.
SHOWN_AT_MOST: Final = 256


class Kind(enum.Enum):
    """The kinds of Kubernetes: the word in a message, and the reason of a cause in a Status."""

    REQUIRED = ("Required value", "FieldValueRequired")
    INVALID = ("Invalid value", "FieldValueInvalid")
    FORBIDDEN = ("Forbidden", "FieldValueForbidden")
    NOT_SUPPORTED = ("Unsupported value", "FieldValueNotSupported")
    NOT_FOUND = ("Not found", "FieldValueNotFound")
    TOO_LONG = ("Too long", "FieldValueTooLong")
    INTERNAL = ("Internal error", "InternalError")

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Violation:
    """A rule that an object breaks: the path of the field, the kind, and the message without either."""

    field: str
    kind: Kind
    message: str
    #: What stands in the field, for the kinds that show it.
    value: Any = None

    @property
    def body(self) -> str:
        """Everything but the field, as a cause of a Status carries it: ``Invalid value: "x": must be ...``."""
        if self.kind in (Kind.INVALID, Kind.NOT_SUPPORTED, Kind.NOT_FOUND):
            return f"{self.kind.word}: {shown(self.value)}: {self.message}"
        return f"{self.kind.word}: {self.message}"

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(field: str, message: str) -> Violation:
    return Violation(field=field, kind=Kind.REQUIRED, message=message)


def invalid(field: str, value: Any, message: str) -> Violation:
    return Violation(field=field, kind=Kind.INVALID, message=message, value=value)


def forbidden(field: str, message: str) -> Violation:
    return Violation(field=field, kind=Kind.FORBIDDEN, message=message)


def not_supported(field: str, value: Any, supported: tuple[str, ...]) -> Violation:
    message = f"supported values: {', '.join(quoted(one) for one in supported)}"
    return Violation(field=field, kind=Kind.NOT_SUPPORTED, message=message, value=value)


def not_found(field: str, value: Any, message: str) -> Violation:
    return Violation(field=field, kind=Kind.NOT_FOUND, message=message, value=value)


def too_long(field: str, message: str) -> Violation:
    return Violation(field=field, kind=Kind.TOO_LONG, message=message)


def internal(field: str, message: str) -> Violation:
    return Violation(field=field, kind=Kind.INTERNAL, message=message)


def key(field: str, *keys: str) -> str:
    """The path of an entry of a map: ``spec.extraConfig[DEFAULT][host]``. A key that is too long is cut."""
    return field + "".join(f"[{_cut(one)}]" for one in keys)


def shown(value: Any) -> str:
    """A value as a message shows it: text in quotes, numbers bare, everything else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    return _cut(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def quoted(text: str) -> str:
    """Text in double quotes with Go's escapes, so that it stays on one line whatever is in it."""
    return f'"{"".join(map(_escaped, _cut(text)))}"'


_ESCAPES: Final = {
    '"': r"\"",
    "\\": r"\\",
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_AT_MOST else f"{text[:SHOWN_AT_MOST]}..."
