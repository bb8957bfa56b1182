# SPDX-License-Identifier: Apache-2.0
"""Tells the owner of a pool that a pass over it did not come to its end: such a pass could not say so itself.

It is the one write to a pool that no pass makes, and it is made while no pass of the pool runs. What it says is a rule
(`status.after_unfinished`); a pass that comes to its end makes Ready anew, whatever it said.
"""

from __future__ import annotations

import logging
from typing import Final

from ansible_collections.c5c3.nova.plugins.module_utils.clients import kubernetes
from ansible_collections.c5c3.nova.plugins.module_utils.rules import conditions, status

from nova_compute_operator import api, log, outcomes

logger = logging.getLogger(__name__)

REASONS: Final = {
    outcomes.Verdict.TIMEOUT: conditions.RUN_TIMEOUT,
    outcomes.Verdict.FAILED: conditions.RUN_FAILED,
}
"""How a pass did not come to its end, to the reason of Ready and of the event."""

_ATTEMPTS = 3


def report(server: api.ApiServer, pool: str, outcome: outcomes.Outcome, *, limit: float) -> None:
    """Say in Ready, and by an event, that the pass was ended after `limit` seconds, or how it failed.

    Failing to say so fails nothing.
    """
    reason, message = REASONS[outcome.verdict], _message(outcome, limit)
    for _ in range(_ATTEMPTS):
        try:
            _report(server, pool, reason, message)
        except api.ApiError as error:
            # A pool that is gone has no owner to tell.
            if error.status == 404:
                return
            failure = str(error)
            # 409: somebody wrote the pool between the read and the write.
            if error.status != 409:
                break
        else:
            return
    logger.warning("Could not say that a pass did not come to its end", extra=log.fields(pool=pool, error=failure))


def _message(outcome: outcomes.Outcome, limit: float) -> str:
    if outcome.verdict is outcomes.Verdict.TIMEOUT:
        return status.message_of_deadline(limit)
    failure = outcome.failure or outcomes.Failure(step="", task="", message="")
    return status.message_of_failure(failure.step, failure.task, failure.message)


def _report(server: api.ApiServer, pool: str, reason: str, message: str) -> None:
    item = server.pool(pool)
    before = item.get("status") or {}
    after = status.after_unfinished(
        before,
        reason=reason,
        message=message,
        generation=item["metadata"]["generation"],
        now=kubernetes.timestamp(),
    )
    if after != before:
        server.replace_status({**item, "status": after})
        server.record_event(item, kind="Warning", reason=reason, message=message)
