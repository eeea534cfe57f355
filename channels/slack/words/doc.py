"""What a turn's events add up to, as a reader in Slack sees it.

``fold`` takes one event after the other. The text is what the model said in its committed messages, with
a blank line between two, and behind it what it is saying now: provisional until its step commits, and
void when the model is asked again. Offsets count characters of ``Doc.text``, before the guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from channels.slack.words.guard import one_line
from gateway.engine import events as ev
from gateway.engine.kinds import CancelReason, Json, JsonObject, Millis
from gateway.engine.messages import ToolCall
from gateway.engine.struct import replace, struct
from gateway.engine.wire.events import UNMADE

FILE_TOOL = "attach_file"
"""The tool whose committed call is a file of the answer."""
BREAK = "\n\n"
MOST_TITLE = 256
MOST_VALUE = 80

TaskState = Literal["pending", "in_progress", "complete", "error"]
DocState = Literal["queued", "running", "waiting", "completed", "failed", "cancelled", "timed_out"]
ENDED: frozenset[DocState] = frozenset({"completed", "failed", "cancelled", "timed_out"})

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@struct(frozen=True, slots=True)
class Task:
    """A line of the timeline. ``at`` is the offset of the text it was asked for behind; ``progress``
    the last that the tool said of itself; ``refused`` how its request ended if nobody agreed to it."""

    id: str
    title: str
    state: TaskState
    at: int
    progress: str = ""
    refused: str = ""

    @property
    def line(self) -> str:
        """The title as it stands now. Slack replaces titles, so it may change as often as it likes."""
        told = self.refused or ("" if self.state in {"complete", "error"} else self.progress)
        return one_line(f"{self.title} · {told}", MOST_TITLE) if told else self.title


@struct(frozen=True, slots=True)
class File:
    call_id: str
    name: str
    text: str
    ready: bool = False


@struct(frozen=True, slots=True)
class Waiting:
    """A request that the turn is parked on."""

    id: str
    name: str
    prompt: str
    answerers: JsonObject
    digest: str


@struct(frozen=True, slots=True)
class Piece:
    """A block of the message under way, as far as it was heard without a gap."""

    block: int
    text: str


@struct(frozen=True, slots=True)
class Doc:
    """``seq`` is that of the last durable event folded. ``deaf``: a piece of what is being said was
    missed, so that the rest isn't shown before it commits. ``unmade`` are calls whose result may say that
    they were never made, and when that was."""

    seq: int = 0
    state: DocState = "queued"
    said: str = ""
    pieces: tuple[Piece, ...] = ()
    deaf: bool = False
    tasks: tuple[Task, ...] = ()
    files: tuple[File, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    unmade: tuple[tuple[str, Millis], ...] = ()
    cancelled: CancelReason | None = None

    @property
    def live(self) -> str:
        """What is being said and may still be taken back."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def text(self) -> str:
        return _joined(self.said, self.live)

    @property
    def committed(self) -> int:
        """The offset up to which nothing is taken back any more."""
        return len(self.said)

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def fold(doc: Doc, event: ev.TurnEvent, titles: Mapping[str, str] | None = None) -> Doc:
    """The document after one more event. ``titles`` are task titles by tool (``"Looking up order
    {order_id}"``). An event seen before changes nothing."""
    if event.seq is not None:
        if event.seq <= doc.seq:
            return doc
        doc = replace(doc, seq=event.seq)
    if isinstance(event, ev.ActionRequested | ev.ActionProgress | ev.ActionCompleted):
        return _act(doc, event, titles or {})
    if isinstance(event, ev.TurnCompleted | ev.TurnFailed | ev.TurnCancelled | ev.TurnTimedOut):
        return _end(doc, event)
    if isinstance(event, ev.InputRequested | ev.InputAnswered):
        return _input(doc, event)
    return _speak(doc, event)


# -- text ----------------------------------------------------------------------------------------------
def _speak(doc: Doc, event: ev.TurnEvent) -> Doc:
    match event:
        case ev.TurnStarted():
            return replace(_unsaid(doc), state="waiting" if doc.waiting else "running")
        case ev.MessageDeltaEvent():
            return _hear(doc, event)
        case ev.MessageCompleted():
            return replace(_unsaid(doc), said=_joined(doc.said, event.text))
        case ev.ModelRetrying() | ev.UsageEvent():
            return _unsaid(doc)  # void; or its step has committed, with or without words
        case _:
            return doc


def _joined(before: str, after: str) -> str:
    return before + BREAK + after if before and after else before or after


def _unsaid(doc: Doc) -> Doc:
    return replace(doc, pieces=(), deaf=False) if doc.pieces or doc.deaf else doc


def _hear(doc: Doc, event: ev.MessageDeltaEvent) -> Doc:
    """One more piece. What was heard twice is taken once; after a gap there is nothing to add to."""
    if doc.deaf:
        return doc
    last = doc.pieces[-1] if doc.pieces else Piece(event.block, "")
    if event.block > last.block:
        last = Piece(event.block, "")
    elif event.block < last.block:
        return doc
    known = len(last.text) - event.offset
    if known < 0 or (event.offset == 0 < known):
        # A gap, or a block that begins again though nobody said so.
        return replace(doc, deaf=True)
    if known >= len(event.text):
        return doc
    kept = tuple(piece for piece in doc.pieces if piece.block != last.block)
    return replace(doc, pieces=(*kept, Piece(last.block, last.text + event.text[known:])))


