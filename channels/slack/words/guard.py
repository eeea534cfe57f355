"""Markdown that can't ping anybody, lie about a link or turn its letters around.

Slack reads ``<@U1>``, ``<#C1>``, ``<!here>``, ``<!subteam^S1>`` and ``<https://a.example|label>`` inside
Markdown as well, and inside code for all that is known ("Formatting message text" and "Markdown block"
in Slack's docs say what is a token; none says where it is none). So a model's words pass through here
before they are sent, as a stream that may be cut anywhere:

- a ``<`` before ``@ # !`` is broken, however it is spelled, in code too;
- ``<scheme:…|label>`` is broken; a plain ``<https://…>`` stays;
- a link is judged (``links.judge``); no other ``](`` and no link definition survives;
- overrides of direction go, isolates are closed in their paragraph.

What isn't decided yet is held back, at most some two thousand characters, until more comes or the end.
The same text gives the same result, wherever it is cut. What counts as code only decides how a thing
is broken, never whether: a fence that Slack sees elsewhere opens no hole.
"""

from __future__ import annotations

import html
import re
from typing import Literal

from channels.slack.words import links
from channels.slack.words.guardstate import JOINER, Guard, Mark, straighten
from gateway.engine.struct import struct

HOLD = 2_000
LABEL = 1_000
TAIL = 80
LINE = 200
NESTED = 8

_SPECIAL = re.compile(r"[<&@#!\[\]`\n]")
# Escapes and isolates may go on the way to whoever reads tokens, so they hide nothing.
_RUN = re.compile(r"[&#A-Za-z0-9;\\<\u2066-\u2069]*+")
_ENTITY = re.compile(r"&[#A-Za-z0-9;&\u2066-\u2069]{0,63}")
_SLASHES = re.compile(r"[\\\u2066-\u2069]*")
_ISOLATES = re.compile(r"[\u2066-\u2069]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_WORD = re.compile(r"[^\s<>|]*")
_AUTOLINK = re.compile(r"[^\s<>|\[\]\"`\\{}^\x00-\x1f]+")
_BRACKET = re.compile(r"[\[\]\\\n]")
_TARGET = re.compile(
    r"[ \t]*(?:<([^<>\n]*)>|((?!<)(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:[ \t]+(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\((?:[^()\\\n]|\\.)*\)))?[ \t]*\)"
)
_DEFINITION = re.compile(r":[ \t]{0,99}\n?[ \t]{0,99}<?([A-Za-z][A-Za-z0-9+.\-]{0,40})?")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*\Z)|~{3,})")
_FENCE_END = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t\r]*\Z")


def feed(state: Guard, text: str, last: bool = False) -> tuple[Guard, str]:
    """The next piece of a text, and what of it may be sent now. ``last``: nothing comes after it."""
    straight, isolates = straighten(text, state.isolates, last=last)
    walk = _Walk(state, straight, last)
    walk.run()
    return walk.state(isolates), "".join(walk.out)


def guarded(text: str) -> str:
    """A whole text."""
    return feed(Guard(), text, True)[1]


def one_line(text: str, limit: int) -> str:
    """Plain text for a title: one line, no token, no direction, at most ``limit`` characters."""
    line = " ".join(re.sub("[\u202a-\u202e\u2066-\u2069\x00-\x1f\x7f-\x9f]", " ", text).split())
    # What is looked ahead at is a piece of the rest, and of a long one no more counts.
    line = line[: limit + HOLD + 2]
    # Broken before it is cut: half a token can't be whole again, and what breaks it counts as well.
    line = feed(Guard(fence="```"), line, True)[1]  # as in code: what breaks it must not be seen
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


@struct(frozen=True, slots=True)
class _Link:
    close: int
    end: int
    label: str
    target: str | None
    """``None``: what follows the bracket is no target that Markdown knows; ``label`` is that then."""


_Look = _Link | Literal["none", "more"]


