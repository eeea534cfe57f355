"""What somebody wrote now, apart from what his mail program put beneath it.

Only lines are looked at, each a fixed number of times (``quotes.py``). Whatever is in doubt stays with
what was written: a quotation too much reads badly, a sentence too few loses what somebody said.
"""

from __future__ import annotations

from collections.abc import Sequence

from channels.email.reading.languages import FORWARD_PREFIXES
from channels.email.reading.quotes import (
    BLOCK,
    HEAD,
    WRAP,
    attribution,
    blank,
    certain,
    header_block,
    marked,
    quoted,
    ruler,
    signature,
)
from gateway.engine.struct import struct

__all__ = ["Extract", "extract"]

CONTEXT = 5
"""A longer quotation above an answer is history; a shorter one is what the answer is about."""


@struct(frozen=True, slots=True, kw_only=True)
class Extract:
    """``new`` and ``rest`` together are the whole text.

    - ``new``: what was written now. Quoted lines between answers stay in it, with their ``>``.
    - ``rest``: history and signature.
    - ``forwarded``: it passes another mail on, whose text stays in ``new``.
    - ``cut``: the rule that parted them: ``marker``, ``html``, ``attribution``, ``headers``,
      ``original``, ``quote``, ``signature`` or ``mobile-signature``; empty where nothing was cut.
    - ``whole``: nothing seemed to be written now, so ``new`` is all there is. Who decides by a word in
      a mail must not find it there.
    """

    new: str
    rest: str = ""
    forwarded: bool = False
    cut: str = ""
    whole: bool = False


@struct(frozen=True, slots=True)
class _Opening:
    """Where a quotation begins, with what announces it. ``marks``: its lines carry ``>``."""

    at: int
    rule: str
    marks: bool = False


def extract(text: str, quote_at: int | None, marker: str, subject: str = "") -> Extract:
    """Parts a mail's text. ``quote_at``: where HTML says that a quotation begins. ``marker``: the line
    of ours above which people write. ``subject`` only tells a mail that is passed on from a reply where
    the program writes the same above both."""
    lines, html = _lines(text, quote_at)
    above = _above_marker(lines, " ".join(marker.split()).lower())
    if above is not None:
        return _parted(lines, 0, above, "marker")
    opening = _opening(lines, 0, html)
    if opening is None:
        return _parted(lines, 0, len(lines), "")
    if _passes_on(lines, opening, subject):
        return Extract(new=_text(lines), forwarded=True)
    if opening.marks:
        return _between(lines, opening, html)
    return _parted(lines, 0, opening.at, opening.rule)


def _lines(text: str, quote_at: int | None) -> tuple[list[str], int | None]:
    """The lines, and in which of them the HTML's quotation begins."""
    if quote_at is None or not 0 < quote_at < len(text):
        return text.split("\n"), None
    above = text[:quote_at].removesuffix("\n").split("\n")
    return above + text[quote_at:].split("\n"), len(above)


# -- where a quotation begins ----------------------------------------------------------------------
def _opening(lines: Sequence[str], start: int, html: int | None) -> _Opening | None:
    """The first from line ``start`` on."""
    for at in range(start, len(lines)):
        if at == html:
            return _by_html(lines, start, at)
        if not lines[at]:
            continue
        if quoted(lines[at]):
            return _announced(lines, start, at, "quote")
        found = _unmarked(lines, start, at)
        if found is not None:
            return found
    return None


def _unmarked(lines: Sequence[str], start: int, at: int) -> _Opening | None:
    """One that something other than a quoted line begins."""
    if blank(lines[at]):
        return None
    rule = marked(lines[at])
    if rule:
        return _Opening(at, rule)
    if header_block(lines, at) is not None:
        return _Opening(at, "headers")
    begun = attribution(lines, at)
    if begun is None or begun < start:
        return None
    marks = _marks(lines, at + 1)
    if not marks and not certain(lines[begun : at + 1]):
        return None
    return _Opening(begun, "attribution", marks)


def _by_html(lines: Sequence[str], start: int, at: int) -> _Opening:
    """What HTML calls a quotation may begin with the announcement, and its marked lines beneath that."""
    here = _next_written(lines, at) or at
    for end in range(here, min(len(lines), here + WRAP)):
        if quoted(lines[end]):
            break
        marks = _marks(lines, end + 1)
        begun = attribution(lines, end, above=marks)
        if begun is not None and begun >= here:
            return _Opening(at, "html", marks)
    return _announced(lines, start, at, "html")


def _announced(lines: Sequence[str], start: int, at: int, rule: str) -> _Opening:
    """A quotation that is seen itself, with what announces it in a language that isn't in the tables."""
    over = _written_above(lines, start, at)
    if at - over <= 3 and over > start:
        begun = attribution(lines, over - 1, above=True)
        if begun is not None and begun >= start:
            return _Opening(begun, "attribution", _marks(lines, at))
    return _Opening(at, rule, _marks(lines, at))


