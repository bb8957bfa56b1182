# SPDX-License-Identifier: Apache-2.0
"""Whether a text may be the key or the value of a label, and why not in the words of Kubernetes.

Source: apimachinery, ``IsQualifiedName`` and ``IsValidLabelValue``. Lengths are in bytes there, and so they are here.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAME})?"
_SUBDOMAIN_PART: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_SUBDOMAIN_PART}(\.{_SUBDOMAIN_PART})*"
_MOST: Final = 63
_MOST_OF_SUBDOMAIN: Final = 253

_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def key_problems(text: str) -> list[str]:
    """Why this is no key of a label (``IsQualifiedName``); empty when it is one."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in _subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif _bytes(name) > _MOST:
        problems.append(f"name part {_too_long(_MOST)}")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_NAME_RULE}")
    return problems


def value_problems(text: str) -> list[str]:
    """Why this is no value of a label (``IsValidLabelValue``); empty when it is one."""
    problems = [_too_long(_MOST)] if _bytes(text) > _MOST else []
    return problems if re.fullmatch(_VALUE, text) else [*problems, _VALUE_RULE]


def fitting(name: str, suffix: str) -> str:
    """``<name>-<suffix>`` as the value of a label; a name that is too long is cut and told apart by eight hex digits.

    Of the name of an object it makes one that an object may have, too.
    """
    whole = f"{name}-{suffix}"
    if _bytes(whole) <= _MOST:
        return whole
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    cut = _MOST - len(digest) - len(suffix) - 2
    return f"{name[:cut].rstrip('-.')}-{digest}-{suffix}"


def _subdomain_problems(text: str) -> list[str]:
    problems = [_too_long(_MOST_OF_SUBDOMAIN)] if _bytes(text) > _MOST_OF_SUBDOMAIN else []
    return problems if re.fullmatch(_SUBDOMAIN, text) else [*problems, _SUBDOMAIN_RULE]


def _too_long(most: int) -> str:
    return f"must be no more than {most} bytes"


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
