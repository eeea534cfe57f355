"""Which call comes next. Pure: the same sheet, parts, memory, budgets and moment give the same step.

A message of ours is a stream while it can be, and one that is rewritten when it can't: a stream whose
content isn't certain any more is stopped and rewritten. Nothing is done twice because nobody knew that it
was done: what has no receipt is looked for first (``opening``), or rewritten whole (``broken``).
"""

from __future__ import annotations

from channels.slack.render import (
    MOST_ALONE,
    message_blocks,
    notice,
    plain_blocks,
    text_chunks,
)
from channels.slack.words.doc import File
from channels.slack.words.mrkdwn import MOST_TEXT
from channels.slack.words.split import Slice
from channels.slack.writing import acts, status
from channels.slack.writing.acts import Act, Look, Rest, Send, Step, Wait
from channels.slack.writing.desk import Desk, next_number, opening, remove, shows, unsent
from channels.slack.writing.lay import Laid, Layout, Piece, lay, texts, turn_over, whole
from channels.slack.writing.sheet import Sheet
from channels.slack.writing.shown import digest, extra_of, mark, nonce, with_extra
from channels.slack.writing.tempo import (
    APPEND_EVERY,
    LOOK_EVERY,
    REWRITE_AFTER,
    STATUS_TRIES,
    TURN_OVER,
    TURN_OVER_ANYWHERE,
    UPDATE_EVERY,
)
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Part
from gateway.engine.struct import replace


def next_act(desk: Desk) -> Step:
    """The next step. Waiting ends early when there is more to tell."""
    first = _status(desk) if not desk.sheet.resting else None
    if isinstance(first, Act):
        return first
    if (repair := _repair(desk)) is not None:
        return repair
    layout = lay(desk.sheet, texts(desk.parts))
    pauses = [first] if first is not None else []
    for step in _steps(desk, layout):
        if not isinstance(step, Wait):
            return step
        pauses.append(step)
    moments = [pause.until for pause in pauses if pause.until is not None]
    if moments or not desk.sheet.resting:
        return Wait(min(moments, default=None))
    return _status(desk) or Rest()


def _steps(desk: Desk, layout: Layout) -> list[Step]:
    """What is to be done about each message, in order; a later one waits for those before it."""
    found: list[Step] = []
    for each in layout.laid:
        if (step := _about(desk, each)) is not None:
            found.append(step)
            if desk.sheet.resting or each.part.state == "live" or not isinstance(step, Wait):
                return found
    if layout.fresh is not None:
        step = _begin(desk, layout.fresh)
        return [*found, step] if step is not None else found
    if desk.sheet.resting:
        found += [step for step in (_file(desk, file) for file in layout.files) if step is not None]
    return found


# -- the session ---------------------------------------------------------------------------------------
def _status(desk: Desk) -> Act | Wait | None:
    """Only what rests waits for its turn; while something is written it is left for later. A session that
    was never said to be at work needn't be said to be done: where many turns end at once, their answers
    would queue up behind that."""
    shown = desk.sheet.status
    if not desk.to.thread or (shown != "active" and desk.delivery.attempts >= STATUS_TRIES):
        return None
    chosen = status.due(shown, desk.tempo, desk.budget, desk.now)
    if chosen is None:
        return None
    if desk.budget(chosen) > 0:
        return None if desk.untouched and desk.sheet.ended else desk.after(chosen)
    return status.act(chosen, shown, desk.to, named=not desk.tempo.unnamed)


# -- what isn't certain --------------------------------------------------------------------------------
def _repair(desk: Desk) -> Step | None:
    for part in desk.parts:
        if part.state == "opening":
            return desk.until(desk.tempo.looked + LOOK_EVERY) or Look(part)
    for part in texts(desk.parts):
        if extra_of(part).drop:
            return remove(desk, part)
        if part.state == "broken" and part.kind == "stream":
            return _end(desk, part, hash_kept=False)
    return None