# -- tasks -----------------------------------------------------------------------------------------------
def _act(
    doc: Doc,
    event: ev.ActionRequested | ev.ActionProgress | ev.ActionCompleted,
    titles: Mapping[str, str],
) -> Doc:
    match event:
        case ev.ActionRequested():
            return _request(doc, event.call, titles)
        case ev.ActionProgress():
            return _progress(doc, event)
        case ev.ActionCompleted():
            return _complete(doc, event)


def _request(doc: Doc, call: ToolCall, titles: Mapping[str, str]) -> Doc:
    if call.name == FILE_TOOL:
        name, text = call.input.get("name"), call.input.get("text")
        if call.problem is None and isinstance(name, str) and isinstance(text, str):
            return replace(doc, files=(*doc.files, File(call.id, name, text)))
    task = Task(call.id, title_of(call, titles), "in_progress", len(doc.said))
    return replace(doc, tasks=(*(t for t in doc.tasks if t.id != call.id), task))


def _progress(doc: Doc, event: ev.ActionProgress) -> Doc:
    said = one_line(event.text, MOST_TITLE)
    return _changed(doc, event.call_id, lambda task: replace(task, progress=said))


def _complete(doc: Doc, event: ev.ActionCompleted) -> Doc:
    files = tuple(
        replace(file, ready=event.error is None) if file.call_id == event.call_id else file
        for file in doc.files
    )

    def ended(task: Task) -> Task:
        return replace(task, state="error" if event.error or task.refused else "complete")

    if event.result == UNMADE:
        doc = replace(doc, unmade=(*doc.unmade, (event.call_id, event.at)))
    return _changed(replace(doc, files=files), event.call_id, ended)


def _changed(doc: Doc, call_id: str, change: Callable[[Task], Task]) -> Doc:
    tasks = tuple(
        change(task) if task.id == call_id and task.state == "in_progress" else task
        for task in doc.tasks
    )
    return replace(doc, tasks=tasks)


def title_of(call: ToolCall, titles: Mapping[str, str]) -> str:
    """The action in words. Arguments are a model's text, and nothing in a title may be a token."""
    pattern = titles.get(call.name)
    if pattern is None or any(
        not _is_plain(call.input.get(name)) for name in _PLACEHOLDER.findall(pattern)
    ):
        return one_line(call.name.replace("_", " ").strip().capitalize() or "Working", MOST_TITLE)
    filled = _PLACEHOLDER.sub(lambda found: _spelled(call.input[found[1]]), pattern)
    return one_line(filled, MOST_TITLE)


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float) and value != ""


def _spelled(value: Json) -> str:
    return one_line(str(value), MOST_VALUE)


# -- the turn --------------------------------------------------------------------------------------------
def _input(doc: Doc, event: ev.InputRequested | ev.InputAnswered) -> Doc:
    left = tuple(asked for asked in doc.waiting if asked.id != event.id)
    if isinstance(event, ev.InputRequested):
        asked = Waiting(event.id, event.name, event.prompt, event.answerers, event.digest)
        return replace(doc, state="waiting", waiting=(*left, asked))
    if event.outcome in {"denied", "expired"}:
        doc = _refused(doc, event.outcome)
    return replace(doc, state="waiting" if left else "running", waiting=left)


def _refused(doc: Doc, how: str) -> Doc:
    """A tool that isn't agreed to says so to the model and ends well: people mustn't read that as done.
    The calls of a reply run one after the other, so it is the first that hasn't ended that asked."""
    asked = next((task for task in doc.tasks if task.state == "in_progress"), None)
    return doc if asked is None else _changed(doc, asked.id, lambda t: replace(t, refused=how))


def _end(
    doc: Doc, event: ev.TurnCompleted | ev.TurnFailed | ev.TurnCancelled | ev.TurnTimedOut
) -> Doc:
    """Nothing goes on after the end: a task that still ran has failed. Words that were cut off stay as
    they were shown where a person or the clock cut them; a failed step's words are void."""
    ended = replace(doc, waiting=(), tasks=tuple(map(_stopped, doc.tasks)))
    match event:
        case ev.TurnCompleted():
            return replace(_unsaid(ended), state="completed")
        case ev.TurnFailed():
            return replace(_unsaid(ended), state="failed")
        case ev.TurnTimedOut():
            return replace(ended, state="timed_out")
        case ev.TurnCancelled():
            return replace(_unmade(ended, event.at), state="cancelled", cancelled=event.reason)


def _unmade(doc: Doc, at: Millis) -> Doc:
    """The calls that this end left unmade got their results with it: people mustn't read them as done."""
    calls = {call for call, then in doc.unmade if then == at}
    tasks = tuple(
        replace(task, state="error", refused="cancelled") if task.id in calls else task
        for task in doc.tasks
    )
    files = tuple(file for file in doc.files if file.call_id not in calls)
    return replace(doc, tasks=tasks, files=files)


def _stopped(task: Task) -> Task:
    return replace(task, state="error") if task.state in {"pending", "in_progress"} else task
