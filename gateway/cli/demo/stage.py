"""How the demo speaks: calm lines on a terminal, the same plain in a log, JSON lines on request."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from gateway.cli.demo.proof import Proven
from gateway.cli.out import Out
from gateway.cli.scaffold.files import to_reach_it
from gateway.cli.text import Style, arguments
from gateway.cli.told import object_of, text_of
from gateway.engine.kinds import JsonObject

LABEL = 13
"""Width of the names in front of what is said."""


class Stage:
    def __init__(self, out: Out) -> None:
        self._out = out
        self._began = time.monotonic()
        self.proven = 0
        self.failed = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    # -- what is seen --------------------------------------------------------------------------
    def open(self, version: str, state: str) -> None:
        self._out.say(
            ("gateway ", "bold"), f"{version} · demo · scripted model: no key, nothing leaves here"
        )
        self._out.say((f"state {state}", "dim"))

    def scene(self, number: int, title: str) -> None:
        self._out.say()
        self._out.say((f"{number}  ", "dim"), (title, "bold"))

    def says(self, who: str, text: str, style: Style = "") -> None:
        self._block(who, text, "bold" if who == "you" else "cyan", style)

    def event(self, event: JsonObject) -> None:
        """A tool's line, as far as it belongs into the story."""
        match event.get("type"):
            case "action.requested":
                call = object_of(event.get("call"))
                given = arguments(object_of(call.get("input")), 200)
                self._block("", f"▸ {text_of(call.get('name'))}({given})", "", "dim")
            case "action.completed" if event.get("error"):
                self._block("", f"✗ {text_of(event.get('error'))}", "", "red")
            case "input.requested":
                self._block("", f"⏸ {text_of(event.get('prompt'))}", "", "yellow")
            case "message.completed" if text_of(event.get("text")):
                self.says("june", text_of(event.get("text")))
            case _:
                pass

    def task(self, title: str, status: str) -> None:
        """A line of a reply's timeline."""
        self._block("", f"{'✗' if status == 'error' else '▸'} {title}", "", "dim")

    def crash(self, when: str, then: str = "started again") -> None:
        self._out.say(("  " + self._fill(f"── kill -9 {when}; {then} "), "magenta"))

    def prove(self, proven: Proven) -> None:
        if proven.held:
            self.proven += 1
        else:
            self.failed += 1
        if self._out.json:
            record: JsonObject = {"proven": proven.claim, "held": proven.held}
            if not proven.held:
                record["seen"] = proven.seen
            self._out.record(record)
            return
        mark = "✓ " if proven.held else "✗ "
        text = proven.claim if proven.held else f"{proven.claim}: {proven.seen}"
        self._block("", mark + text, "", "green" if proven.held else "red", indent=2)

    def that(self, claim: str, held: bool, seen: object = "") -> None:
        self.prove(Proven(claim, held, str(seen)))

    def close(self, kills: int) -> bool:
        held = not self.failed and self.proven > 0
        if self._out.json:
            self._out.record(
                {
                    "ok": held,
                    "proven": self.proven,
                    "failed": self.failed,
                    "kills": kills,
                    "seconds": round(self.seconds, 2),
                }
            )
            return held
        self._out.say()
        if held:
            told = f"{self.proven} of {self.proven} held, through {kills} kill -9"
            self._out.say(("✓ ", "green"), (told, "bold"), f" · {self.seconds:.1f} s")
            then = " && ".join([*to_reach_it(), "gateway new shop"])
            self._out.say(("Next: ", "dim"), then, ("   your own agent, with a test", "dim"))
        else:
            told = f"{self.failed} of {self.proven + self.failed} did not hold"
            self._out.say(("✗ ", "red"), (told, "bold"), f" · {self.seconds:.1f} s")
        return held

    @contextmanager
    def waiting(self, what: str) -> Generator[None]:
        """Say on a terminal what is waited for; the words are gone afterwards."""
        with self._out.status(f"  {what}"):
            yield

    # -- beneath -------------------------------------------------------------------------------
    @property
    def _wide(self) -> int:
        return min(self._out.width, 100)

    def _fill(self, line: str) -> str:
        return (
            line + "─" * max(0, self._wide - 2 - len(line)) if self._out.terminal else line.rstrip()
        )

    def _block(self, who: str, text: str, name: Style, style: Style, indent: int = LABEL) -> None:
        label = f"  {who:<{indent - 2}}" if who else " " * indent
        self._out.block((label, name), text, style, wide=self._wide)
