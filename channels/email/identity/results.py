"""What a mail server found out: ``Authentication-Results`` by its grammar (RFC 8601 §2.2).

Wire: Microsoft 365 leaves out the authserv-id and writes ``action=none`` where a property has a dot;
Gmail's values hold colons and slashes without quotation marks. Both are read. Everything else that
isn't of the grammar makes the whole field unreadable.
"""

from __future__ import annotations

from typing import Final

from channels.email.identity.scan import Scanner, Unreadable, unfolded
from gateway.engine.struct import struct

__all__ = ["Result", "Results", "results"]

MAX_RESULTS: Final = 100
_WORD: Final = frozenset('();"=')
_VALUE: Final = frozenset('();"')


@struct(frozen=True, slots=True)
class Result:
    """One method's result. ``of`` are its properties, in order, repeated ones and all."""

    method: str
    word: str
    of: tuple[tuple[str, str], ...] = ()

    def values(self, name: str) -> tuple[str, ...]:
        return tuple(value for key, value in self.of if key == name)


@struct(frozen=True, slots=True)
class Results:
    """``server`` is the authserv-id in lower case; ``None`` where the field has none."""

    server: str | None
    all: tuple[Result, ...]


def results(value: bytes) -> Results:
    """Raises ``Unreadable``."""
    scan = Scanner(unfolded(value))
    server = _server(scan)
    out: list[Result] = []
    while scan.next:
        found = _result(scan)
        if found:
            out.append(found)
        if scan.next and not scan.take(";"):
            raise Unreadable
        scan.space()
        if len(out) > MAX_RESULTS:
            raise Unreadable
    return Results(server, tuple(out))


def _server(scan: Scanner) -> str | None:
    """The authserv-id and its version, up to behind the semicolon. Without it the field begins with a
    method and its equals sign."""
    scan.space()
    start = scan.at
    name = scan.quoted() if scan.next == '"' else scan.run(_WORD)
    scan.space()
    if scan.next == "=" and name:
        scan.at = start
        return None
    version = scan.run(_WORD)
    if not name or version not in {"", "1"}:
        raise Unreadable
    scan.space()
    if scan.next and not scan.take(";"):
        raise Unreadable
    scan.space()
    return name.lower()


def _result(scan: Scanner) -> Result | None:
    """One result, up to its semicolon; ``None`` for an empty one or ``none``."""
    method, slash, version = scan.run(_WORD).lower().partition("/")
    scan.space()
    if not scan.take("="):
        if method in {"", "none"} and not slash:
            return None
        raise Unreadable
    if not method or (slash and version != "1"):
        raise Unreadable
    scan.space()
    word = scan.run(_WORD).lower()
    scan.space()
    if not word:
        raise Unreadable
    of: list[tuple[str, str]] = []
    while scan.next and scan.next != ";":
        of.append(_property(scan))
    return Result(method, word, tuple(of))


def _property(scan: Scanner) -> tuple[str, str]:
    name = scan.run(_WORD).lower()
    scan.space()
    if not name or not scan.take("="):
        raise Unreadable
    scan.space()
    value: list[str] = []
    while scan.next:
        if scan.next == '"':
            value.append(scan.quoted())
        elif run := scan.run(_VALUE):
            value.append(run)
        else:
            break
    scan.space()
    return name, "".join(value)
