# SPDX-License-Identifier: Apache-2.0
"""What the operator says about itself: log lines, probes, numbers."""

from __future__ import annotations

import io
import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from nova_compute_operator import health, log, metrics, settings


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    root, own = logging.getLogger(), logging.getLogger(log.ROOT)
    before = (root.handlers[:], root.level, own.level)
    yield logging.getLogger(f"{log.ROOT}.passes")
    root.handlers[:], root.level, _ = before
    own.setLevel(before[2])
    logging.captureWarnings(capture=False)


def test_a_line_has_the_shape_of_zap(logger: logging.Logger) -> None:
    stream = io.StringIO()
    log.set_up(level="info", encoder="json", stream=stream)
    logger.warning("Pass ended", extra=log.fields(pool="ns/a", seconds=1.5))
    line = json.loads(stream.getvalue())
    assert line["ts"].endswith("Z")
    del line["ts"]
    assert line == {"level": "warn", "logger": "passes", "msg": "Pass ended", "pool": "ns/a", "seconds": 1.5}


def test_text_with_line_breaks_and_percent_signs_stays_one_line(logger: logging.Logger) -> None:
    stream = io.StringIO()
    log.set_up(level="info", encoder="json", stream=stream)
    logger.info("Pass ended", extra=log.fields(error='100%s\n{"level": "error"}'))
    assert stream.getvalue().count("\n") == 1
    assert json.loads(stream.getvalue())["error"] == '100%s\n{"level": "error"}'


def test_a_console_line_is_for_a_person(logger: logging.Logger) -> None:
    stream = io.StringIO()
    log.set_up(level="debug", encoder="console", stream=stream)
    logger.debug("Due", extra=log.fields(pool="ns/a"))
    assert stream.getvalue().split("\t")[1:] == ["DEBUG", "passes", "Due", '{"pool": "ns/a"}\n']


@pytest.mark.parametrize(("level", "heard"), [("error", 1), ("info", 2), ("debug", 3), ("1", 3), ("9", 3)])
def test_the_level_says_what_is_heard(logger: logging.Logger, level: str, heard: int) -> None:
    stream = io.StringIO()
    log.set_up(level=level, encoder="json", stream=stream)
    for write in (logger.debug, logger.info, logger.error):
        write("x")
    assert stream.getvalue().count("\n") == heard


def test_no_level_lets_libraries_print_the_bodies_of_requests(logger: logging.Logger) -> None:
    del logger
    stream = io.StringIO()
    log.set_up(level="9", encoder="json", stream=stream)
    logging.getLogger("kubernetes.client.rest").debug("response body: secret")
    assert stream.getvalue() == ""


def fetch(server: health.Server, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("host", ["", "127.0.0.1"])
def test_a_probe_fails_with_the_names_of_what_is_wrong(host: str) -> None:
    failing: list[str] = []
    page = health.check_page(lambda: failing)
    server = health.Server(settings.Address(host=host, port=0), {"/healthz": page})
    assert fetch(server, "/healthz?verbose") == (200, "ok\n")
    failing.append("watch-novacomputes")
    assert fetch(server, "/healthz") == (500, "[-] watch-novacomputes\n")
    assert fetch(server, "/other")[0] == 404
    server.close()


def test_a_taken_address_is_named() -> None:
    server = health.Server(settings.Address(host="127.0.0.1", port=0), {})
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{server.port}"):
        health.Server(settings.Address(host="127.0.0.1", port=server.port), {})
    server.close()


def test_numbers_are_served_for_prometheus() -> None:
    numbers = metrics.Metrics()
    numbers.gauge("nova_compute_operator_pools", "Pools there are", lambda: 3)
    numbers.gauges("nova_compute_operator_watch_age_seconds", "", ["kind"], lambda: [(["Nova"], 1.5)])
    numbers.started(0.2)
    server = health.Server(
        settings.Address(host="127.0.0.1", port=0), {"/metrics": health.metrics_page(numbers.registry)}
    )
    status, text = fetch(server, "/metrics")
    server.close()
    assert status == 200
    assert "nova_compute_operator_pools 3.0" in text
    assert 'nova_compute_operator_watch_age_seconds{kind="Nova"} 1.5' in text
    assert 'nova_compute_operator_pass_lateness_seconds_bucket{le="0.25"} 1.0' in text
    assert 'nova_compute_operator_passes_total{outcome="timeout"} 0.0' in text


def test_steps_have_the_buckets_of_sibling_operators() -> None:
    assert metrics.STEP_BUCKETS == (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
