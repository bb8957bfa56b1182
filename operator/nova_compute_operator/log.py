# SPDX-License-Identifier: Apache-2.0
"""Log lines in the shape that sibling operators write, so that one query in a log store finds them all.

One JSON object per line with `level`, `ts`, `logger`, `msg` and the fields of the message, or a line for a person.
The message is constant; what varies goes into fields. Text from a resource is therefore never a format string.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
from typing import Any, TextIO

ROOT = "nova_compute_operator"


def fields(**values: Any) -> dict[str, Any]:
    """What to pass as `extra` to a logging call, so that the values become fields of the line."""
    return {"fields": values}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {**_head(record), **getattr(record, "fields", {})}
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class _Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        head = _head(record)
        values = getattr(record, "fields", {})
        parts = [head["ts"], head["level"].upper(), head["logger"], head["msg"]]
        if values:
            parts.append(json.dumps(values, default=str, ensure_ascii=False))
        text = "\t".join(parts)
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _head(record: logging.LogRecord) -> dict[str, str]:
    at = dt.datetime.fromtimestamp(record.created, tz=dt.UTC)
    return {
        # zap knows no "warning" and no "critical".
        "level": {"WARNING": "warn", "CRITICAL": "error"}.get(record.levelname, record.levelname.lower()),
        "ts": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "logger": record.name.removeprefix(f"{ROOT}."),
        "msg": record.getMessage(),
    }


def set_up(*, level: str, encoder: str, stream: TextIO = sys.stderr) -> None:
    """Make every logger of the process write to the stream.

    Level is `debug`, `info`, `error`, or a number, which stands for debug.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Console() if encoder == "console" else _Json())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Libraries at debug print the bodies of requests, which no level of ours may bring into a log.
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    own = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR}.get(level, logging.DEBUG)
    logging.getLogger(ROOT).setLevel(own)
