"""A whole host beside the Slack emulator, with the people of the journeys: redeployed at will, on a clock
that may jump over a weekend."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from typing_extensions import override

from gateway.cli.demo.office import Office
from gateway.cli.demo.proof import Refund, refunds
from gateway.config import Settings
from gateway.engine.kinds import JsonObject, Millis
from gateway.host.app import make_app
from gateway.host.compose import Host, open_host
from gateway.host.hostfile import announce, make_cli_token, withdraw
from gateway.testing.slack import (
    Message,
    Person,
    Shown,
    SlackEmulator,
    VirtualTime,
    furnish,
)
from gateway.testing.time import ScaledTime
from tests.support.cli import ROOT, TOKEN, Mortal, Shell
from tests.support.http import connect, on_socket

AGENT = ROOT / "agent"
SPEED = 10.0
PATIENCE = 25.0
HOUR = 3600.0


class Calendar(ScaledTime):
    """Time that may jump. Who sleeps meanwhile isn't woken, as on a machine that was off."""

    def __init__(self, speed: float, start: Millis | None = None) -> None:
        super().__init__(speed, start)
        self._skipped = 0.0

    @override
    def monotonic(self) -> float:
        return super().monotonic() + self._skipped

    def skip(self, seconds: float) -> None:
        self._skipped += seconds


@dataclass(slots=True)
class Stage:
    """``settings`` are the host's beside those of Slack; a redeployed host finds state and address as
    they were."""

    office: Office
    state: Path
    time: Calendar
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    _life: AsyncExitStack = field(default_factory=AsyncExitStack)
    _host: Host | None = None

    @property
    def slack(self) -> SlackEmulator:
        return self.office.slack

    @property
    def host(self) -> Host:
        assert self._host is not None
        return self._host

    # -- the host ----------------------------------------------------------------------------------
    async def open(self) -> None:
        read = {
            **self.office.settings,
            "REFUND_APPROVERS": ",".join(("cli:", *self.office.leads)),
            "DATABASE_URL": f"sqlite:///{self.state / 'gateway.db'}",
            "GATEWAY_AGENT": str(AGENT),
            "GATEWAY_STATE": str(self.state),
            "GATEWAY_MODEL": "scripted",
            **self.settings,
        }
        settings = Settings.load({k: v for k, v in read.items() if v}, toml_path=None)
        token = make_cli_token()
        opened = open_host(
            settings, tokens=(token,), works=True, clock=self.time.clock, waits=self.time
        )
        async with AsyncExitStack() as life:
            self._host = await life.enter_async_context(opened)
            url = await life.enter_async_context(on_socket(make_app(self._host.api)))
            life.push_async_callback(asyncio.to_thread, withdraw, self.state)
            await asyncio.to_thread(announce, self.state, url, token, settings.database_url)
            app = self.slack.app()
            app.request_url = app.interactivity_url = f"{url}/channels/slack"
            self._life = life.pop_all()

    async def close(self) -> None:
        await self._life.aclose()
        self._host = None

    async def redeploy(self, *, after: float = 0.0) -> None:
        """Stop the host in order, and start another one so many seconds later."""
        await self.close()
        self.time.skip(after)
        await self.open()

    def run(self, *command: str) -> Callable[[], object]:
        """A command of ``gateway`` at this host, to be run in a thread; what it says as JSON."""
        shell = Shell(self.state, GATEWAY_STATE=str(self.state), GATEWAY_AGENT=str(AGENT))
        return lambda: shell.ok(*command, "--json").json

    async def gateway(self, *command: str) -> list[JsonObject]:
        said = await asyncio.to_thread(self.run(*command))
        rows = said if isinstance(said, list) else [said]
        return [row for row in rows if isinstance(row, dict)]

    # -- what is seen ------------------------------------------------------------------------------
    async def until(self, holds: Callable[[], bool]) -> None:
        await self.slack.until(holds, PATIENCE)

    async def says(self, root: Message, words: str) -> Shown:
        """A message of june's in the thread, once it says this and june rests."""
        await self.until(lambda: bool(self.office.saying(root, words)))
        await self.until(lambda: self.office.status(root) != "processing")
        await self.slack.settled(PATIENCE)
        return self.office.saying(root, words)[-1]

    async def card(self, root: Message) -> Shown:
        """The card of an open request, once the thread waits for it."""
        await self.until(lambda: self.office.card(root) is not None)
        await self.until(lambda: self.office.status(root) == "suspended")
        found = self.office.card(root)
        assert found is not None
        return found

    def now(self, shown: Shown) -> Shown:
        """The same message, as it is by now."""
        where = self.slack.shown(shown.channel)
        return next(message for message in where if message.ts == shown.ts)

    def told(self, person: Person) -> list[str]:
        """What only this person sees."""
        return [shown.text for shown in self.slack.private(person)]

    async def whispered(self, person: Person, times: int = 1) -> str:
        await self.until(lambda: len(self.told(person)) >= times)
        return self.told(person)[-1]

    async def books(self) -> list[Refund]:
        return await asyncio.to_thread(refunds, self.state)

    async def opening(self, root: Message) -> str:
        """What the model was told when the conversation began."""
        session = self.host.runtime.session("june", self.office.session(root))
        return str((await session.transcript())[0])

    # -- what people do ----------------------------------------------------------------------------
    async def ask(self, words: str, thread: Message | None = None) -> Message:
        return await self.office.asker.say(self.office.orders, words, thread=thread)


