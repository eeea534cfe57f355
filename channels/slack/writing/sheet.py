"""What a turn's reply is to show at this moment, from its events and its state. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from channels.protocol import TurnView
from channels.slack.words.doc import Doc, File, Task
from channels.slack.words.guard import guarded
from channels.slack.writing.acts import Status
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace, struct
from gateway.outbox.words import closing

LONGEST_WORD = 200
"""Half a word waits for its end, so that no message is cut in it; but not for longer than this."""


@struct(frozen=True, slots=True, kw_only=True)
class Sheet:
    """``text`` may be sent up to ``sayable``, and nothing before ``committed`` is taken back.

    ``resting``: nothing more comes before somebody decides, or at all. ``cut``: a person or the clock
    ended the turn amid words, and what was shown of them stays.
    """

    text: str = ""
    sayable: int = 0
    committed: int = 0
    tasks: tuple[Task, ...] = ()
    files: tuple[File, ...] = ()
    note: str = ""
    status: Status = "processing"
    resting: bool = False
    ended: bool = False
    cut: bool = False

    @property
    def firm(self) -> bool:
        """Nothing of the text is taken back any more."""
        return self.resting or self.committed == len(self.text)


def under_way(doc: Doc) -> Sheet:
    """Of a turn that goes on."""
    text = doc.text
    return Sheet(
        text=text,
        sayable=_sayable(text, doc.committed),
        committed=doc.committed,
        tasks=doc.tasks,
    )


def at_rest(doc: Doc, view: TurnView, *, shown: bool, waits: str = "") -> Sheet:
    """Of a turn of which no more events come. ``shown``: something stands in the thread already.
    ``waits`` is our line about who is waited for, where nothing else here says it."""
    text = doc.text
    files = tuple(file for file in doc.files if file.ready)
    sheet = replace(under_way(doc), sayable=len(text), files=files, resting=True)
    if not doc.ended:
        return replace(sheet, note=waits, status="suspended")
    said = bool(text.strip() or files) or (shown and doc.state == "cancelled")
    return replace(
        sheet,
        note=closing(as_ended(doc, view), said),
        status="active",
        ended=True,
        cut=doc.state in {"cancelled", "timed_out"},
    )


def as_ended(doc: Doc, view: TurnView) -> TurnView:
    """The view may have been read before the end that the events told of."""
    match doc.state:
        case "queued" | "running" | "waiting":
            return view
        case state:
            return replace(view, state=state, cancelled=doc.cancelled or view.cancelled)


def finished(doc: Doc, view: TurnView) -> Doc:
    """The document of a turn whose events are over, where they don't say how it ended."""
    match view.state:
        case "queued" | "running" | "suspended":
            return doc
        case state:
            ended = replace(doc, state=state, cancelled=view.cancelled, waiting=())
            return doc if doc.ended else ended


def _sayable(text: str, committed: int) -> int:
    """Before the last word, unless it is longer than anybody's. What is sent after it should begin with a
    letter: a blank where two chunks meet, Slack may drop, and more of them may follow the one that is there."""
    end = len(text.rstrip())
    start = max(committed, end - LONGEST_WORD)
    for at in range(end - 1, start, -1):
        if text[at - 1].isspace():
            return at
    return committed if start == committed else end - 1


# -- who is waited for -----------------------------------------------------------------------------------
def waits_for(who: Collection[str]) -> str:
    """A line about a decision that is asked for somewhere else. Trusted Markdown."""
    return f"_Waiting for {' and '.join(dict.fromkeys(who))} to decide._" if who else ""


def decider(answerers: JsonObject, words: Mapping[str, str], asker: str = "") -> str:
    """Who may decide, in words that disturb nobody. ``asker`` is the platform's id of who is told."""
    user, policy = answerers.get("user"), answerers.get("policy")
    if isinstance(user, str):
        return "you" if asker and user.endswith(f":{asker}") else "the person whom I asked"
    if isinstance(policy, str):
        return guarded(words.get(policy) or f"whoever decides on {policy}")
    return "somebody"
