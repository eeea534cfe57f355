"""What a step is decided from, and how what a message shows is put into a call and into its part. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from channels.slack.render import stream_chunks
from channels.slack.words.split import Slice
from channels.slack.writing import acts
from channels.slack.writing.acts import Act, Step, Target, Wait
from channels.slack.writing.lay import Piece
from channels.slack.writing.sheet import Sheet
from channels.slack.writing.shown import (
    Plain,
    digest,
    extra_of,
    mark,
    marks,
    nonce,
    with_extra,
)
from channels.slack.writing.tempo import OUT_OF_STEP, Budget, Tempo, phase
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Part, PartKind
from gateway.engine.struct import replace, struct


@struct(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a step is decided from."""

    sheet: Sheet
    parts: Sequence[Part]
    delivery: Delivery
    to: Target
    tempo: Tempo
    budget: Budget
    now: Millis
    untouched: bool = False
    """Nobody has told this thread's session anything about the turn, as far as is known."""

    def after(self, method: str) -> Wait | None:
        """A pause until there is room for a call, if there is none now."""
        seconds = self.budget(method)
        if seconds <= 0:
            return None
        mine = OUT_OF_STEP * phase(self.delivery.id)
        return Wait(Millis(self.now + max(1, round(seconds * 1000 + mine))))

    def until(self, moment: int) -> Wait | None:
        return Wait(Millis(moment)) if moment > self.now else None


def unsent(
    desk: Desk, part: Part, piece: Piece, span: Slice, *, last: bool, begun: bool = True
) -> list[JsonObject]:
    """What a stream still has to be told to show a piece."""
    extra = extra_of(part)
    sent = dict(extra.tasks) if begun else {}
    stale = [task.id for task in piece.tasks if sent.get(task.id) not in {None, mark(task)}]
    return stream_chunks(
        desk.sheet.text,
        span,
        part.acked if begun else None,
        piece.tasks,
        sent=sent,
        stale=stale,
        whole=extra.whole,
        flush=complete(desk.sheet, piece.end),
        last=last,
        note=piece.note if last else "",
    )


def complete(sheet: Sheet, end: int) -> bool:
    """Whether a message of the model's ends there."""
    return end == sheet.committed == len(sheet.text)


def shows(desk: Desk, part: Part, piece: Piece) -> Part:
    """The part with what it shows written down."""
    extra = extra_of(part)
    sheet = desk.sheet
    shown = replace(
        extra,
        opening=piece.opening,
        tasks=tuple({**dict(extra.tasks), **dict(marks(piece.tasks))}.items()),
        note=piece.note,
        unsure=0,
        whole=piece.end if complete(sheet, piece.end) else extra.whole,
    )
    hashed = replace(part, hash=digest(sheet.text[part.start : piece.end]))
    return with_extra(hashed, shown)


def opening(desk: Desk, number: int, kind: PartKind, piece: Piece) -> Part:
    part = Part(
        delivery=desk.delivery.id,
        n=number,
        kind=kind,
        state="opening",
        nonce=nonce(desk.delivery, number, len(desk.parts)),
        start=piece.start,
        end=piece.end,
        acked=piece.end,
        opened_at=desk.now,
    )
    return shows(desk, part, piece)


def remove(desk: Desk, part: Part) -> Step:
    """Take a message away."""
    return desk.after(acts.DELETE) or Act(
        kind="delete",
        method=acts.DELETE,
        args=acts.delete(desk.to, part),
        part=replace(part, state="gone"),
        before=part,
    )


def next_number(parts: Sequence[Part]) -> tuple[int, Plain]:
    """The new part's number, and how plainly it is to be said. One that never came into being leaves
    its number and what was learnt from it."""
    if not parts:
        return 1, 0
    last = parts[-1]
    if last.state == "gone" and last.ref is None:
        return last.n, extra_of(last).plain
    return last.n + 1, 0
