"""A whole host beside the emulator, and the two journeys that faults are injected into."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from typing_extensions import override

from gateway.config import Settings
from gateway.host.app import make_app
from gateway.host.compose import Host, open_host
from gateway.testing.slack import (
    Channel,
    Fault,
    Message,
    Playground,
    Shown,
    SlackEmulator,
    furnish,
    settings_for,
)
from gateway.testing.time import ScaledTime
from tests.support.http import on_socket

AGENT = Path(__file__).parents[2] / "agent"
SPEED = 40.0
PATIENCE = 25.0
"""Seconds of this machine for one journey, retries included."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
_DIGEST = re.compile(r"\b[0-9a-f]{12}\b")
Line = tuple[str, tuple[str, ...]]
"""What a message says, and the buttons below it."""


@dataclass(frozen=True, slots=True)
class Stage:
    play: Playground
    host: Host
    channel: Channel
    payments: Path

    @property
    def slack(self) -> SlackEmulator:
        return self.play.slack

    def by_june(self, root: Message) -> list[Shown]:
        thread = self.slack.thread(self.channel, root)
        return [shown for shown in thread if shown.author == "june"]

    def lines(self, root: Message) -> list[Line]:
        """A thread as a person reads it, without what differs from one run to the next."""
        return [
            (
                _DIGEST.sub("<digest>", _MOMENT.sub("<moment>", shown.text)),
                tuple(button.label for button in shown.buttons),
            )
            for shown in self.by_june(root)
        ]

    async def rests(self, turn_id: str) -> bool:
        """The turn has ended, every view of it shows that, and nothing that was given up is to come."""
        store = self.host.runtime.store
        rows = await store.ledger.deliveries(turn_id=turn_id)
        settled = all(row.state in {"done", "silent"} and row.shown == row.wanted for row in rows)
        return (
            bool(rows)
            and settled
            and all(sent.over or not sent.attempts for sent in self.slack.journal.deliveries)
            and not any(
                call.fault == "slow" and call.status is None for call in self.slack.journal.calls
            )
        )

    async def until_rest(self, asked: Message, meanwhile: Callable[[], Awaitable[None]]) -> None:
        turn_id = f"slack:{self.play.june.key}:{asked.channel}:{asked.ts}"

        async def rests() -> bool:
            await meanwhile()
            return await self.rests(turn_id)

        await self.until(rests)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await holds():
                await asyncio.sleep(0.01)


@asynccontextmanager
async def staged(state: Path) -> AsyncGenerator[Stage]:
    time = ScaledTime(SPEED)
    async with SlackEmulator(time=time) as slack:
        play = furnish(slack)
        app = slack.world.apps[play.june.app]
        read = {
            **settings_for(slack, play.june),
            "REFUND_APPROVERS": f"slack:{play.acme.id}:{play.ada.id}",
            "GATEWAY_STATE": str(state),
            "GATEWAY_AGENT": str(AGENT),
            "GATEWAY_MODEL": "scripted",
            "DATABASE_URL": f"sqlite:///{state / 'gateway.db'}",
        }
        settings = Settings.load(read, toml_path=None)
        async with (
            open_host(settings, works=True, clock=time.clock, waits=time) as host,
            on_socket(make_app(host.api)) as url,
        ):
            app.request_url = app.interactivity_url = f"{url}/channels/slack"
            yield Stage(play, host, play.support, state / "payments-stub.db")


# -- journeys --------------------------------------------------------------------------------------
Meanwhile = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """What nobody does in between."""


async def question(on: Stage, meanwhile: Meanwhile = nothing) -> Message:
    """Asked in a thread of somebody else, and answered there."""
    above = await on.play.ada.say(on.channel, "the kettle came back in pieces")
    asked = await on.play.ada.mention(on.channel, "@june where is order 1042?", thread=above)
    await on.until_rest(asked, meanwhile)
    return above


async def refund(on: Stage, meanwhile: Meanwhile = nothing) -> Message:
    """Asked for, approved by button, paid."""
    await asyncio.to_thread(on.payments.unlink, missing_ok=True)
    asked = await on.play.ada.mention(on.channel, "@june refund 1042, it arrived broken")

    async def card_is_there() -> bool:
        await meanwhile()
        return any(shown.buttons for shown in on.by_june(asked))

    await on.until(card_is_there)
    card = next(shown for shown in on.by_june(asked) if shown.buttons)
    await on.play.ada.click(card, "Approve")
    await on.until_rest(asked, meanwhile)
    return asked


class Journey(Protocol):
    """Play it to its end; the root of the thread that it is about."""

    async def __call__(self, on: Stage, meanwhile: Meanwhile = ...) -> Message: ...


JOURNEYS: dict[str, Journey] = {"question": question, "refund": refund}


# -- faults ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Strike:
    kind: str
    on: str
    nth: int

    def fault(self) -> Fault:
        # The caller has given up when it is carried out, and might have called again.
        seconds = 15.0 if self.kind == "slow" else 1.0
        return Fault(self.kind, self.on, nth=self.nth, seconds=seconds)  # type: ignore[arg-type]

    @override
    def __str__(self) -> str:
        return f"{self.kind} at {self.on} #{self.nth}"
