"""One turn's events, printed as they come.

On a terminal text streams; elsewhere only what was committed is printed, so that a script never sees
words that were taken back.
"""

from __future__ import annotations

from gateway.cli.out import Out, Part
from gateway.cli.timeline import TERMINAL, call_line, describe
from gateway.cli.told import text_of
from gateway.engine.kinds import JsonObject

_LINES = frozenset(
    {
        "action.requested",
        "input.answered",
        "input.voted",
        "guardrail.found",
        "turn.failed",
        "turn.cancelled",
        "turn.timed_out",
    }
)


class TurnPrinter:
    """``aside`` sends all but the agent's words to stderr: then stdout is the answer alone."""

    def __init__(self, out: Out, *, aside: bool = False) -> None:
        self._out = out
        self._aside = aside
        self._shown = ""
        self._calls: dict[str, str] = {}
        self.text = ""
        """The last text that was committed."""
        self.end: JsonObject | None = None
        self.request: JsonObject | None = None

    def feed(self, event: JsonObject) -> None:
        match event.get("type"):
            case "message.delta":
                self._delta(text_of(event.get("text")))
            case "message.completed":
                self._complete(text_of(event.get("text")))
            case "model.retrying":
                self._void()
            case "cli.waiting":
                self._line(("↻ ", "yellow"), ("the host went away; waiting for it…", "dim"))
            case "action.completed":
                self._returned(event)
            case "action.progress":
                self._line(("    · ", "dim"), (text_of(event.get("text")), "dim"))
            case "input.requested":
                self.request = event
            case kind if kind in _LINES:
                self._told(event)
            case _:
                pass
        if event.get("type") in TERMINAL:
            self.end = event

    def finish(self) -> None:
        """Nothing more comes: leave the cursor at the start of a line."""
        if self._shown:
            self._out.stream("\n")
            self._shown = ""

    # -- text ----------------------------------------------------------------------------------
    def _delta(self, text: str) -> None:
        if self._out.terminal and text:
            self._out.stream(text)
            self._shown += text

    def _complete(self, text: str) -> None:
        """The committed text: what of it hasn't been streamed, or all of it."""
        self.text = text or self.text
        shown, self._shown = self._shown, ""
        if not text:
            return
        if shown and text.startswith(shown):
            self._out.stream(text[len(shown) :] + "\n")
        else:
            self._out.stream(("\n" if shown else "") + text + "\n")

    def _void(self) -> None:
        if self._shown:
            self._out.stream("\n")
            self._shown = ""
            self._line(("↻ ", "yellow"), ("the model broke off there; starting again", "dim"))
        else:
            self._line(("↻ ", "yellow"), ("the model is busy; trying again", "dim"))

    # -- lines ---------------------------------------------------------------------------------
    def _told(self, event: JsonObject) -> None:
        if event.get("type") == "action.requested":
            call = event.get("call")
            key = text_of(call.get("id")) if isinstance(call, dict) else ""
            self._calls[key] = call_line(event)
            self._line(("  ▸ ", "cyan"), (self._calls[key], "dim"))
            return
        line = describe(event)
        if line is None:
            return
        if event.get("type") == "turn.failed":
            self.finish()
            label = (f"  {line.mark} {line.what}  ", line.style)
            self._out.block(label, line.detail, aside=self._aside)
            return
        detail = f"  {line.detail}" if line.detail else ""
        self._line((f"  {line.mark} ", line.style), line.what, (detail, "dim"))

    def _returned(self, event: JsonObject) -> None:
        if line := describe(event, max(40, self._out.width - 6)):
            self._line((f"  {line.mark} ", line.style), (line.detail, "dim"))

    def _line(self, *parts: Part) -> None:
        self.finish()
        if self._aside:
            self._out.note(*parts)
        else:
            self._out.say(*parts)
