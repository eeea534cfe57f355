"""What a line is: quoted, the announcement of a quotation, a quoted header, a signature.

Each looks at a fixed number of lines around the one it is asked about, and at none that is longer than
``HEAD``: over a whole text that is linear, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from channels.email.reading.languages import (
    ATTRIBUTIONS,
    DAYS,
    DEVICES,
    FORWARDED,
    LABELS,
    MOBILE,
    ORIGINAL,
    Label,
)

__all__ = [
    "HEAD",
    "WRAP",
    "attribution",
    "bare",
    "blank",
    "certain",
    "header_block",
    "marked",
    "quoted",
    "ruler",
    "signature",
]

HEAD = 400
"""A longer line, or one that is longer when it is put together again, announces nothing."""
WRAP = 4
"""Over how many lines a program may have wrapped what announces a quotation."""
BLOCK = 12
"""How many lines a quoted header may have, with those that its addresses wrap to."""
SIGNED = 15
"""How many lines a signature may have. More is text."""

_MARKS = {
    ord(one): None
    for one in "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
} | {0xA0: " ", 0x202F: " "}
# Bounded repeats only: nothing here can be tried twice.
_DATED = re.compile(r"(?:19|20)\d\d|\d[:.h]\d\d|\d[./-]\d{1,2}[./-]\d")
_CLOCK = re.compile(r"(?<![\d.])\d{1,2}[:.h]\d\d(?![.\d])")
_RULES = "-_=—–"


def blank(line: str) -> bool:
    return not line or line.isspace()


def bare(line: str) -> str:
    """The line in lower case, without marks of direction and outer emphasis; empty if too long."""
    if len(line) > HEAD:
        return ""
    line = line if line.isascii() else line.translate(_MARKS)
    return line.strip(" \t\r*_").lower()


def quoted(line: str) -> bool:
    """Whether it is marked as quoted (RFC 3676 §4.5), also behind a mark of direction or few blanks."""
    head = line[:8]
    return (">" in head or "＞" in head) and head.translate(_MARKS).lstrip(" \t")[0] in ">＞"


def ruler(line: str) -> bool:
    """A line that only separates."""
    line = line[:HEAD].strip()
    return len(line) >= 3 and not line.strip(_RULES)


def marked(line: str) -> Literal["", "forward", "original"]:
    """Whether it is a line such as ``-----Original Message-----``."""
    head = bare(line)
    dashed = line[: HEAD + 1].strip()[:2] in ("--", "__", "==", "——", "––")
    if head and (dashed or head[-1] in ":："):
        words = head.strip(_RULES + ":： *")
        if words in FORWARDED:
            return "forward"
        if dashed and words in ORIGINAL:
            return "original"
    return ""


# -- "On … wrote:" ---------------------------------------------------------------------------------
def attribution(lines: Sequence[str], end: int, *, above: bool = False) -> int | None:
    """In which line the announcement begins that ends in line ``end``, if one does.

    ``above``: a quotation begins right beneath, so that the language needn't be known.
    """
    if _said(bare(lines[end])) is None:
        return None
    text, soft = "", None
    for at in range(end, max(-1, end - WRAP), -1):
        head = bare(lines[at])
        if not head or quoted(lines[at]) or (at < end and head[-1] in "!?:："):
            break
        text = f"{head} {text}" if text else head
        said = _said(text)
        if said is None or len(text) > HEAD:
            break
        dated = _DATED.search(text) is not None
        addressed = said[-1] in ">)" and "@" in said[-100:]
        if dated and _digit(head) and _opens(text, said, addressed):
            return _with_name(lines, at)
        if soft is None and _loose(text, said, dated, addressed, above):
            soft = at
    return None if soft is None else _with_name(lines, soft)


def certain(lines: Sequence[str]) -> bool:
    """Whether an announcement without a marked quotation beneath is a program's: that writes an address or
    a time of day into it. A person says on which day somebody wrote, and then goes on."""
    return any("@" in line[:HEAD] or _CLOCK.search(line[:HEAD]) for line in lines)


def _said(text: str) -> str | None:
    """The text before its closing colon, or between dashes; ``None`` where it announces nothing."""
    if text.endswith((":", "：")):
        return text[:-1].strip(" -") or None
    if text.endswith("--"):
        return text.strip("- ") or None
    return None


def _opens(text: str, said: str, addressed: bool) -> bool:
    """Whether it begins as one language begins it and ends as the same language ends it."""
    text = text.lstrip("- ")
    for one in ATTRIBUTIONS.values():
        named = addressed and "" not in one.starts  # an address ends it as well as a verb does
        if text.startswith(one.starts) and (
            said.endswith(one.ends) or named or any(verb in text for verb in one.inside)
        ):
            return True
    return False


def _loose(text: str, said: str, dated: bool, addressed: bool, above: bool) -> bool:
    """Whether it is one without a first word that tells: a date first, or a name."""
    verb = any(
        said.endswith(one.ends) or any(verb in text for verb in one.inside)
        for one in ATTRIBUTIONS.values()
    )
    if dated and (text[0].isdigit() or text.startswith(DAYS)):
        return verb or addressed or above
    return (verb and "@" in text) or (above and (verb or dated or "@" in text))


def _digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def _with_name(lines: Sequence[str], at: int) -> int:
    """A name and an address alone in the line above belong to it where it has none itself."""
    if at and "@" not in lines[at]:
        over = bare(lines[at - 1])
        if over.endswith(">") and "<" in over and "@" in over and not quoted(lines[at - 1]):
            return at - 1
    return at


# -- "From: … Sent: … Subject: …" ------------------------------------------------------------------
def header_block(lines: Sequence[str], at: int) -> int | None:
    """Behind which line a quoted header ends that begins in line ``at``, if one does.

    A form that somebody fills in may say from, to and when; a mail's header has a subject or an address.
    """
    if _label(lines[at]) is None:
        return None
    seen: set[Label] = set()
    end, address = at, False
    for here in range(at, min(len(lines), at + BLOCK)):
        if blank(lines[here]) or quoted(lines[here]):
            break
        label = _label(lines[here])
        if label in seen or (label is None and here - end >= 3):
            break
        if label is not None:
            seen.add(label)
            end = here + 1
        address = address or "@" in lines[here][:HEAD]
    whole = {"from", "date"} <= seen and ("subject" in seen or ("to" in seen and address))
    return end if whole else None


def _label(line: str) -> Label | None:
    name, colon, _ = line[:40].replace("：", ":").partition(":")
    if not colon:
        return None
    name = name.translate(_MARKS).lstrip(" \t*_")
    if len(name) > 24:
        return None
    return LABELS.get("".join(name.split()).strip("*_").lower())


# -- signatures ------------------------------------------------------------------------------------
def signature(lines: Sequence[str]) -> tuple[int, str]:
    """Where the signature at the end begins and of which kind it is; the end where there is none.

    What would leave nothing above it is no signature.
    """
    first = next((at for at, line in enumerate(lines) if not blank(line)), len(lines))
    end, rule = len(lines), ""
    for _ in range(3):
        found = _mobile(lines, first, end)
        if found is not None:
            end, rule = found, rule or "mobile-signature"
            continue
        found = _dashes(lines, first, end)
        if found is None:
            break
        end, rule = found, "signature"
    return end, rule


def _dashes(lines: Sequence[str], first: int, end: int) -> int | None:
    """The line ``-- `` (RFC 3676 §4.3) near the end; programs lose the blank."""
    written = 0
    for at in range(end - 1, max(first, end - 3 * SIGNED), -1):
        if lines[at][:9].rstrip() == "--" and blank(lines[at][9:]):
            return at
        written += not blank(lines[at])
        if written > SIGNED:
            break
    return None


def _mobile(lines: Sequence[str], first: int, end: int) -> int | None:
    at = end - 1
    while at > first and (blank(lines[at]) or ruler(lines[at])):
        at -= 1
    line = bare(lines[at]) if at > first else ""
    if not line or len(line) > 90:
        return None
    line = line.rstrip(".!。")
    signed = any(line.startswith(start) and line.endswith(last) for start, last in MOBILE)
    return at if signed and any(device in line for device in DEVICES) else None
