# SPDX-License-Identifier: Apache-2.0
"""Whether an object of the API server still is what a pass would apply, so that a settled pass writes nothing.

A digest of what was applied, kept in an annotation, tells a definition that changed, also by a field that is gone from
it. Holding the live object against the definition tells what somebody else changed.
"""

from __future__ import annotations

import copy
import fractions
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from ansible_collections.c5c3.nova.plugins.module_utils.rules import quantities

ANNOTATION: Final = "nova.c5c3.io/applied-hash"

#: The maps whose values the API server writes anew in its own spelling: 0.5 as 500m, 1024Mi as 1Gi, 100n as 1m.
_QUANTITIES: Final = frozenset({"requests", "limits"})


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

    Lists are compared whole, in their order. An empty text, list or map counts as absent, as the API server stores it.
    """
    if live is None and wanted in ("", [], {}):
        return True
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(
            _same_quantities(live.get(key), value) if key in _QUANTITIES else _contains(live.get(key), value)
            for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(live, list)
            and len(live) == len(wanted)
            and all(_contains(one, other) for one, other in zip(live, wanted, strict=True))
        )
    return bool(live == wanted)


def _same_quantities(live: Any, wanted: Any) -> bool:
    """Whether ``live`` names every quantity of ``wanted``, however it spells them."""
    if not isinstance(live, Mapping) or not isinstance(wanted, Mapping):
        return _contains(live, wanted)
    return all(name in live and _quantity(live[name]) == _quantity(value) for name, value in wanted.items())


def _quantity(value: Any) -> fractions.Fraction | str:
    """What a quantity in a pod amounts to; a text that is none stands for itself."""
    try:
        return quantities.parse_for_pod(value)
    except ValueError:
        return str(value)