def _end(desk: Desk, part: Part, *, hash_kept: bool) -> Step:
    """Stop a stream as it is. Words of a turn that was cut off are kept if nobody else has them."""
    chunks: list[JsonObject] = []
    becomes = replace(part, state="open", end=part.acked, hash=part.hash if hash_kept else "")
    if desk.sheet.cut and part.acked > len(desk.sheet.text) and part.hash:
        note = desk.sheet.note
        chunks = _last_line(note)
        extra = replace(extra_of(part), note=note)
        becomes = with_extra(replace(part, state="final", end=part.acked), extra)
    return desk.after(acts.STOP) or Act(
        kind="end",
        method=acts.STOP,
        args=acts.stop(desk.to, part, chunks, desk.sheet.status),
        part=becomes,
        before=part,
        status=desk.sheet.status,
    )


# -- messages that are there ---------------------------------------------------------------------------
def _about(desk: Desk, each: Laid) -> Step | None:
    if each.surplus and each.part.state != "live":
        return remove(desk, each.part) if desk.sheet.firm else None
    if each.part.state != "live":
        return _message(desk, each)
    if each.holds:
        return _stream(desk, each.part, each.piece)
    if not _taken_back(desk.sheet, each.part):
        # The words come again from the start; nobody knows yet whether they are the same.
        late = desk.tempo.since(each.part.n, REWRITE_AFTER)
        if (pause := desk.until(late)) is not None:
            return pause
    return _end(desk, each.part, hash_kept=True)


def _taken_back(sheet: Sheet, part: Part) -> bool:
    return sheet.resting or len(sheet.text) >= part.acked


def _stream(desk: Desk, part: Part, piece: Piece) -> Step | None:
    if piece.full or desk.sheet.resting:
        return _stop(desk, part, piece, piece.end)
    if (pause := desk.until(desk.tempo.since(part.n, APPEND_EVERY))) is not None:
        return pause
    begun = part.started_at or part.opened_at
    old = desk.now >= begun + TURN_OVER
    ancient = desk.now >= begun + TURN_OVER_ANYWHERE
    if old and (end := turn_over(desk.sheet, piece, part.acked)) is not None:
        return _stop(desk, part, piece, end)
    if ancient:
        return _stop(desk, part, piece, piece.end)
    span = Slice(piece.start, piece.end, piece.opening)
    if not (chunks := unsent(desk, part, piece, span, last=False)):
        return Wait(Millis(begun + (TURN_OVER_ANYWHERE if old else TURN_OVER)))
    return desk.after(acts.APPEND) or Act(
        kind="append",
        method=acts.APPEND,
        args=acts.append(desk.to, part, chunks),
        part=shows(desk, replace(part, acked=piece.end, end=piece.end), piece),
        before=part,
    )


def _stop(desk: Desk, part: Part, piece: Piece, end: int) -> Step:
    """A stream's last words. One that ends before the turn does leaves the session at work."""
    sheet, piece = desk.sheet, replace(piece, end=end)
    becomes = shows(desk, replace(part, state="final", acked=end, end=end), piece)
    if end > len(sheet.text):
        chunks = _last_line(piece.note)
        becomes = replace(becomes, hash=part.hash)
    else:
        chunks = unsent(desk, part, piece, whole(sheet.text, piece), last=True)
    meta = acts.metadata(desk.delivery, part)
    return desk.after(acts.STOP) or Act(
        kind="stop",
        method=acts.STOP,
        args=acts.stop(desk.to, part, chunks, sheet.status, meta),
        part=becomes,
        before=part,
        status=sheet.status,
    )


def _last_line(note: str) -> list[JsonObject]:
    """Our line below words that only Slack remembers."""
    return text_chunks(f"\n\n{note}") if note else []


