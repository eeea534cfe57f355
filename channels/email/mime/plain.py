"""Text parts that aren't HTML, as they were meant to be read: lines that flow together (RFC 3676), OpenPGP's
armour (RFC 9580 §6.2 and §7), enriched text (RFC 1896)."""

from __future__ import annotations

from typing import Final

from gateway.engine.struct import struct

_ARMOUR: Final = "-----BEGIN PGP "
_SIGNED: Final = "-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE: Final = "-----BEGIN PGP SIGNATURE-----"
_MESSAGE: Final = "-----BEGIN PGP MESSAGE-----"
_DEEPEST: Final = 20


def unflowed(text: str, *, delete_space: bool) -> str:
    """Paragraphs on one line each, quotations with ``> `` before every level."""
    out: list[str] = []
    open_at: int | None = None  # how deeply the paragraph under way is quoted
    for line in text.split("\n"):
        content = line.lstrip(">")
        depth = min(len(line) - len(content), _DEEPEST)
        content = content.removeprefix(" ")
        flows = content.endswith(" ") and content != "-- "
        if flows and delete_space:
            content = content[:-1]
        if open_at == depth and content != "-- ":
            out[-1] += content  # CPython appends in place
        else:
            out.append("> " * depth + content)
        open_at = depth if flows else None
    return "\n".join(out)


@struct(frozen=True, slots=True)
class Unarmoured:
    text: str
    encrypted: bool


def unarmoured(text: str) -> Unarmoured:
    """Signed text without its seals; where something is encrypted, it is left out."""
    if _ARMOUR not in text:
        return Unarmoured(text, encrypted=False)
    out: list[str] = []
    encrypted = False
    state = ""  # "head": the lines before signed text; "skip": armour; "signed": dashes are doubled
    for line in text.split("\n"):
        mark = line.strip()
        if mark == _SIGNED:
            state = "head"
        elif mark in {_SIGNATURE, _MESSAGE}:
            encrypted = encrypted or mark == _MESSAGE
            state = "skip"
        elif state == "skip":
            state = "" if mark.startswith("-----END PGP ") else "skip"
        elif state == "head":
            state = "head" if mark else "signed"
        else:
            out.append(line.removeprefix("- ") if state == "signed" else line)
    return Unarmoured("\n".join(out), encrypted)


def unenriched(text: str) -> str:
    """Without its commands; ``<<`` spells the sign, and a single line break is a space."""
    out: list[str] = []
    at = 0
    while (begin := text.find("<", at)) >= 0:
        out.append(text[at:begin])
        if text.startswith("<<", begin):
            out.append("<")
            at = begin + 2
            continue
        end = text.find(">", begin, begin + 64)
        if end < 0:
            out.append("<")
            at = begin + 1
            continue
        name = text[begin + 1 : end].lower()
        at = end + 1
        if name == "param":
            over = text.find("</param>", at)
            at = len("</param>") + over if over >= 0 else at
    out.append(text[at:])
    paragraphs = "".join(out).split("\n\n")
    return "\n\n".join(each.replace("\n", " ") for each in paragraphs)
