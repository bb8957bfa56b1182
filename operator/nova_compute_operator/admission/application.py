# SPDX-License-Identifier: Apache-2.0
"""The ASGI application: two paths that take an AdmissionReview each."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from starlette import applications, concurrency, requests, responses, routing

from nova_compute_operator import log
from nova_compute_operator.admission import reviews

logger = logging.getLogger(__name__)

MUTATE_PATH = "/mutate-nova-openstack-c5c3-io-v1alpha1-novacompute"
VALIDATE_PATH = "/validate-nova-openstack-c5c3-io-v1alpha1-novacompute"

# A review carries the object twice at most, and the API server takes none of more than 3 MiB. Escapes may double it.
_MOST_BYTES = 16 * 1024 * 1024

Judge = Callable[[Mapping[str, Any]], dict[str, Any]]


def make(read_nova: reviews.ReadNova) -> applications.Starlette:
    """The application; ``read_nova`` reads the Nova that a pool names."""
    judges: dict[str, Judge] = {
        MUTATE_PATH: reviews.mutate,
        VALIDATE_PATH: lambda request: reviews.validate(request, read_nova),
    }
    return applications.Starlette(
        routes=[routing.Route(path, _endpoint(judge), methods=["POST"]) for path, judge in judges.items()]
    )


def _endpoint(judge: Judge) -> Callable[[requests.Request], Any]:
    async def endpoint(request: requests.Request) -> responses.Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return _plain(413, f"more than {_MOST_BYTES} bytes")
        # In a thread: a verdict takes time, and may have to wait for the API server.
        return await concurrency.run_in_threadpool(_respond, judge, bytes(body))

    return endpoint


def _respond(judge: Judge, body: bytes) -> responses.Response:
    try:
        review = reviews.parse(body)
    except reviews.MalformedError as error:
        return _plain(400, str(error))
    try:
        answer = judge(review)
    except Exception:
        logger.exception("A review failed", extra=log.fields(**_described(review)))
        answer = reviews.fail(review)
    response = answer["response"]
    if not response["allowed"]:
        causes = ((response.get("status") or {}).get("details") or {}).get("causes") or []
        fields = [cause["field"] for cause in causes[:20]]
        logger.info("Refused", extra=log.fields(**_described(review), fields=fields, causes=len(causes)))
    # In ASCII: a text that is no valid Unicode must not break the answer.
    return responses.Response(json.dumps(answer), media_type="application/json")


def _described(review: Mapping[str, Any]) -> dict[str, Any]:
    return {key: review.get(key) for key in ("uid", "operation", "namespace", "name")}


def _plain(status: int, text: str) -> responses.Response:
    return responses.PlainTextResponse(f"{text}\n", status_code=status)