class _Walk:
    """One pass over what was held and what is new. A handler says whether it could decide."""

    def __init__(self, state: Guard, new: str, last: bool) -> None:
        self.text = state.held + new
        self.last = last
        self.at = 0
        self.out: list[str] = []
        self.base = state.base
        self.tail, self.line = state.tail, state.line
        self.fence, self.span = state.fence, state.span
        self.marks = {mark.at: mark for mark in state.marks}
        self.handlers = {
            "<": self._angle,
            "&": self._entity,
            "@": self._sigil,
            "#": self._sigil,
            "!": self._exclamation,
            "[": self._open,
            "]": self._close,
            "`": self._ticks,
            "\n": self._newline,
        }

    def state(self, isolates: int) -> Guard:
        here = self.base + self.at
        return Guard(
            held=self.text[self.at :],
            tail=self.tail,
            line=self.line,
            fence=self.fence,
            span=self.span,
            isolates=isolates,
            base=here,
            marks=tuple(mark for at, mark in sorted(self.marks.items()) if at >= here),
        )

    def run(self) -> None:
        text = self.text
        while (found := _SPECIAL.search(text, self.at)) is not None:
            self._pass(found.start() - self.at)
            if not self.handlers[found[0]]():
                return
        self._pass(len(text) - self.at)

    @property
    def code(self) -> bool:
        return bool(self.fence or self.span)

    # -- moving on ---------------------------------------------------------------------------------
    def _pass(self, count: int) -> bool:
        """Let the next characters out as they are."""
        return self._swap(count, self.text[self.at : self.at + count])

    def _swap(self, count: int, told: str) -> bool:
        """Let something else out in their place."""
        if len(self.line) < LINE:
            self.line = (self.line + self.text[self.at : self.at + count])[:LINE]
        self.at += count
        if told:
            self.out.append(told)
            self.tail = (self.tail + told)[-TAIL:]
        return True

    def _missing(self, seen: int, most: int = HOLD) -> bool:
        """Whether what was looked at ends where the text does, so that more of it may tell."""
        return not self.last and seen >= len(self.text) and seen - self.at < most

    # -- tokens ------------------------------------------------------------------------------------
    def _opened(self) -> bool:
        """Whether what was let out last reads as ``<``, in whatever spelling."""
        if not self.tail or self.tail[-1] not in _TOKEN_ENDS:
            return False
        run = _RUN.match(self.tail[::-1])
        written = run[0][::-1] if run else ""
        if len(written) == TAIL:
            return True  # longer than anybody writes: better broken than misread
        written = _ISOLATES.sub("", written)
        if "&" not in written:
            return written.rstrip("\\").endswith("<")
        return any(
            _decoded(each).rstrip("\\").endswith("<")
            for each in (written, written.replace("\\", ""))
        )

    def _sigil(self) -> bool:
        return self._swap(1, (JOINER if self._opened() else "") + self.text[self.at])

    def _exclamation(self) -> bool:
        if self._missing(self.at + 1):
            return False
        if self.text[self.at + 1 : self.at + 2] == "[" and not self._opened():
            return self._open()
        return self._sigil()

    def _entity(self) -> bool:
        if not self._opened():
            return self._pass(1)
        spelled = _ENTITY.match(self.text, self.at)
        written = spelled[0] if spelled else "&"
        if self._missing(self.at + len(written), 64):
            return False
        read = _decoded(_ISOLATES.sub("", written))
        sigil = read.lstrip("\\")[:1] in {"@", "#", "!"} or len(written) > 63
        return self._swap(1, JOINER + "&" if sigil else "&")

    def _angle(self) -> bool:
        look = self.text[self.at + 1 : self.at + 1 + HOLD]
        whole = self.last or len(look) == HOLD
        broken = _breaks(look, whole, self.code)
        if broken is None:
            return False
        if not broken:
            return self._pass(1)
        return self._swap(1, ("<" if self.code else "&lt;") + JOINER)

    # -- links -------------------------------------------------------------------------------------
    def _open(self) -> bool:
        image = self.text[self.at] == "!"
        look = self._link(self.at + image)
        if look == "more":
            return False
        if look == "none":
            return self._pass(1 + image)
        place = self.base + look.close
        if look.target is None:
            if self.code and not links.leads_somewhere(look.label):
                self.marks[place] = Mark(place)
            return self._pass(1 + image)
        target = links.resolved(look.target)
        judged = links.judge(look.label, target)
        if judged.verdict == "keep":
            self.marks[place] = Mark(place)
        elif self.code:
            if judged.verdict == "drop" and not links.leads_somewhere(target):
                self.marks[place] = Mark(place)  # subscript and call, not a link
        elif judged.verdict == "show":
            self.marks[place] = Mark(place, self.base + look.end, f" ({judged.printed})")
            return self._swap(1 + image, JOINER)  # nothing may grow together where the bracket was
        return self._pass(1 + image)

    def _link(self, start: int) -> _Look:
        """What the bracket at ``start`` opens."""
        close = self._label_end(start)
        if close < 0:
            return "none" if close == -1 else "more"
        if close + 1 >= len(self.text):
            return "none" if self.last else "more"
        if self.text[close + 1] != "(":
            return "none"
        rest = self.text[close + 2 : close + 2 + HOLD]
        if found := _TARGET.match(rest):
            target = found[2] if found[1] is None else found[1]
            label = self.text[start + 1 : close]
            return _Link(close, close + 2 + found.end(), label, target)
        line, ended, _ = rest.partition("\n")
        if ended or self.last or len(rest) == HOLD:
            return _Link(close, close, line.partition(")")[0], None)
        return "more"

    def _label_end(self, start: int) -> int:
        """Where the matching bracket stands; -1 if there is none, -2 if that can't be told yet."""
        depth, at, stop = 0, start, start + LABEL
        while (found := _BRACKET.search(self.text, at, stop)) is not None:
            at = found.end()
            if found[0] == "\\":
                at += 1
            elif found[0] == "\n":
                if self.text[at : at + 1] == "\n":
                    return -1
            elif found[0] == "[":
                depth += 1
                if depth > NESTED:
                    return -1
            else:
                depth -= 1
                if not depth:
                    return found.start()
        return -1 if self.last or len(self.text) >= stop else -2

    def _close(self) -> bool:
        mark = self.marks.pop(self.base + self.at, None)
        if mark is not None:
            if mark.text is None:
                return self._pass(2)
            return self._swap(mark.end - self.base - self.at, mark.text)
        if self._missing(self.at + 1):
            return False
        after = self.text[self.at + 1 : self.at + 2]
        if after == ":" and self.code:
            defines = self._defines()
            return False if defines is None else self._swap(1, "]" + JOINER * defines)
        return self._swap(1, "]" + JOINER * (after in {"(", ":"}))

    def _defines(self) -> bool | None:
        """Whether ``]:`` in what may be code is followed by an address; ``None``: can't tell yet."""
        found = _DEFINITION.match(self.text, self.at + 1)
        end = found.end() if found else self.at + 2
        if not self.last and len(self.text) < end + 3:
            return None
        after = self.text[end : end + 3]
        scheme = found[1] if found else None
        if scheme is None:
            return after.startswith("//")
        return after.startswith(":") and (scheme.lower() in links.SCHEMES or after == "://")

    # -- code --------------------------------------------------------------------------------------
    def _ticks(self) -> bool:
        end = self.at
        while end < len(self.text) and self.text[end] == "`":
            end += 1
        if end == len(self.text) and not self.last:
            return False
        count = end - self.at
        if not self.fence and not (count >= 3 and _FENCE.fullmatch(self.line + "```")):
            if not self.span:
                self.span = count
            elif self.span == count:
                self.span = 0
        return self._pass(count)

    def _newline(self) -> bool:
        if self.fence:
            ended = _FENCE_END.fullmatch(self.line)
            if ended and ended[1].startswith(self.fence):
                self.fence = ""
        elif begun := _FENCE.match(self.line):
            self.fence, self.span = begun[1], 0
        elif not self.line.strip():
            self.span = 0
        self._pass(1)
        self.line = ""
        return True


