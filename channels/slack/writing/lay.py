"""Which message shows which part of an answer.

Messages that are there keep their slices as long as the text still says what they show. The last one
takes what follows until it is full; from where they no longer agree with the text, slices are cut anew and
dealt out to the messages in order. Tasks stand where they were first shown. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from channels.slack.render import MOST_CARDS
from channels.slack.words.doc import File, Task
from channels.slack.words.split import (
    MOST_PART,
    MOST_PARTS,
    Slice,
    block_end,
    frame,
    guarded_units,
    next_part,
    units,
)
from channels.slack.writing.sheet import Sheet
from channels.slack.writing.shown import digest, extra_of
from gateway.engine.ledger import Part
from gateway.engine.struct import replace, struct

IN_FILE = "_This is too long for a thread: the whole answer is in the file._"
ANSWER = "answer.md"
ROOM = 500
"""A seam is looked for in what is left of a message if that is at least so much."""


@struct(frozen=True, slots=True, kw_only=True)
class Piece:
    """What a message is to show. ``full``: what follows belongs into the next one."""

    start: int
    end: int
    opening: str = ""
    tasks: tuple[Task, ...] = ()
    note: str = ""
    full: bool = False


@struct(frozen=True, slots=True, kw_only=True)
class Laid:
    """``part`` is the message that is there. ``holds``: the text goes on from what it shows.
    ``surplus``: nothing is left for it. ``lost``: it shows words that nobody else remembers."""

    part: Part
    piece: Piece
    holds: bool = True
    surplus: bool = False
    lost: bool = False

    @property
    def closed(self) -> bool:
        """Something may stand below it by now, so that nothing new goes into it."""
        return self.part.state == "final" or (self.lost and self.part.state != "live")


@struct(frozen=True, slots=True, kw_only=True)
class Layout:
    """``fresh`` is for a message that isn't there yet. ``files`` are to follow."""

    laid: tuple[Laid, ...]
    fresh: Piece | None = None
    files: tuple[File, ...] = ()


def texts(parts: Iterable[Part]) -> list[Part]:
    """The messages of an answer that are there, in order."""
    return [part for part in parts if part.kind in {"stream", "post"} and part.state != "gone"]


def lay(sheet: Sheet, parts: Sequence[Part]) -> Layout:
    laid = _deal(sheet, parts)
    begin = _after(sheet, laid)
    count = sum(not each.surplus for each in laid)
    overlong = begin is not None and sheet.resting and not fits(sheet.text, begin, count)
    fresh = None
    if begin is not None and not (overlong and count):
        fresh = _first_of(sheet, begin, overlong=overlong, room=count < MOST_PARTS)
    note = "\n\n".join(filter(None, (IN_FILE if overlong else "", sheet.note)))
    # By what it says: behind a decision the answer may go on, and is another file then.
    answer = (File(digest(sheet.text), ANSWER, sheet.text, ready=True),) if overlong else ()
    return Layout(
        fresh=_deal_tasks_and_note(sheet, laid, fresh, note),
        laid=tuple(laid),
        files=(*answer, *sheet.files),
    )


def _first_of(sheet: Sheet, begin: int, *, overlong: bool, room: bool) -> Piece | None:
    """The next message's share of the text."""
    if overlong:
        first = _cut(sheet.text, begin)
        return Piece(start=begin, end=first.end, opening=first.opening, full=True)
    if not (room or sheet.resting):
        return None
    return _extended(sheet, begin, begin, opening_at(sheet.text, begin))


# -- slices ------------------------------------------------------------------------------------------
def _deal(sheet: Sheet, parts: Sequence[Part]) -> list[Laid]:
    found: list[Laid] = []
    at = 0
    for part in parts:
        each = _kept(sheet, part, at, last=part is parts[-1]) or _anew(
            sheet, part, at, last=part is parts[-1], first=not found
        )
        found.append(each)
        at = each.piece.end
    return found


def _kept(sheet: Sheet, part: Part, at: int, *, last: bool) -> Laid | None:
    """A message that shows what it should, as far as it goes."""
    opening = extra_of(part).opening
    if not part.hash or not _begins(sheet.text, part, at):
        return None
    if sheet.cut and part.acked > len(sheet.text):
        piece = Piece(start=part.start, end=part.acked, opening=opening, full=True)
        return Laid(part=part, piece=piece, lost=True)
    if len(sheet.text) < part.acked or digest(sheet.text[part.start : part.acked]) != part.hash:
        return None
    if last and part.state != "final":
        return Laid(part=part, piece=_extended(sheet, part.start, part.acked, opening))
    return Laid(
        part=part, piece=Piece(start=part.start, end=part.acked, opening=opening, full=True)
    )


def _anew(sheet: Sheet, part: Part, at: int, *, last: bool, first: bool) -> Laid:
    """A message that is to show what its turn in the row is."""
    at = _skip(sheet.text, at)
    if last:
        piece = _extended(sheet, at, at, opening_at(sheet.text, at))
    else:
        cut = _cut(sheet.text, at)
        piece = Piece(start=at, end=cut.end, opening=cut.opening, full=True)
    surplus = not first and at >= len(sheet.text) and not extra_of(part).tasks
    return Laid(part=part, piece=piece, holds=False, surplus=surplus)


