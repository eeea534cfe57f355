"""The plain model of deliveries: a list of views, each with the few facts that decide its life."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.engine.ledger import SettledState

QUIET = {"resting", "done", "silent"}


@dataclass
class View:
    turn: str
    lane: str
    next_try: int
    state: str = "due"
    wanted: int = 1
    shown: int = 0
    attempts: int = 0
    token: int = 0
    lapsed: bool = False
    remind: int | None = None
    parts: dict[int, str] = field(default_factory=dict[int, str])

    def ours(self, token: int) -> bool:
        return self.state == "sending" and self.token == token

    def seen(self) -> tuple[object, ...]:
        """What a reader of any store is told."""
        facts = (self.turn, self.lane, self.state, self.wanted, self.shown, self.attempts)
        return (*facts, self.token, self.next_try, self.remind, tuple(sorted(self.parts.items())))


@dataclass
class Plain:
    views: list[View] = field(default_factory=list[View])

    def of(self, turn: str) -> View:
        return next(view for view in self.views if view.turn == turn)

    def heads(self) -> list[View]:
        """Of each lane the one that is being sent; where there is none, the oldest that waits."""
        found: dict[str, View] = {}
        for view in [view for view in self.views if view.state == "sending"]:
            found[view.lane] = view
        for view in [view for view in self.views if view.state == "due"]:
            found.setdefault(view.lane, view)
        return list(found.values())

    def mark(self, turn: str, now: int) -> None:
        view = self.of(turn)
        view.wanted += 1
        view.attempts = 0
        view.next_try = now
        if view.state in QUIET:
            view.state = "due"

    def claim(self, now: int, limit: int, *, lapsed: bool) -> list[tuple[str, int, bool]]:
        """Turn, token and whether the sender before was cut off, in the order of the claim."""
        for view in self.views:
            if view.state == "resting" and view.remind is not None and view.remind <= now:
                view.state, view.wanted, view.next_try = "due", view.wanted + 1, now
        due = [
            view
            for view in self.heads()
            if view.next_try <= now and (view.state == "due" or view.lapsed)
        ]
        due.sort(key=lambda view: (view.next_try, self.views.index(view)))
        taken: list[tuple[str, int, bool]] = []
        for view in due[:limit]:
            cut = view.state == "sending"
            view.state, view.lapsed = "sending", lapsed
            view.token += 1
            view.attempts += 1
            taken.append((view.turn, view.token, cut))
        return taken

    def settle(
        self, view: View, state: SettledState, satisfied: int, wait: int | None, remind: int | None
    ) -> None:
        quiet = state in QUIET
        view.state = "due" if quiet and view.wanted > satisfied else state
        view.shown = max(view.shown, satisfied)
        view.remind = remind
        if state == "due" and wait is not None:
            view.next_try = wait
        if quiet:
            view.attempts = 0

    def next_due(self) -> int | None:
        found = [view.next_try for view in self.heads() if view.state == "due"]
        found += [
            view.remind
            for view in self.views
            if view.state == "resting" and view.remind is not None
        ]
        return min(found, default=None)

    def void(self) -> None:
        for view in self.views:
            view.lapsed = True
