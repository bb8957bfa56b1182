# SPDX-License-Identifier: Apache-2.0
"""What an error says, and what it never does."""

from __future__ import annotations

import pytest
from ansible_collections.c5c3.nova.plugins.module_utils.clients import errors

SECRET = "hunter2hunter2"


def test_an_answer_is_named_with_its_call_and_status() -> None:
    error = errors.CallError(system="nova", call="GET /v2.1/os-services", status=403, detail="Policy doesn't allow it.")
    assert str(error) == "GET /v2.1/os-services: HTTP 403: Policy doesn't allow it."


def test_no_answer_is_named_without_a_status() -> None:
    error = errors.CallError(system="keystone", call="POST /v3/auth/tokens", detail="no answer")
    assert str(error) == "POST /v3/auth/tokens: no answer"


def test_an_empty_detail_leaves_no_trailing_colon() -> None:
    assert str(errors.CallError(system="nova", call="GET /x", status=502)) == "GET /x: HTTP 502"


def test_as_data_is_plain() -> None:
    error = errors.CallError(system="kubernetes", call="GET /api/v1/nodes", status=403, detail="no", kind="Node")
    assert error.as_data() == {
        "system": "kubernetes",
        "kind": "Node",
        "call": "GET /api/v1/nodes",
        "status": 403,
        "detail": "no",
    }


def test_a_detail_is_one_line_of_at_most_256_characters() -> None:
    error = errors.CallError(system="nova", call="GET /x", detail="one\r\n\ttwo\x00three\u2028" + "x" * 1000)
    assert error.detail.startswith("one two three x")
    assert len(error.detail) == errors.DETAIL_LENGTH


@pytest.mark.parametrize(
    "text",
    [
        f"dialling https://nova:{SECRET}@keystone/v3 failed",
        f"rabbit://nova:{SECRET}@mq:5672/",
        f"Authorization: Bearer {SECRET}",
        f"sent with bearer {SECRET}",
        f"{{'X-Auth-Token': '{SECRET}'}}",
        f"X-Subject-Token: {SECRET}",
        f'{{"user": {{"name": "nova", "password": "{SECRET}"}}}}',
        f"GET /x?token={SECRET}&a=b",
        f"gAAAAABm{SECRET}-_{SECRET}",
        f"eyJhbGciOiJSUzI1NiJ9.{SECRET}.{SECRET}",
    ],
)
def test_a_credential_is_cut_out(text: str) -> None:
    assert SECRET not in errors.CallError(system="nova", call=text, detail=text).as_data()["detail"]  # type: ignore[operator]
    assert SECRET not in str(errors.CallError(system="nova", call=text, detail=text))


@pytest.mark.parametrize(
    "text",
    [
        'secrets "nova-service-user" not found',
        "the Secret: not there yet",
        "The request you have made requires authentication.",
        "Invalid token format: renew it",
    ],
)
def test_prose_about_credentials_stays_readable(text: str) -> None:
    assert errors.scrub(text) == text


def test_the_cause_of_a_failed_connection_is_the_innermost_words_of_the_system() -> None:
    inner = OSError(111, "Connection refused")
    outer = RuntimeError("HTTPConnectionPool(host='nova', port=80): url: /x?secret=1", inner)
    assert errors.cause(outer) == "Connection refused"
