"""A conversation: lines in, turns out, approvals in between."""

from __future__ import annotations

import contextlib
import importlib
import json
import secrets
import sys
from typing import cast

import click

from gateway.cli.commands.common import SEARCHED, show_messages
from gateway.cli.desk import Desk
from gateway.cli.out import Out
from gateway.cli.portal import Portal
from gateway.cli.problem import Problem, explain
from gateway.cli.talk.card import FORGOTTEN, boolean, card, command
from gateway.cli.talk.follow import Follower
from gateway.cli.told import object_of, text_of, whole
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import Json, JsonObject

HELP = (
    ("/history", "the conversation so far, turn by turn"),
    ("/reset", "start anew; the history is kept"),
    ("/quit", "leave (Ctrl-D does too)"),
)


class Conversation:
    """One session of one agent, at a prompt or fed from a pipe."""

    def __init__(self, out: Out, portal: Portal, desk: Desk, agent: str, session: str) -> None:
        self._out = out
        self._portal = portal
        self._desk = desk
        self._agent = agent
        self._session = session
        self._tty = sys.stdin.isatty() and out.terminal

    def run(self) -> bool:
        """Until the person leaves. Returns whether something is left waiting for an answer."""
        if self._tty:
            self._greet()
        parked = self._waiting()
        if parked is not None and not self._settle(parked):
            return True
        while (line := self._read("you    ")) is not None:
            text = line.strip()
            if not text:
                continue
            if text.startswith("/") and not text.startswith("//"):
                if not self._command(text):
                    return False
                continue
            try:
                asked = self._turn(text.removeprefix("/") if text.startswith("//") else text)
            except (Problem, GatewayError) as error:
                # A refused message isn't the end of a conversation, but it is of a script.
                if not self._tty:
                    raise
                self._out.problem(explain(error))
                continue
            if asked is not None and not self._settle(asked):
                return True
        return False

    # -- turns ---------------------------------------------------------------------------------
    def _turn(self, text: str) -> JsonObject | None:
        """Run one turn. Returns the request it parked on."""
        turn_id = f"turn_{secrets.token_hex(12)}"
        self._portal.call(self._desk.start(self._agent, self._session, text, turn_id=turn_id))
        return self._follow(turn_id, 0)

    def _follow(self, turn_id: str, after: int) -> JsonObject | None:
        turn = (self._agent, self._session, turn_id)
        follower = Follower(self._out, self._portal, self._desk, turn)
        try:
            follower.run(after)
        except KeyboardInterrupt:
            self._out.say(("  – left it to end by itself", "dim"))
            return None
        snapshot = self._portal.call(self._desk.snapshot(*turn))
        if self._out.json:
            self._out.record({"agent": self._agent, **snapshot})
        if snapshot.get("state") != "suspended":
            return None
        return {
            **object_of(snapshot.get("request")),
            "agent": self._agent,
            "turn_id": turn_id,
            "last_seq": snapshot.get("last_seq"),
        }

    def _waiting(self) -> JsonObject | None:
        """What this session is parked on already."""
        for row in self._portal.call(self._desk.approvals(limit=SEARCHED)):
            if row.get("session") == self._session and row.get("agent") == self._agent:
                turn_id = text_of(row.get("turn_id"))
                address = (self._agent, self._session, turn_id)
                last = self._portal.call(self._desk.snapshot(*address)).get("last_seq")
                return {**row, "last_seq": last}
        return None

    # -- approvals -----------------------------------------------------------------------------
    def _settle(self, request: JsonObject | None) -> bool:
        """Ask the person until the turn goes on without asking. False when they leave it open."""
        while request is not None:
            if not self._out.json:
                card(self._out, {k: v for k, v in request.items() if k != "session"})
            answer = self._ask(request)
            if answer is None:
                waits = f"it keeps waiting: {command(request)}"
                self._out.note(waits if self._desk.keeps else FORGOTTEN)
                return False
            value, reason = answer
            try:
                answered = self._portal.call(self._desk.decide(request, value, reason=reason))
            except (Problem, GatewayError) as error:
                if not self._tty:
                    raise
                self._out.problem(explain(error))
                if explain(error).code in {"already_answered", "stale_answer"}:
                    return True
                continue
            if not answered.get("decided"):
                self._out.note("your vote counts; the others' are still missing")
                return False
            request = self._follow(text_of(request["turn_id"]), whole(request.get("last_seq")))
        return True

    def _ask(self, request: JsonObject) -> tuple[Json, str | None] | None:
        """The person's answer and reason; ``None`` when they leave it open."""
        if not boolean(request):
            return self._ask_value()
        while (line := self._read("approve? [y/n, or Enter to leave it open]  ")) is not None:
            word, _, rest = line.strip().partition(" ")
            if not word:
                return None
            if word.lower() in {"y", "yes", "n", "no"}:
                value = word.lower().startswith("y")
                reason = rest.strip(" ,:") or self._reason(value)
                return value, reason.removeprefix("because ").strip() or None
            self._out.note("y approves, n denies; a reason may follow, as in: n wrong amount")
            if not self._tty:
                return None
        return None

    def _reason(self, approves: bool) -> str:
        if approves or not self._tty:
            return ""
        return (self._read("why not? (the agent reads it)  ") or "").strip()

    def _ask_value(self) -> tuple[Json, str | None] | None:
        while line := self._read("answer (JSON; Enter leaves it open)  "):
            try:
                return cast("Json", json.loads(line)), None
            except ValueError as error:
                self._out.note(f"not JSON: {error}")
                if not self._tty:
                    return None
        return None

    # -- the prompt ----------------------------------------------------------------------------
    def _read(self, prompt: str) -> str | None:
        """A line, or ``None`` at the end of input. Ctrl-C at the prompt clears the line."""
        if not self._tty:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        # Arrow keys and earlier lines, wherever click asks; not every platform has it.
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")
        while True:
            try:
                shown = click.style(prompt, bold=True) if self._out.color else prompt
                return str(click.prompt(shown, default="", show_default=False, prompt_suffix=""))
            except click.Abort as abort:
                if isinstance(abort.__context__, EOFError):
                    self._out.say()
                    return None
                self._out.note(("\n(Ctrl-D or /quit leaves)", "dim"))

    def _greet(self) -> None:
        self._out.say((self._agent, "bold"), f" · {self._desk.where} · session {self._session}")
        self._out.say(("/help for commands, Ctrl-D to leave", "dim"))

    def _command(self, text: str) -> bool:
        """Run a slash command. False when it ends the conversation."""
        match text.split(maxsplit=1)[0]:
            case "/quit" | "/exit":
                return False
            case "/reset":
                done = self._portal.call(self._desk.reset(self._agent, self._session))
                kept = text_of(done.get("previous_session"))
                self._out.say(("✓ ", "green"), f"starting anew; the history is kept under {kept}")
            case "/history":
                self._history()
            case "/help":
                self._out.fields(HELP)
            case other:
                self._out.note(f"{other} is no command. /help lists them; // sends a slash")
        return True

    def _history(self) -> None:
        messages = self._portal.call(self._desk.transcript(self._agent, self._session))
        show_messages(self._out, messages)
        if not messages:
            self._out.say(("nothing was said yet", "dim"))
