"""Long text in parts that each stand alone.

A part ends where a block ends if it can: else between items, rows or lines, else after a sentence, a
word, a letter. What is open there (a fence, a table, a list's indentation, a quote) is closed behind
the part and opened again before the next. Parts are spans of the source, so that they put together are
the source; what closes and opens is computed from the source before the cut and stands beside them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from markdown_it.token import Token

from channels.slack.words.guard import guarded
from channels.slack.words.markdown import MOST_MARKDOWN, outline
from gateway.engine.struct import struct

MOST_PART = 11_500
"""What a part may hold of Slack's 12,000, closers included."""
MOST_PARTS = 8
"""A text of more parts is a file."""

_AHEAD = 400  # read beyond a possible cut, to see whether it is a good one
_LINE = re.compile(r"\r\n|\r|\n")
_SENTENCE = re.compile(r"[.!?…][\"')\]]*\s+|[。！？]\s*")
_SPACE = re.compile(r"\s+")
_INDENT = re.compile(r" *")
_CONTAINERS = frozenset({"list_item_open", "blockquote_open"})

# How good a place is, best first, and how full a part must be to end there.
BLOCK, ITEM, INNER, LINE, SENTENCE, WORD = range(6)
_FULL = (0.5, 0.5, 0.5, 0.3, 0.3, 0.1)


@struct(frozen=True, slots=True)
class Frame:
    """What is open at a place in the source. ``closing`` ends it behind a part, ``opening`` begins it
    again before the next one."""

    closing: str = ""
    opening: str = ""


@struct(frozen=True, slots=True)
class Slice:
    """A part: ``source[start:end]`` between what reopens and what closes."""

    start: int
    end: int
    opening: str = ""
    closing: str = ""

    def of(self, source: str) -> str:
        return f"{self.opening}{source[self.start : self.end]}{self.closing}"


Measure = Callable[[str], int]


