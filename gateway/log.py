"""Logs: for people on a terminal, JSON lines otherwise, greppable by turn, session and delivery.

Code logs with the standard library and says what it speaks of::

    log.warning("step failed", extra={"turn_id": turn_id, "session": key})
    with bound(turn_id=turn_id, session=key):
        ...  # for everything logged inside

Rules for what is logged at info and above: never the text of a message, never a tool's arguments.
Configured secrets are cut out of every line, whatever put them there.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TextIO

from typing_extensions import override

from gateway.values import without_passwords

FIELDS = MappingProxyType(
    {
        "agent": "agent",
        "session": "session",
        "turn_id": "turn",
        "turn": "turn",
        "delivery": "delivery",
        "step": "step",
        "tool": "tool",
        "error_id": "error_id",
        "request": "request",
    }
)
"""Attribute of a record → its name in the line."""

Style = Literal["auto", "human", "json"]
_bound: ContextVar[MappingProxyType[str, str] | None] = ContextVar("log_fields", default=None)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]+")


@contextmanager
def bound(**values: str) -> Generator[None, None, None]:
    """Name what is at work, for every line logged inside (tasks started inside included)."""
    token = _bound.set(MappingProxyType({**(_bound.get() or {}), **values}))
    try:
        yield
    finally:
        _bound.reset(token)


def configure(
    *,
    style: Style = "auto",
    level: int = logging.INFO,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Set up the process's logging, once; called again, it replaces what it set up before."""
    out = stream if stream is not None else sys.stderr
    human = style == "human" or (style == "auto" and out.isatty())
    redact = Redactor(secrets)
    handler = logging.StreamHandler(out)
    handler.setFormatter(HumanFormatter(redact) if human else JsonFormatter(redact))
    handler.set_name("gateway")
    root = logging.getLogger()
    for old in [one for one in root.handlers if one.get_name() == "gateway"]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    # A line per request belongs to the proxy in front; its paths also hold session keys.
    logging.getLogger("aiohttp.access").setLevel(max(level, logging.WARNING))


class Redactor:
    """Cuts configured secrets, bearer tokens and passwords in URLs out of text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # Short values are left: cutting "on" out of every line would hide the log, not the secret.
        # Longest first, so that a secret that contains another goes whole.
        known = sorted({secret for secret in secrets if len(secret) >= 6}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub("***", text)
        return _BEARER.sub(r"\1***", without_passwords(text))


class _Formatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def _fields(self, record: logging.LogRecord) -> dict[str, str]:
        found: dict[str, str] = {}
        held: Mapping[str, str] = _bound.get() or {}
        for attribute, name in FIELDS.items():
            value = getattr(record, attribute, None) or held.get(attribute)
            if value is not None:
                found[name] = self._redact(str(value))
        return found

    def _message(self, record: logging.LogRecord) -> str:
        try:
            return self._redact(record.getMessage())
        except Exception as error:  # noqa: BLE001 - a wrong format string must not cost the line
            return self._redact(f"{record.msg!r} (can't be formatted: {error})")

    def _trace(self, record: logging.LogRecord) -> str:
        parts: list[str] = []
        if record.exc_info:
            parts.append(self.formatException(record.exc_info))
        if record.stack_info:
            parts.append(record.stack_info)
        return self._redact("\n".join(parts))


class HumanFormatter(_Formatter):
    """``10:31:07 warning engine  step failed  turn=t_1 session=s1``."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        name = record.name.removeprefix("gateway.")
        fields = "".join(f" {key}={_quoted(value)}" for key, value in self._fields(record).items())
        line = f"{at} {record.levelname.lower():7} {name}  {_one_line(self._message(record))}"
        line += f" {fields}" if fields else ""
        trace = self._trace(record)
        return line + "".join(f"\n    {_one_line(part)}" for part in trace.splitlines())


class JsonFormatter(_Formatter):
    """One object a line: ``at``, ``level``, ``logger``, ``message``, fields, ``trace``."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, str] = {
            "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._message(record),
            **self._fields(record),
        }
        if trace := self._trace(record):
            line["trace"] = trace
        return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    """No line break or control character of somebody else's makes a line of its own."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[!-~]+", value) else json.dumps(value)


def wordless(error: BaseException) -> str:
    """What kind of error it is and where it came from, for errors whose own words may quote somebody."""
    frames = traceback.extract_tb(error.__traceback__)
    kind = type(error).__name__
    return f"{kind} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else kind