def _message(desk: Desk, each: Laid) -> Step | None:
    """A message that is rewritten when it doesn't say what it should."""
    part, piece, sheet = each.part, each.piece, desk.sheet
    extra = extra_of(part)
    if each.lost or _same(sheet, part, piece):
        return None
    if not sheet.resting and each.closed and each.holds and extra.note == piece.note:
        return None  # a task that went on elsewhere: once, when all is over
    if (pause := desk.until(extra.unsure)) is not None:
        return pause
    if not sheet.resting:
        empty = piece.end == piece.start and not piece.tasks and not piece.note
        rewrites = bool(part.hash) and not each.holds and not sheet.firm
        every = REWRITE_AFTER if rewrites or empty else UPDATE_EVERY
        if (pause := desk.until(desk.tempo.since(part.n, every))) is not None:
            return pause
        if empty:
            return None
    span = whole(sheet.text, piece)
    if extra.plain:
        blocks = plain_blocks(sheet.text, span, piece.note)
    else:
        blocks = message_blocks(sheet.text, span, piece.tasks, piece.note)
    becomes = replace(
        part,
        state="final" if sheet.resting or each.closed else "open",
        start=piece.start,
        end=piece.end,
        acked=piece.end,
    )
    return desk.after(acts.UPDATE) or Act(
        kind="update",
        method=acts.UPDATE,
        args=acts.update(
            desk.to,
            part,
            blocks,
            notice(sheet.text, span, piece.note),
            acts.metadata(desk.delivery, part),
        ),
        part=shows(desk, becomes, piece),
        before=part,
    )


def _same(sheet: Sheet, part: Part, piece: Piece) -> bool:
    extra = extra_of(part)
    shown = dict(extra.tasks)
    return (
        not extra.unsure
        and part.hash == digest(sheet.text[piece.start : piece.end])
        and (part.start, part.acked) == (piece.start, piece.end)
        and extra.note == piece.note
        and all(shown.get(task.id) == mark(task) for task in piece.tasks)
    )


# -- messages that come ----------------------------------------------------------------------------------
def _begin(desk: Desk, piece: Piece) -> Step | None:
    """A new message: a stream while more is coming and streams are to be had, a post otherwise. Where
    only the budget of streams is spent, a quick answer is posted once and whole: an update of it would
    be a second call."""
    resting = desk.sheet.resting
    number, plain = next_number(desk.parts)
    streams = not resting and desk.to.thread and not plain
    spent = desk.budget(acts.START) > 0
    quick = desk.until(desk.tempo.begun + UPDATE_EVERY)
    if streams and spent and not piece.full and quick is not None:
        return quick
    if streams and not spent:
        part = opening(desk, number, "stream", piece)
        span = Slice(piece.start, piece.end, piece.opening)
        chunks = unsent(desk, part, piece, span, last=False, begun=False)
        if not chunks:
            return None  # all of it is held back until more of it is known
        args = acts.start(desk.to, chunks)
        return Act(kind="start", method=acts.START, args=args, part=part, settles="live")
    part = opening(desk, number, "post", piece)
    part = with_extra(part, replace(extra_of(part), plain=plain))
    return desk.after(acts.POST) or Act(
        kind="post",
        method=acts.POST,
        args=_posted(desk, part, piece),
        part=part,
        settles="final" if resting or piece.full else "open",
    )


def _posted(desk: Desk, part: Part, piece: Piece) -> JsonObject:
    text, span, plain = desk.sheet.text, whole(desk.sheet.text, piece), extra_of(part).plain
    blocks: list[JsonObject] = []
    if plain == 0:
        blocks = message_blocks(text, span, piece.tasks, piece.note)
    elif plain == 1:
        blocks = plain_blocks(text, span, piece.note)
    words = notice(text, span, piece.note, MOST_ALONE if plain == 2 else MOST_TEXT)
    return acts.post(desk.to, blocks, words, acts.metadata(desk.delivery, part))


# -- files -----------------------------------------------------------------------------------------------
def _file(desk: Desk, file: File) -> Step | None:
    name = file.call_id or file.name
    for part in desk.parts:
        if part.kind == "file" and part.ref is not None and extra_of(part).file == name:
            return None
    if not file.text:
        return None  # Slack takes no empty file
    number, _ = next_number(desk.parts)
    part = Part(
        delivery=desk.delivery.id,
        n=number,
        kind="file",
        state="opening",
        nonce=nonce(desk.delivery, number, len(desk.parts)),
        opened_at=desk.now,
    )
    pause = desk.after(acts.UPLOAD) or desk.after(acts.SHARE)
    return pause or Send(with_extra(part, replace(extra_of(part), file=name)), file)
