# SPDX-License-Identifier: Apache-2.0
"""Tells the owner of a pool that a pass over it was ended at its deadline: such a pass could not say so itself.

It is the one write to a pool that no pass makes, and it is made while no pass of the pool runs. What it says is a rule
(`status.after_deadline`); a pass that comes to its end makes Ready anew, whatever it said.
"""

from __future__ import annotations

import logging

from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, status

from nova_compute_operator import api, log

logger = logging.getLogger(__name__)

_ATTEMPTS = 3


def report(server: api.ApiServer, pool: str, limit: float) -> None:
    """Say in Ready, and by an event, that the pass was ended after `limit` seconds. Failing to say so fails nothing."""
    for _ in range(_ATTEMPTS):
        try:
            _report(server, pool, limit)
        except api.ApiError as error:
            failure = str(error)
            # 409: somebody wrote the pool between the read and the write.
            if error.status != 409:
                break
        else:
            return
    logger.warning("Could not say that a pass was ended", extra=log.fields(pool=pool, error=failure))


def _report(server: api.ApiServer, pool: str, limit: float) -> None:
    item = server.pool(pool)
    before = item.get("status") or {}
    now = kubernetes.timestamp()
    after = status.after_deadline(before, limit=limit, generation=item["metadata"]["generation"], now=now)
    if after != before:
        server.replace_status({**item, "status": after})
    (message,) = (one["message"] for one in after["conditions"] if one["type"] == conditions.READY)
    server.record_event(item, kind="Warning", reason=conditions.RUN_TIMEOUT, message=message)
