"""Whether a signed body itself says how it is to be read, for signers that leave ``Content-Type`` out
(Gmail does): whoever may change that field could show another text than was signed."""

from __future__ import annotations

from typing import Final

from channels.email.identity.scan import Scanner, Unreadable, unfolded

__all__ = ["declares"]

_STOPS: Final = frozenset('();="')
MAX_BOUNDARY: Final = 70
"""RFC 2046 §5.1.1"""


def declares(content_type: bytes, body: bytes) -> bool:
    """The body begins with the boundary that the field names, and ends with its closing line: the field
    can't have named another one."""
    try:
        boundary = _boundary(content_type)
    except Unreadable:
        return False
    if boundary is None or not 1 <= len(boundary) <= MAX_BOUNDARY:
        return False
    mark = b"--" + boundary.encode("latin-1")
    begin = body[: MAX_BOUNDARY + 8].lstrip(b"\r\n")
    end = body[-(MAX_BOUNDARY + 64) :].rstrip(b"\r\n")
    opened = begin.startswith(mark) and begin[len(mark) :][:1] in {b"\r", b"\n"}
    return opened and end.endswith(b"\n" + mark + b"--")


def _boundary(value: bytes) -> str | None:
    """Of a multipart type (RFC 2045 §5.1), each parameter once."""
    scan = Scanner(unfolded(value))
    scan.space()
    if not scan.run(_STOPS).lower().startswith("multipart/"):
        return None
    found: dict[str, str] = {}
    scan.space()
    while scan.take(";"):
        scan.space()
        name = scan.run(_STOPS).lower()
        scan.space()
        if not scan.take("="):
            if name:
                raise Unreadable
            break
        scan.space()
        content = scan.quoted() if scan.next == '"' else scan.run(frozenset('();"'))
        if not name or name in found:
            raise Unreadable
        found[name] = content
        scan.space()
    if scan.next:
        raise Unreadable
    return found.get("boundary")
