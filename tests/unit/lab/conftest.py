# SPDX-License-Identifier: Apache-2.0
"""The lab is a command in a folder of its own, not a package of the product: its folder goes on the path here."""

from __future__ import annotations

import pathlib
import sys

LAB_FOLDER = str(pathlib.Path(__file__).resolve().parents[3] / "lab")
if LAB_FOLDER not in sys.path:
    sys.path.insert(0, LAB_FOLDER)
