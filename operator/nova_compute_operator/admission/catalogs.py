# SPDX-License-Identifier: Apache-2.0
"""The option catalogs that come with the operator, by release."""

from __future__ import annotations

import functools
import importlib.resources
import json
from typing import Any


@functools.cache
def load(release: str) -> dict[str, Any] | None:
    """The catalog of a release, or None when there is none."""
    folder = importlib.resources.files("nova_compute_operator") / "catalogs"
    # The name comes from a resource: it picks one of the files there are and is no path.
    found = next((file for file in folder.iterdir() if file.name == f"{release}.json"), None)
    if found is None:
        return None
    catalog: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return catalog