_TOKEN_ENDS = frozenset(
    "\u2066\u2067\u2068\u2069<\\;0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)  # what a `<` can end with: &lt; &lt &#60 &#x3c


def _decoded(text: str) -> str:
    """Entities read as often as there are any left to read."""
    while (read := html.unescape(text)) != text:
        text = read
    return text


def _breaks(look: str, whole: bool, code: bool) -> bool | None:
    """Whether the ``<`` before ``look`` has to be broken; ``None``: can't tell yet."""
    slashes = _SLASHES.match(look)
    at = slashes.end() if slashes else 0
    if at == len(look):
        return False if whole else None
    if look[at] in "@#!":
        return True
    if at or not (look[0].isalpha() or look[0] == "/"):
        return False
    named = _SCHEME.match(look)
    end = named.end() if named else 0
    if end == len(look) and not whole:
        return None
    if named and look[end : end + 1] == ":":
        return _breaks_scheme(look, named[0].lower(), whole, code)
    if code:
        return False
    word = _WORD.match(look)
    end = word.end() if word else 0
    if end == len(look):
        return False if whole else None
    return look[end] == "|"


def _breaks_scheme(look: str, scheme: str, whole: bool, code: bool) -> bool | None:
    stop = re.search(r"[>\n]", look)
    if stop is None and not whole:
        return None
    body = look if stop is None else look[: stop.start()]
    plain = stop is not None and stop[0] == ">" and _AUTOLINK.fullmatch(body) is not None
    if not code:
        return not (plain and scheme in links.ALLOWED)
    known = scheme in links.SCHEMES or body[len(scheme) + 1 :].startswith("//")
    return known and ("|" in body or scheme not in links.ALLOWED)