def _written_above(lines: Sequence[str], start: int, at: int) -> int:
    """Behind which line the blank ones above ``at`` begin."""
    while at > start and blank(lines[at - 1]):
        at -= 1
    return at


def _next_written(lines: Sequence[str], at: int) -> int | None:
    return next((here for here in range(at, len(lines)) if not blank(lines[here])), None)


def _marks(lines: Sequence[str], at: int) -> bool:
    here = _next_written(lines, at)
    return here is not None and quoted(lines[here])


def _passes_on(lines: Sequence[str], opening: _Opening, subject: str) -> bool:
    if opening.rule == "forward":
        return True
    if opening.rule in {"html", "quote"}:  # some programs mark what they pass on as quoted
        here = _next_written(lines, opening.at)
        return here is not None and marked(lines[here][:HEAD].lstrip("> ")) == "forward"
    if opening.rule != "headers":
        return False
    prefix, colon, _ = subject[:HEAD].replace("：", ":").partition(":")
    return bool(colon) and prefix.strip().lower() in FORWARD_PREFIXES


def _above_marker(lines: Sequence[str], marker: str) -> int | None:
    """Behind which line the text above our own marker ends; ``None`` where there is no marker, nothing
    above it, or a mail that is passed on."""
    if not marker:
        return None
    here = (at for at, line in enumerate(lines) if _holds(line, marker))
    at = next(here, None)
    if at is None or any(marked(one) == "forward" for one in lines[:at]):
        return None
    end = _without_announcement(lines, at)
    return end if any(not blank(one) for one in lines[:end]) else None


def _holds(line: str, marker: str) -> bool:
    return len(marker) <= len(line) <= HEAD and marker in " ".join(line.split()).lower()


def _without_announcement(lines: Sequence[str], end: int) -> int:
    """The end of the text above a quotation that begins in line ``end``."""
    for _ in range(3):
        while end and (blank(lines[end - 1]) or quoted(lines[end - 1])):
            end -= 1
        if not end:
            break
        begun = attribution(lines, end - 1, above=True)
        if begun is None and marked(lines[end - 1]):
            begun = end - 1
        if begun is None:
            tops = range(max(0, end - BLOCK), end)
            begun = next((at for at in tops if (header_block(lines, at) or 0) >= end), None)
        if begun is None:
            break
        end = begun
    return end


# -- parting ---------------------------------------------------------------------------------------
def _between(lines: Sequence[str], opening: _Opening, html: int | None) -> Extract:
    """A quotation whose lines are marked may have answers between and beneath them."""
    answers: list[int] = []
    first, last, stop = opening.at, opening.at, len(lines)
    counted = 0
    for at in range(_quoted_from(lines, opening.at), len(lines)):
        if quoted(lines[at]):
            last, counted = at, counted + 1
            continue
        begins = (_by_html if at == html else _unmarked)(lines, first, at)
        if begins is not None:
            while answers and answers[-1] >= begins.at:
                answers.pop()
            if not begins.marks:
                stop = begins.at
                break
        elif not blank(lines[at]):
            answers.append(at)
    tail = last + 1
    signed, rule = signature(["x", *lines[tail:stop]])  # something stands above it
    end = tail + signed - 1
    while answers and answers[-1] >= end:
        answers.pop()
    if not answers:
        return _parted(lines, 0, opening.at, opening.rule)
    on_top = any(not blank(line) for line in lines[: opening.at])
    if not on_top and answers[0] > last and counted > CONTEXT:
        return _parted(lines, tail, end, opening.rule)
    end = answers[-1] + 1
    left = any(not blank(line) for line in lines[end:])
    cut = rule if end > tail else opening.rule
    return Extract(new=_text(lines[:end]), rest=_text(lines[end:]), cut=cut if left else "")


def _quoted_from(lines: Sequence[str], at: int) -> int:
    return next((here for here in range(at, len(lines)) if quoted(lines[here])), len(lines))


def _parted(lines: Sequence[str], start: int, end: int, cut: str) -> Extract:
    """What stands in ``start`` to ``end``, without signature and closing rulers; the rest is the rest."""
    while cut and end > start and (blank(lines[end - 1]) or ruler(lines[end - 1])):
        end -= 1
    signed, rule = signature(lines[start:end])
    end = start + signed
    new = _text(lines[start:end])
    if not new:
        return Extract(new=_text(lines), whole=bool(cut))
    return Extract(new=new, rest=_text([*lines[:start], *lines[end:]]), cut=cut or rule)


def _text(lines: Sequence[str]) -> str:
    """The lines without blank ones around them."""
    first = next((at for at, line in enumerate(lines) if not blank(line)), len(lines))
    last = len(lines)
    while last > first and blank(lines[last - 1]):
        last -= 1
    return "\n".join(lines[first:last])
