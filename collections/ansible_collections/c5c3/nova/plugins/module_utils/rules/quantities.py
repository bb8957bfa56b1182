# SPDX-License-Identifier: Apache-2.0
"""Quantities such as ``500m`` and ``1Gi``, read exactly as Kubernetes reads them.

Source: apimachinery, ``resource.ParseQuantity``. Two spellings of one amount are equal, amounts finer than a billionth
are rounded away from zero, and what carries a binary suffix ends at the largest 64-bit number.
"""

from __future__ import annotations

import fractions
import math
import re
from typing import Any, Final

_PATTERN: Final = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9.]+)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FINEST: Final = 10**9
_LARGEST_BINARY: Final = 2**63 - 1
#: Kubernetes sets no bound, and compares larger ones by writing out their digits. No machine has such amounts.
_LARGEST_EXPONENT: Final = 1000
#: More digits than any amount needs; Python refuses to read numbers of several thousand.
_MOST_DIGITS: Final = 1000

NOT_A_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NO_SUCH_SUFFIX: Final = "unable to parse quantity's suffix"


def parse(value: Any) -> fractions.Fraction:
    """The amount that a quantity stands for. Raises ValueError with Kubernetes' words when it is none."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    match = _PATTERN.fullmatch(text)
    if match is None or len(text) > _MOST_DIGITS:
        raise ValueError(NOT_A_QUANTITY)
    sign, number, suffix = match.groups()
    amount = fractions.Fraction(number) * _factor(suffix)
    # Away from zero: who wants some of a resource gets some, however little was asked for.
    amount = fractions.Fraction(math.ceil(amount * _FINEST), _FINEST)
    if suffix in _BINARY:
        amount = min(amount, fractions.Fraction(_LARGEST_BINARY))
    return -amount if sign == "-" else amount


def parse_for_pod(value: Any) -> fractions.Fraction:
    """The amount as a pod keeps it: whatever is finer than a thousandth is rounded away from zero."""
    amount = parse(value)
    return fractions.Fraction(math.ceil(abs(amount) * 1000), 1000) * (-1 if amount < 0 else 1)


def _factor(suffix: str) -> fractions.Fraction:
    if suffix in _DECIMAL:
        return fractions.Fraction(10) ** _DECIMAL[suffix]
    if suffix in _BINARY:
        return fractions.Fraction(2 ** _BINARY[suffix])
    exponent = suffix[1:]
    if "." in exponent or abs(int(exponent)) > _LARGEST_EXPONENT:
        raise ValueError(NO_SUCH_SUFFIX)
    return fractions.Fraction(10) ** int(exponent)