def units(text: str) -> int:
    """Length as Slack may count it: in UTF-16, where an emoji is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def guarded_units(text: str) -> int:
    """The length of what is sent: the guard adds characters to a text that tries to ping."""
    return units(guarded(text))


def cut(text: str, limit: int = MOST_PART, measure: Measure = guarded_units) -> tuple[Slice, ...]:
    """All parts of a text, in order; one empty part for an empty text. Ask ``is_file`` first: each
    cut reads the text before it."""
    parts = [next_part(text, 0, limit, measure)]
    while parts[-1].end < len(text):
        parts.append(next_part(text, parts[-1].end, limit, measure))
    return tuple(parts)


def is_file(text: str, limit: int = MOST_PART, measure: Measure = guarded_units) -> bool:
    """Whether a text is too long to be read as messages."""
    end = 0
    for _ in range(MOST_PARTS):
        if len(text) - end > limit * MOST_PARTS:
            return True
        end = next_part(text, end, limit, measure).end
        if end == len(text):
            return False
    return True


def next_part(
    text: str, start: int, limit: int = MOST_PART, measure: Measure = guarded_units
) -> Slice:
    """The part that begins at ``start``, as long as the limit allows."""
    opening = frame(text, start, limit // 3).opening
    room = limit - len(opening)
    while True:
        end = start + _best(opening, text[start : start + room + _AHEAD], room)
        part = Slice(start, end, opening, frame(text, end, limit // 3).closing)
        size = measure(part.of(text))
        if size <= limit or end - start <= 1:
            return part
        room = max(1, min(end - start - 1, (end - start) * limit // size - len(part.closing)))


def block_end(text: str, start: int, at: int) -> int | None:
    """The first place not before ``at`` where a block of the text from ``start`` on has ended."""
    opening = frame(text, start).opening
    places = _places(opening, text[start:])
    ends = (start + place for place, rank in places if rank == BLOCK)
    return min((end for end in ends if end >= max(at, start + 1)), default=None)


# -- where to cut ------------------------------------------------------------------------------------
def _best(opening: str, window: str, room: int) -> int:
    """How much of the window the part takes."""
    if len(window) <= room:
        return len(window)
    ranked: list[list[int]] = [[] for _ in _FULL]
    for at, rank in _places(opening, window):
        if 0 < at <= room:
            ranked[rank].append(at)
    for pattern, rank in ((_SENTENCE, SENTENCE), (_SPACE, WORD)):
        ranked[rank] = [found.end() for found in pattern.finditer(window, 0, room)]
    for places, full in zip(ranked, _FULL, strict=True):
        if places and max(places) >= room * full:
            return max(places)
    return _whole_letter(window, room)


def _places(opening: str, window: str) -> Iterator[tuple[int, int]]:
    """Starts of lines in the window, each with how good a cut before it is."""
    text = opening + window
    starts = _line_starts(text)
    ranks = dict.fromkeys(range(len(starts)), LINE)
    avoided: set[int] = set()
    headed = False
    for token in outline(text):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "fence":
            avoided |= {first + 1, end - 1}
        elif token.type == "table_open":
            avoided |= {first + 1, first + 2}
        if token.level == 0:
            ranks[first] = LINE if headed else BLOCK
            headed = token.type == "heading_open"
        elif ranks.get(first) != BLOCK and token.type in {"list_item_open", "tr_open"}:
            ranks[first] = min(ranks.get(first, LINE), ITEM if token.level <= 2 else INNER)
    for line, rank in ranks.items():
        if line < len(starts) and line not in avoided:
            yield starts[line] - len(opening), rank


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE.finditer(text))]


def _whole_letter(window: str, room: int) -> int:
    """Not inside a letter that is written in several characters."""
    at = room
    while at > max(1, room - 32) and _joined(window[at - 1], window[at]):
        at -= 1
    return at if at > max(1, room - 32) else room


def _joined(before: str, after: str) -> bool:
    return (
        unicodedata.category(after) in {"Mn", "Me", "Mc", "Cf"}
        or before == "\u200d"
        or (before, after) == ("\r", "\n")
        or before == "\\"
        or all("\U0001f1e6" <= letter <= "\U0001f1ff" for letter in (before, after))
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


# -- what is open there ------------------------------------------------------------------------------
def frame(text: str, at: int, most: int = MOST_MARKDOWN) -> Frame:
    """What to close before ``at`` and to open after it. An opening longer than ``most`` is left out."""
    before = text[:at]
    tokens = outline(before)
    if not tokens:
        return Frame()
    lines = _LINE.split(before)
    count = len(lines) - (not lines[-1])
    fresh = not lines[-1]
    holders = _holders(tokens, count)
    last = holders.leaf
    if last is not None and last.type == "fence" and _is_open(last):
        columns = lines[(last.map or [0])[0]].find(last.markup) if holders.items else 0
        found = _fence_frame(last, 0 if holders.quotes else columns, holders.quotes, fresh)
    elif last is not None and last.type == "table_open" and not holders.items:
        found = _table_frame(last, lines, text[:at], _line_at(text, at), fresh)
    elif holders.quotes and not fresh:
        found = Frame(opening="> " * holders.quotes)
    elif holders.items and not fresh:
        found = Frame(opening="- … ")
    elif fresh and tokens[-1].type in {"bullet_list_close", "ordered_list_close"}:
        found = Frame(opening=_parents(_line_at(text, at)))
    else:
        found = Frame()
    return found if len(found.opening) <= most else Frame(closing=found.closing)


@struct(frozen=True, slots=True)
class _Holders:
    """The block that a text ends in, and how many lists and quotes hold it."""

    leaf: Token | None
    items: int
    quotes: int


def _holders(tokens: Sequence[Token], count: int) -> _Holders:
    stack: list[str] = []
    found = _Holders(None, 0, 0)
    for token in tokens:
        if token.type in _CONTAINERS:
            stack.append(token.type)
        elif token.type in {"list_item_close", "blockquote_close"}:
            stack.pop()
        elif token.map and token.map[1] >= count and token.type in _LEAVES:
            found = _Holders(token, stack.count("list_item_open"), stack.count("blockquote_open"))
    return found


_LEAVES = frozenset({"fence", "table_open", "paragraph_open", "code_block", "heading_open"})


def _is_open(fence: Token) -> bool:
    """Whether nothing closes the fence: then its content has all lines but the first."""
    first, end = fence.map or (0, 0)
    content = fence.content.count("\n") + (fence.content[-1:] not in {"", "\n"})
    return content >= end - first - 1


def _fence_frame(fence: Token, columns: int, quotes: int, fresh: bool) -> Frame:
    """In a list a fence stands in some column, and needs an item around it to be a fence there."""
    outer = "> " * quotes + " " * columns
    info = fence.info.strip()
    info = info if len(info) <= 40 else (info.split() or [""])[0][:40]
    opening = "> " * quotes + _bullets(columns) + fence.markup + info + "\n"
    return Frame(
        closing=("" if fresh else "\n") + outer + fence.markup,
        opening=opening + ("" if fresh else outer),
    )


def _bullets(columns: int) -> str:
    """Items inside each other whose text begins at this column."""
    made = ""
    while columns > 5:
        made += "- "
        columns -= 2
    return made + ("-" + " " * (columns - 1) if columns > 1 else "")


def _table_frame(
    table: Token, lines: Sequence[str], before: str, following: str, fresh: bool
) -> Frame:
    first, end = table.map or (0, 0)
    if fresh:
        after = [token.map for token in outline(before + following) if token.type == "table_open"]
        if not following.strip() or not after or (after[-1] or [0, 0])[1] <= end:
            return Frame()
    return Frame(opening="\n".join(lines[first : first + 2]) + "\n") if end > first + 1 else Frame()


def _parents(line: str) -> str:
    """Items for a line to stand in that is indented too far to stand alone."""
    indent = _INDENT.match(line)
    columns = len(indent[0]) if indent and line.strip() else 0
    return "".join(" " * depth + "- …\n" for depth in range(0, columns - 3, 2))


def _line_at(text: str, at: int) -> str:
    end = _LINE.search(text, at)
    return text[at : end.start() if end else len(text)]
