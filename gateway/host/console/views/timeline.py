"""A turn's events as the steps that a person sees: the plumbing between them is left out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gateway.engine import events as ev
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.tool import Tool
from gateway.host.words.text import one_line

Kind = Literal["turn", "model", "tool", "approval", "guard"]
Tone = Literal["good", "wait", "bad", "busy", "off"]

LINE = 140
ENDINGS: Mapping[str, Tone] = {
    "approved": "good",
    "answered": "good",
    "denied": "bad",
    "expired": "off",
    "cancelled": "off",
}


@dataclass(slots=True, kw_only=True)
class Step:
    """One row. ``took`` is ``None`` while it goes on; ``began`` is when it began, as far as the log
    tells. ``put`` and ``got`` are what went in and what came out."""

    kind: Kind
    seq: int
    began: Millis
    title: str
    detail: str = ""
    tone: Tone = "off"
    word: str = ""
    took: int | None = None
    badges: list[str] = field(default_factory=list[str])
    tokens: tuple[int, int] | None = None
    cost: str | None = None
    put: Json = None
    got: Json = None
    request: str | None = None


class Timeline:
    """Takes events in order, keeps the steps."""

    def __init__(
        self, tools: Mapping[str, Tool], called: Callable[[str], str] = lambda who: who
    ) -> None:
        self.steps: list[Step] = []
        self._name_of = called
        self._tools = tools
        self._calls: dict[str, Step] = {}
        self._asked: dict[str, Step] = {}
        self._reply: tuple[int, Step] | None = None
        self._since = Millis(0)
        self._answered: ev.InputAnswered | None = None

    def take(self, event: ev.TurnEvent) -> None:
        match event:
            case ev.ReasoningCompleted() | ev.MessageCompleted() | ev.UsageEvent():
                self._model(event, event.message)
            case ev.ActionRequested():
                self._model(event, event.message)
                self._called(event)
            case ev.ActionCompleted():
                self._returned(event)
            case ev.InputRequested() | ev.InputVoted() | ev.InputAnswered():
                self._approval(event)
            case ev.GuardrailFound():
                told = f"{event.kind} at {event.checkpoint}: {event.subject} → {event.action}"
                self._add("guard", event, "guardrail", told, "wait", "found")
            case _:
                self._turn(event)
        self._since = event.at

    def _add(
        self, kind: Kind, event: ev.TurnEvent, title: str, detail: str, tone: Tone, word: str
    ) -> Step:
        step = Step(
            kind=kind,
            seq=event.seq or 0,
            began=event.at,
            title=title,
            detail=one_line(detail, LINE),
            tone=tone,
            word=word,
        )
        self.steps.append(step)
        return step

    # -- the model -----------------------------------------------------------------------------
    def _model(
        self,
        event: ev.ReasoningCompleted | ev.MessageCompleted | ev.UsageEvent | ev.ActionRequested,
        message: int,
    ) -> None:
        """One reply is told by several events that share a message."""
        if self._reply is None or self._reply[0] != message:
            step = self._add("model", event, "model", "", "good", "replied")
            step.began = self._since or event.at
            self._reply = (message, step)
        step = self._reply[1]
        step.took = max(step.took or 0, event.at - step.began)
        match event:
            case ev.ReasoningCompleted():
                step.badges.append("thought first")
            case ev.MessageCompleted():
                step.got = event.text
                step.detail = step.detail or one_line(event.text, LINE)
            case ev.UsageEvent(usage=usage):
                tokens = (usage.input + usage.cache_read + usage.cache_write, usage.output)
                step.tokens = tokens if any(tokens) else None
                step.cost = f"{usage.cost:f}" if usage.cost else None
                step.title = usage.model or step.title
                if usage.estimated:
                    step.badges.append("cost estimated")
            case ev.ActionRequested():
                step.word = "calls"
                step.detail = step.detail or f"calls {event.call.name}"

    # -- tools ---------------------------------------------------------------------------------
    def _called(self, event: ev.ActionRequested) -> None:
        call = event.call
        told = ", ".join(f"{name}={one_line(value, 40)}" for name, value in call.input.items())
        step = self._add("tool", event, call.name, told, "busy", "runs")
        step.put = call.input
        tool = self._tools.get(call.name)
        if tool is not None:
            step.badges.append("at least once, under one key" if tool.remote else "exactly once")
            if tool.effect == "money":
                step.badges.append("money")
        self._calls[call.id] = step

    def _returned(self, event: ev.ActionCompleted) -> None:
        step = self._calls.pop(event.call_id, None)
        if step is None:  # its request stands before the part of the log that is shown
            step = self._add("tool", event, event.name, "", "busy", "")
        step.took = event.duration
        step.got = event.error or event.result
        step.tone, step.word = ("bad", "failed") if event.error else ("good", "done")
        step.detail = one_line(f"{step.detail} → {step.got}" if step.detail else step.got, LINE)

    # -- people --------------------------------------------------------------------------------
    def _approval(self, event: ev.InputRequested | ev.InputVoted | ev.InputAnswered) -> None:
        if isinstance(event, ev.InputRequested):
            step = self._add("approval", event, "decision", event.prompt, "wait", "waits")
            step.request = event.id
            self._asked[event.id] = step
            self._calls_are("wait", "waits")
            return
        step = self._asked.get(event.id) or self._add("approval", event, "decision", "", "wait", "")
        step.request = event.id
        if isinstance(event, ev.InputVoted):
            step.word = f"{event.votes} of {event.quorum} votes"
            return
        self._calls_are("busy", "runs")
        self._answered = event
        step.took = event.at - step.began
        step.tone, step.word = ENDINGS[event.outcome], event.outcome
        by = " ".join((event.outcome, self._by(event.by))).rstrip()
        why = f": {event.reason}" if event.reason else ""
        step.detail = one_line(f"{step.detail} · {by}{why}" if step.detail else by + why, LINE)
        step.got = None if isinstance(event.value, bool) else event.value

    def _calls_are(self, tone: Tone, word: str) -> None:
        """A call that asks is let go of until somebody decides, and the turn with it."""
        for step in self._calls.values():
            step.tone, step.word = tone, word

    def _go_on(self, at: Millis) -> None:
        """A call that waited runs from here, after the decision that it waited for."""
        for step in self._calls.values():
            self.steps.remove(step)
            step.began = at
            self.steps.append(step)

    # -- the turn itself -----------------------------------------------------------------------
    def _turn(self, event: ev.TurnEvent) -> None:
        match event:
            case ev.TurnStarted(trigger="resume"):
                # The event names who asked; what went before it says whose answer it goes on with.
                self._add("turn", event, "resumed", self._resumed(), "off", "resumed")
                self._go_on(event.at)
            case ev.TurnStarted():
                told = " ".join(filter(None, (event.trigger, self._by(event.by))))
                self._add("turn", event, "started", told, "off", "started")
            case ev.TurnCompleted():
                self._add("turn", event, "completed", "", "good", "completed")
            case ev.TurnFailed():
                where = " ".join(filter(None, (event.phase, event.step)))
                told = f"{event.error} ({where})" if where else event.error
                # Whole, however long: it is what its reader came for.
                self._add("turn", event, "failed", "", "bad", "failed").detail = told
            case ev.TurnCancelled():
                self._add("turn", event, "cancelled", event.reason, "off", "cancelled")
            case ev.TurnTimedOut():
                self._add("turn", event, "timed out", event.deadline, "bad", "timed out")
            case _:
                pass  # what only makes sense live

    def _resumed(self) -> str:
        answered = self._answered
        if answered is None:
            return ""
        return "nobody decided in time" if answered.outcome == "expired" else self._by(answered.by)

    def _by(self, who: str | None) -> str:
        return f"by {self._name_of(who)}" if who else ""


def timeline(
    events: Iterable[ev.TurnEvent],
    tools: Mapping[str, Tool],
    called: Callable[[str], str] = lambda who: who,
    *,
    thinking: bool,
) -> list[Json]:
    """The rows. ``thinking``: the turn runs, so where no tool does, the model is at work."""
    line = Timeline(tools, called)
    for event in events:
        line.take(event)
    steps = line.steps
    longest = max((step.took or 0 for step in steps if step.kind != "approval"), default=0) or 1
    rows = [_row(number, step, longest) for number, step in enumerate(steps, 1)]
    if thinking and not any(step.took is None and step.kind == "tool" for step in steps):
        now = Step(kind="model", seq=0, began=Millis(0), title="model", tone="busy", word="at work")
        rows.append(_row(len(rows) + 1, now, longest))
    return list(rows)


def _row(number: int, step: Step, longest: int) -> JsonObject:
    share = 100 if step.kind == "approval" else round(100 * (step.took or 0) / longest)
    badges: list[Json] = [*step.badges]
    return {
        "n": number,
        "seq": step.seq,
        "kind": step.kind,
        "title": step.title,
        "detail": step.detail,
        "tone": step.tone,
        "word": step.word,
        "at": step.began,
        "took": step.took,
        "share": share,
        "badges": badges,
        "tokens": None if step.tokens is None else [*step.tokens],
        "cost": step.cost,
        "input": step.put,
        "output": step.got,
        "request": step.request,
    }