def _begins(text: str, part: Part, at: int) -> bool:
    """Whether it follows on what stands before it: blank lines between two messages are nobody's."""
    return at <= part.start and not text[at : part.start].strip("\n")


def _extended(sheet: Sheet, start: int, acked: int, opening: str) -> Piece:
    upto = max(acked, len(sheet.text) if sheet.resting else sheet.sayable)
    whole = Piece(start=start, end=upto, opening=opening)
    if not _too_long(opening + sheet.text[start:upto]):
        return whole
    return Piece(start=start, end=seam(sheet.text[:upto], start, acked), opening=opening, full=True)


def seam(text: str, start: int, acked: int) -> int:
    """Where a message that begins at ``start`` is full, not before what it shows already."""
    end = _cut(text, start).end
    if end >= acked:
        return end
    room = MOST_PART - guarded_units(opening_at(text, start) + text[start:acked])
    return next_part(text, acked, room).end if room >= ROOM else acked


def _too_long(text: str) -> bool:
    """The guard makes much longer only what tries to ping a lot, so a short text isn't measured."""
    if units(text) * 2 < MOST_PART and text.count("<") + text.count("&") < ROOM:
        return False
    return guarded_units(text) > MOST_PART


def turn_over(sheet: Sheet, piece: Piece, acked: int) -> int | None:
    """Where a stream that has lived long can end without cutting anything, if there is such a place."""
    if sheet.committed >= piece.end >= len(sheet.text):
        return piece.end
    end = block_end(sheet.text[: piece.end], piece.start, acked)
    return end if end is not None and end <= piece.end else None


def whole(text: str, piece: Piece, end: int | None = None) -> Slice:
    """A piece with what closes it."""
    end = piece.end if end is None else end
    closing = frame(text, end).closing if end > piece.start else ""
    return Slice(piece.start, end, piece.opening, closing)


@lru_cache(maxsize=16)
def opening_at(text: str, start: int) -> str:
    return frame(text, start, MOST_PART // 3).opening if start else ""


@lru_cache(maxsize=16)
def _cut(text: str, start: int) -> Slice:
    return next_part(text, start)


def _skip(text: str, at: int) -> int:
    """A message doesn't begin with blank lines."""
    while at < len(text) and text[at] == "\n":
        at += 1
    return at


# -- what comes next ---------------------------------------------------------------------------------
def _after(sheet: Sheet, laid: Sequence[Laid]) -> int | None:
    """Where the text begins that no message takes."""
    kept = [each for each in laid if not each.surplus]
    if kept and not kept[-1].piece.full:
        return None
    at = _skip(sheet.text, kept[-1].piece.end if kept else 0)
    upto = len(sheet.text) if sheet.resting else sheet.sayable
    return at if at < upto else None


def fits(text: str, begin: int, count: int) -> bool:
    """Whether the rest of a text goes into the messages that are left."""
    left = len(text) - begin
    if left > MOST_PART * (MOST_PARTS - count):
        return False
    while begin < len(text):
        if count >= MOST_PARTS:
            return False
        begin, count = _cut(text, begin).end, count + 1
    return True


def _deal_tasks_and_note(
    sheet: Sheet, laid: list[Laid], fresh: Piece | None, note: str
) -> Piece | None:
    """Give every task its message and the note the last one, in place. Returns ``fresh`` with its
    share; a note or a task may be all that it has."""
    shown = [dict(extra_of(each.part).tasks) for each in laid]
    known = {task for each in shown for task in each}
    new = tuple(task for task in sheet.tasks if task.id not in known)
    last = max((n for n, each in enumerate(laid) if not each.surplus), default=None)
    extends = last is not None and not laid[last].piece.full
    if fresh is None and not extends and _wants_more(sheet, laid, last, new, note):
        end = len(sheet.text) if last is None else laid[last].piece.end
        fresh = Piece(start=_skip(sheet.text, end), end=_skip(sheet.text, end))
    for n, each in enumerate(laid):
        mine = tuple(task for task in sheet.tasks if task.id in shown[n])
        if n == last and fresh is None and not each.closed:
            mine += new
        own = note if n == last and fresh is None else ""
        laid[n] = replace(each, piece=replace(each.piece, tasks=mine[-MOST_CARDS:], note=own))
    if fresh is None:
        return None
    again = tuple(t for t in sheet.tasks if t.id in known and t.state == "in_progress")
    return replace(fresh, tasks=(*again, *new)[-MOST_CARDS:], note=note)


def _wants_more(
    sheet: Sheet, laid: Sequence[Laid], last: int | None, new: Sequence[Task], note: str
) -> bool:
    """Whether a message is needed that has no text."""
    closed = last is None or laid[last].closed
    if note and closed:
        return last is None or extra_of(laid[last].part).note != note
    return bool(new) and closed and not sheet.ended
