"""A turn's events in words: what a line of the timeline says. Pure; the same for every view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.cli.text import Style, arguments
from gateway.cli.told import object_of, text_of, whole
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import clean, iso, one_line, span

TERMINAL = frozenset({"turn.completed", "turn.failed", "turn.cancelled", "turn.timed_out"})
OUTCOME_MARK: dict[str, tuple[str, Style]] = {
    "approved": ("✓", "green"),
    "answered": ("✓", "green"),
    "denied": ("✗", "red"),
    "expired": ("✗", "red"),
    "cancelled": ("–", "dim"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One event: a mark, what happened, and the particulars."""

    mark: str
    style: Style
    what: str
    detail: str = ""


def describe(event: JsonObject, limit: int = 110) -> Line | None:
    """The event as a line; ``None`` for what only makes sense live (deltas, progress)."""
    kind = str(event.get("type"))
    build = _LINES.get(kind)
    return build(event, limit) if build else None


def rows(events: Iterable[JsonObject], limit: int = 110) -> list[tuple[JsonObject, Line]]:
    shown: list[tuple[JsonObject, Line]] = []
    for event in events:
        line = describe(event, limit)
        if line is not None:
            shown.append((event, line))
    return shown


def call_line(event: JsonObject, limit: int = 110) -> str:
    """``issue_refund(order_id=1042, amount=42.50)`` of an ``action.requested``."""
    call = object_of(event.get("call"))
    return f"{text_of(call.get('name'))}({arguments(object_of(call.get('input')), limit)})"


def by(event: JsonObject) -> str:
    """``by ada``: the name where the host knows one, else the id."""
    who = text_of(event.get("by_name")) or text_of(event.get("by"))
    return f"by {who}" if who else ""


def clock(event: JsonObject) -> str:
    """Time of day, UTC, to the millisecond."""
    return iso(whole(event.get("at")))[11:23]


# -- one function an event --------------------------------------------------------------------------
def _started(event: JsonObject, _: int) -> Line:
    trigger = text_of(event.get("trigger"))
    what = "resumed" if trigger == "resume" else "started"
    origin = "" if trigger == "resume" else trigger
    return Line("▸", "cyan", what, ", ".join(filter(None, (origin, by(event)))))


def _reasoned(event: JsonObject, limit: int) -> Line:
    return Line("·", "dim", "thinks", one_line(text_of(event.get("text")), limit))


def _said(event: JsonObject, limit: int) -> Line:
    return Line("·", "", "says", one_line(text_of(event.get("text")), limit))


def _called(event: JsonObject, limit: int) -> Line:
    return Line("▸", "cyan", "calls", call_line(event, limit))


def _returned(event: JsonObject, limit: int) -> Line:
    name = text_of(event.get("name"))
    took = span(whole(event.get("duration")))
    error = text_of(event.get("error"))
    if error:
        return Line("✗", "red", "error", one_line(f"{name} → {error}", limit) + f"  {took}")
    result = one_line(text_of(event.get("result")), max(20, limit - len(name) - len(took) - 5))
    return Line("✓", "green", "returns", f"{name} → {result}  {took}")


def _asked(event: JsonObject, limit: int) -> Line:
    return Line("⏸", "yellow", "waits", one_line(text_of(event.get("prompt")), limit))


def _voted(event: JsonObject, _: int) -> Line:
    votes = f"{whole(event.get('votes'))} of {whole(event.get('quorum'))}"
    return Line("⏸", "yellow", "vote", f"{votes}, {by(event)}")


def _answered(event: JsonObject, limit: int) -> Line:
    outcome = text_of(event.get("outcome"))
    mark, style = OUTCOME_MARK.get(outcome, ("·", ""))
    said: list[str] = []
    if outcome == "answered":
        said.append(one_line(text_of(event.get("value")), limit // 2))
    if who := by(event):
        said.append(who)
    if reason := text_of(event.get("reason")):
        said.append(f'"{one_line(reason, limit // 2)}"')
    return Line(mark, style, outcome or "answered", "  ".join(said))


def _used(event: JsonObject, _: int) -> Line:
    tokens = f"{whole(event.get('input'))} in, {whole(event.get('output'))} out"
    cached = whole(event.get("cache_read"))
    told = [text_of(event.get("model")), tokens]
    if cached:
        told.append(f"{cached} from cache")
    if cost := text_of(event.get("cost")):
        told.append(f"${cost}")
    return Line("·", "dim", "model", "  ".join(filter(None, told)))


def _guarded(event: JsonObject, _: int) -> Line:
    names = ("checkpoint", "kind", "subject", "action")
    return Line("✗", "yellow", "guardrail", "  ".join(text_of(event.get(n)) for n in names))


def _completed(event: JsonObject, _: int) -> Line:
    return Line("✓", "green", "completed")


def _failed(event: JsonObject, _: int) -> Line:
    """Whole, however long: why a turn failed is what its reader came for."""
    where = " ".join(filter(None, (text_of(event.get("phase")), text_of(event.get("step")))))
    error = " ".join(clean(text_of(event.get("error"))).split())
    return Line("✗", "red", "failed", f"{error}  ({where})" if where else error)


def _cancelled(event: JsonObject, _: int) -> Line:
    return Line("–", "dim", "cancelled", text_of(event.get("reason")))


def _timed_out(event: JsonObject, _: int) -> Line:
    return Line("✗", "red", "timed out", text_of(event.get("deadline")))


_LINES = {
    "turn.started": _started,
    "reasoning.completed": _reasoned,
    "message.completed": _said,
    "action.requested": _called,
    "action.completed": _returned,
    "input.requested": _asked,
    "input.voted": _voted,
    "input.answered": _answered,
    "usage": _used,
    "guardrail.found": _guarded,
    "turn.completed": _completed,
    "turn.failed": _failed,
    "turn.cancelled": _cancelled,
    "turn.timed_out": _timed_out,
}
