"""Following one turn to where it rests. Ctrl-C asks for its end; a second one stops waiting."""

from __future__ import annotations

from gateway.cli.desk import Desk
from gateway.cli.out import Out
from gateway.cli.portal import Portal
from gateway.cli.talk.printer import TurnPrinter

Address = tuple[str, str, str]
"""Agent, session, turn."""


class Follower:
    def __init__(
        self, out: Out, portal: Portal, desk: Desk, turn: Address, *, aside: bool = False
    ) -> None:
        self._out = out
        self._portal = portal
        self._desk = desk
        self._turn = turn
        self.printer = TurnPrinter(out, aside=aside)

    def run(self, after: int = 0) -> bool:
        """Print events until the turn ends or parks. Returns whether it was interrupted."""
        stream = self._portal.stream(self._desk.follow(*self._turn, after=after))
        interrupted = False
        try:
            while True:
                try:
                    for event in stream:
                        self.printer.feed(event)
                    break
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    self.printer.finish()
                    self._out.note(("cancelling…  Ctrl-C again to leave at once", "dim"))
                    self._portal.call(self._desk.cancel(*self._turn))
        finally:
            stream.close()
            self.printer.finish()
        return interrupted
