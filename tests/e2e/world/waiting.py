# SPDX-License-Identifier: Apache-2.0
"""Polls with a deadline, which tell what they saw last when it passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import requests
import urllib3
from e2e.world import cluster
from keystoneauth1 import exceptions as keystone_errors

T = TypeVar("T")

#: What a look meets while a server is away; it counts as "not yet".
UNREACHABLE = (
    cluster.RefusedError,
    keystone_errors.ClientException,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
)


class NotInTimeError(AssertionError):
    """A deadline has passed. The text holds what was waited for and what was seen last."""


def wait_for(
    what: str, look: Callable[[], T], good: Callable[[T], object] = bool, *, seconds: float, every: float = 0.3
) -> T:
    """What ``look`` returned once it was ``good``. Raises NotInTimeError after ``seconds``, with the last look in it.

    A server that does not answer is one more thing that is not good yet; whatever ``good`` raises ends the wait.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            seen = look()
        except UNREACHABLE as error:
            last = f"{type(error).__name__}: {error}"
        else:
            if good(seen):
                return seen
            last = str(seen)
        if time.monotonic() > deadline:
            raise NotInTimeError(f"not within {seconds:.0f} s: {what}; seen last: {last}")
        time.sleep(every)
