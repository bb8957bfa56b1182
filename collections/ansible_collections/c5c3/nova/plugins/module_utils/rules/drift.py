# SPDX-License-Identifier: Apache-2.0
"""Whether an object of the API server still is what a pass would apply, so that a settled pass writes nothing.

A digest of what was applied, kept in an annotation, tells a definition that changed, also by a field that is gone from
it. Holding the live object against the definition tells what somebody else changed.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

ANNOTATION: Final = "nova.c5c3.io/applied-hash"


def stamped(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The definition with the digest of itself in an annotation."""
    digest = hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]
    body: dict[str, Any] = copy.deepcopy(dict(definition))
    body["metadata"]["annotations"] = {**(body["metadata"].get("annotations") or {}), ANNOTATION: digest}
    return body


def is_applied(live: Mapping[str, Any] | None, definition: Mapping[str, Any]) -> bool:
    """Whether applying the stamped ``definition`` to the ``live`` object would change nothing of ours."""
    return live is not None and _contains(live, definition)


def _contains(live: Any, wanted: Any) -> bool:
    """Whether ``live`` says all that ``wanted`` says; what the API server or others added does not count.

    Lists are compared whole, in their order. An empty list or map counts as absent, as the API server stores it.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(live, Mapping):
            return not wanted and live is None
        return all(_contains(live.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        items = live or []
        return (
            isinstance(items, list)
            and len(items) == len(wanted)
            and all(_contains(one, other) for one, other in zip(items, wanted, strict=True))
        )
    return bool(live == wanted)