def pressed(card: Shown, label: str) -> list[JsonObject]:
    """A press on a button that this screen still shows, whatever became of the message since."""
    button = next(button for button in card.buttons if button.label == label)
    return [
        {
            "type": "button",
            "action_id": button.action_id,
            "block_id": button.block_id,
            "value": button.value,
            "text": {"type": "plain_text", "text": label},
        }
    ]


def altered(folder: Path, file: str, old: str, new: str) -> Path:
    """June's directory with one line of hers written differently."""
    made = folder / "agent"
    shutil.copytree(AGENT, made, ignore=shutil.ignore_patterns("__pycache__"))
    path = made / file
    text = path.read_text()
    assert text.count(old) == 1, f"{file} doesn't say {old!r} once any more"
    path.write_text(text.replace(old, new))
    return made


def orders(text: str) -> list[str]:
    """The numbers of orders in a text, in their order."""
    return re.findall(r"\b104\d\b", text)


def furnished(slack: SlackEmulator) -> Office:
    place = furnish(slack)
    acme, names = place.acme, ("asker", "colleague", "lead", "second lead", "outsider")
    asker, colleague, lead, second, outsider = people = [acme.person(name) for name in names]
    return Office(
        slack=slack,
        june=place.june,
        orders=acme.channel("orders", [place.june, *people]),
        ops=acme.channel("ops", [place.june, asker, colleague, lead, second]),
        asker=asker,
        colleague=colleague,
        lead=lead,
        second=second,
        outsider=outsider,
    )


@asynccontextmanager
async def staged(
    state: Path, settings: Mapping[str, str] | None = None, *, speed: float = SPEED
) -> AsyncGenerator[Stage, None]:
    """The emulator with its people, and a host that runs. An empty setting is none."""
    calendar = Calendar(speed)
    async with SlackEmulator(time=calendar) as slack:
        stage = Stage(furnished(slack), state, calendar, settings or {})
        await stage.open()
        try:
            yield stage
        finally:
            await stage.close()


# -- hosts that are processes ------------------------------------------------------------------------------
class Moments(VirtualTime):
    """The emulator's time beside hosts that live in ours: as fast as ours, but for waits that are cut
    short, such as the minute before an event is sent again."""

    def __init__(self) -> None:
        super().__init__()
        self._at_least = 0.0

    def cut_short(self, until: float) -> None:
        """Be there soon: a moment in seconds, as ``now`` counts them in milliseconds."""
        self._at_least = until

    async def run(self) -> None:
        """Until it is cancelled."""
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            cut = max(0.0, self._at_least - self.now() / 1000)
            await self.advance(now - last + cut)
            last = now


class Process(Mortal):
    """``gateway serve`` beside an emulator, which it reaches at the same port in every life."""

    def __init__(self, office: Office, state: Path, **extra: str) -> None:
        settings = {"DATABASE_URL": f"sqlite:///{state / 'gateway.db'}", **office.settings, **extra}
        super().__init__(
            Shell(
                state,
                GATEWAY_AGENT=str(AGENT),
                GATEWAY_STATE=str(state),
                REFUND_APPROVERS=",".join(office.leads),
                **settings,
            )
        )
        self._port = "0"

    @override
    async def start(self, *args: str) -> None:
        await super().start("--port", self._port, *args)
        self._port = self.url.rpartition(":")[2]

    async def shown(self, turn_id: str) -> bool:
        """Whether everything that the turn has to tell is shown."""
        async with connect(self.url, TOKEN) as client:
            rows = (await client.get(f"/deliveries?turn_id={quote(turn_id)}")).rows("deliveries")
        ends = ("done", "silent")
        return bool(rows) and all(
            row["state"] in ends and row["shown"] == row["wanted"] for row in rows
        )
