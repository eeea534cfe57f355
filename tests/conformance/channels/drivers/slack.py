"""Slack, as the emulator stands for it: over HTTP, or by Socket Mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from channels.slack.emulator.journal import Delivered
from channels.slack.emulator.world.state import App
from gateway.engine.kinds import JsonObject
from gateway.outbox.reference import reference_of
from gateway.testing.slack import (
    Channel,
    Fault,
    Install,
    Message,
    Person,
    Playground,
    Shortcut,
    Shown,
    SlackEmulator,
    furnish,
    settings_for,
)
from gateway.testing.time import ScaledTime
from tests.conformance.channels.driver import (
    Judged,
    Line,
    Post,
    Replace,
    ResetBy,
    Telling,
    Where,
    Who,
    Words,
)
from tests.conformance.channels.drivers.house import SPEED, House, house
from tests.conformance.channels.waiting import sees, until

WORDS = Words(
    stopped="Stopped.",
    superseded="(superseded by a newer message)",
    failed="Sorry, I couldn't finish this.",
    expired="Expired",
    denied="Denied",
    needless="No longer needed",
    one_of_two="1 of 2",
    behind="as soon as @leads decided",
)
LATE = 3.0
"""Seconds by which one event of a post comes after the other."""
OPEN = {"queued", "running"}
SETTLED = {"done", "silent", "resting"}
KEPT = ":kept"
"""Ends the rule of what was received and isn't acted on yet."""


@dataclass(frozen=True, slots=True)
class SlackPost:
    message: Message
    installation: str

    @property
    def session(self) -> str:
        return f"slack:{self.installation}:{self.message.channel}:{self.message.root}"

    @property
    def turn_id(self) -> str:
        return f"slack:{self.installation}:{self.message.channel}:{self.message.ts}"


def _of(post: Post) -> Message:
    assert isinstance(post, SlackPost)
    return post.message


@dataclass(slots=True)
class Slack:
    """A workspace with the people of the rules in it, and the gateway that its app is served by."""

    name: str
    play: Playground
    house: House
    shared: Channel
    people: dict[str, Person]
    bots: dict[str, Person]
    words: Words = WORDS
    replaces: bool = True
    _cards: dict[str, tuple[Shown, JsonObject]] = field(
        default_factory=dict[str, tuple[Shown, JsonObject]]
    )

    @property
    def slack(self) -> SlackEmulator:
        return self.play.slack

    @property
    def app(self) -> App:
        return self.slack.world.apps[self.play.june.app]

    async def connect(self) -> None:
        """The gateway listens, under a new address maybe."""
        self.app.request_url = self.app.interactivity_url = f"{self.house.url}/channels/slack"
        if self.app.socket:
            await self.slack.until(lambda: bool(self.slack.outlet.sockets.of(self.app.id)))

    # -- what people do ----------------------------------------------------------------------------
    async def say(
        self,
        who: Who,
        text: str,
        *,
        below: Post | None = None,
        where: Where = "support",
        told: Telling = "",
    ) -> SlackPost:
        channel = self.play.support if where == "support" else self.shared
        named = f"@june {text}" if below is None else text
        thread = None if below is None else _of(below)
        said = (self.people[who], channel if thread is None else thread.channel, named, thread)
        match told:
            case "":
                post = await self._say(*said)
                # Nobody types so fast that the next message overtakes this one.
                await self.slack.until(lambda: all(one.over for one in self._told(post.message)))
                return post
            case "all at once":
                return await self._four_times(*said)
            case first:
                last = "event:message" if first == "mention first" else "event:app_mention"
                self.slack.faults.add(Fault("event_late", last, seconds=LATE))
                return await self._say(*said)

    async def _say(
        self, who: Person, channel: Channel | str, text: str, thread: Message | None = None
    ) -> SlackPost:
        message = await who.say(channel, text, thread=thread)
        return SlackPost(message, self.play.june.key)

    async def _four_times(
        self, who: Person, channel: Channel | str, text: str, thread: Message | None
    ) -> SlackPost:
        held = self.slack.faults.add(Fault("event_reordered", "event:*", count=None))
        post = await self._say(who, channel, text, thread)
        self.slack.faults.planned.remove(held)
        await self.tell_again(post)  # which lets go of what is held
        return post

    async def chat(self, who: Who, text: str) -> SlackPost:
        return await self._say(self.people[who], self.play.support, text)

    async def bot_says(self, bot: str, text: str, *, below: Post | None = None) -> SlackPost:
        thread = None if below is None else _of(below)
        return await self._say(self.bots[bot], self.play.support, f"@june {text}", thread)

    async def agent_first(self, text: str) -> SlackPost:
        target = {
            "source": "slack",
            "installation": self.play.june.key,
            "channel": self.play.support.id,
        }
        begun = await self.house.as_("operator").post(
            "/agents/june/sessions/digest/turn?deliver=1", {"message": text, "target": target}
        )
        assert begun.status == 202, begun.raw
        await self.rests()
        (shown,) = [one for one in self.slack.shown(self.play.support) if one.author == "june"]
        message = self.slack.world.message(shown.channel, shown.ts)
        return SlackPost(message, self.play.june.key)

    async def edit(self, post: Post, text: str) -> None:
        message = _of(post)
        await self.slack.person(message.user).edit(message, f"@june {text}")

    async def delete(self, post: Post) -> None:
        message = _of(post)
        await self.slack.person(message.user).delete(message)

    async def withdraw(self, post: Post) -> None:
        await self.delete(post)  # there is no Stop while nothing runs

    async def decide(self, who: Who, post: Post, label: str) -> None:
        card, action = self._card(post, label)
        await self.people[who].forged(card, [action])

    def _card(self, post: Post, label: str) -> tuple[Shown, JsonObject]:
        """The button that this person still sees, whatever became of it meanwhile."""
        kept = f"{post.session} {label}"
        if kept not in self._cards:
            (card,) = [shown for shown in self._shown(post) if shown.buttons]
            for button in card.buttons:
                self._cards[f"{post.session} {button.label}"] = (
                    card,
                    {
                        "type": "button",
                        "action_id": button.action_id,
                        "block_id": button.block_id,
                        "value": button.value,
                    },
                )
        return self._cards[kept]

    async def deny(self, who: Who, post: Post, reason: str) -> None:
        person = self.people[who]
        (card,) = [shown for shown in self._shown(post) if shown.buttons]

        async def opens() -> bool:
            """A form has to open within three seconds of the click, or one clicks again."""
            await person.click(card, "june.more", "Deny with a reason")
            await self.slack.until(lambda: self._answered(person))
            return person.modal(self.app) is not None

        assert await until(opens), "no form opens"
        reply = await person.submit(self.app, {"june.reason": reason})
        assert reply.good, reply

    def _answered(self, person: Person) -> bool:
        """The last attempt to open a form has come to something."""
        asked = [sent for sent in self.slack.journal.deliveries if sent.type == "block_actions"]
        opened = [call for call in self.slack.journal.of("views.open") if call.status is not None]
        return person.modal(self.app) is not None or len(opened) >= len(asked)

    async def press_at_once(self, who: Who, post: Post, label: str, times: int) -> None:
        card, action = self._card(post, label)
        async with asyncio.TaskGroup() as clicks:
            for _ in range(times):
                clicks.create_task(self.people[who].forged(card, [action]))

    async def decide_elsewhere(self, who: Who, post: Post) -> None:
        open_ = await self.house.as_(who).get("/approvals")
        (request,) = [one for one in open_.rows("approvals") if one["session"] == post.session]
        done = await self.house.as_(who).post(f"/approvals/{request['id']}", {"value": True})
        assert done.status == 200, done.raw

    async def stop(self, who: Who, post: Post) -> None:
        await self.people[who].stop(self.app, _of(post))

    async def reset(self, who: Who, post: Post, by: ResetBy) -> None:
        message = _of(post)
        if by == "shortcut":
            await self.people[who].shortcut(self.app, "june.reset", message)
            return
        root = message.root.replace(".", "")
        link = f"https://acme.slack.com/archives/{message.channel}/p{root}"
        await self.people[who].command(message.channel, f"/june reset {link}")

    # -- what the platform does --------------------------------------------------------------------
    async def tell_again(self, post: Post, times: int = 1) -> None:
        for sent in self._told(_of(post)) * times:
            copy = Delivered(sent.id, sent.app, sent.kind, sent.type, sent.payload)
            self.slack.outlet.dispatch(self.app, copy)

    def _told(self, message: Message) -> list[Delivered]:
        """One of each event that tells of a post."""
        found: dict[str, Delivered] = {}
        for sent in self.slack.journal.deliveries:
            event = cast("JsonObject", sent.payload.get("event", {}))
            if (event.get("channel"), event.get("ts")) == (message.channel, message.ts):
                found.setdefault(sent.id, sent)
        return list(found.values())

    async def say_while_store_is_shut(self, who: Who, text: str) -> SlackPost:
        async with self.house.shut():
            post = await self._say(self.people[who], self.play.support, f"@june {text}")
            told = self._told(_of(post))

            def tried() -> bool:
                return all(one.attempts and one.attempts[0].outcome != "pending" for one in told)

            await self.slack.until(tried)
            assert told
            assert not any(one.acked for one in told)
        return post  # the platform sends it again by itself

    async def restart(self) -> None:
        await self.house.restart()
        await self.connect()

    # -- what people see ---------------------------------------------------------------------------
    async def begins(self, post: Post) -> None:
        await sees(self, post, "First")

    def _shown(self, post: Post) -> list[Shown]:
        message = _of(post)
        thread = self.slack.thread(message.channel, message.root)
        return [shown for shown in thread if shown.author == "june"]

    async def seen(self, post: Post) -> Sequence[Line]:
        return [
            Line(shown.text, tuple(one.label for one in shown.buttons))
            for shown in self._shown(post)
        ]

    async def private(self, who: Who) -> Sequence[str]:
        return [shown.text for shown in self.slack.private(self.people[who])]

    async def pinged(self) -> Sequence[str]:
        asker = self.people["ada"].id
        return [f"{ping.kind} {ping.id}" for ping in self.slack.pinged if ping.id != asker]

    async def verdicts(self, post: Post) -> Sequence[Judged]:
        found = await self.house.as_("operator").get(f"/verdicts?place={post.session}&limit=500")
        return [
            Judged(str(row["verdict"]), str(row["rule"]))
            for row in reversed(found.rows("verdicts"))
        ]

    async def unjudged(self) -> Sequence[str]:
        found = await self.house.as_("operator").get("/verdicts?source=slack&limit=500")
        judged = [str(row["event"]) for row in found.rows("verdicts")]
        told = self.slack.journal.deliveries
        events = {sent.id: sent.type for sent in told if sent.kind == "event"}
        missing = [f"{kind} {one}" for one, kind in events.items() if one not in judged]
        # A click has no id on the wire: the gateway makes one up.
        acts = [sent.type for sent in told if sent.kind != "event"]
        others = [one for one in judged if one not in events]
        return [*missing, *acts[len(others) :]]

    async def found_by(self, reference: str) -> Sequence[str]:
        found = await self.house.as_("operator").get("/turns?limit=500")
        ids = [str(row["turn_id"]) for row in found.rows("turns")]
        return [one for one in ids if reference_of(one) == reference]

    async def rests(self) -> None:
        assert await until(self._rests), "the gateway doesn't come to rest"

    async def _rests(self) -> bool:
        told = self.slack.journal.deliveries
        if not all(sent.over for sent in told):
            return False
        operator = self.house.as_("operator")
        judged = (await operator.get("/verdicts?limit=500")).rows("verdicts")
        if any(str(row["rule"]).endswith(KEPT) or row["verdict"] == "held" for row in judged):
            return False
        turns = (await operator.get("/turns?limit=500")).rows("turns")
        if any(row["state"] in OPEN for row in turns):
            return False
        rows = (await operator.get("/deliveries?limit=500")).rows("deliveries")
        return all(row["state"] in SETTLED and row["shown"] == row["wanted"] for row in rows)

    # -- the agent's own ---------------------------------------------------------------------------
    @property
    def known_id(self) -> str:
        return self.people["second"].id

    @property
    def ran(self) -> Sequence[str]:
        return self.house.ran

    def let_go(self) -> None:
        self.house.gate.set()


@asynccontextmanager
async def open_slack(state: Path, *, socket: bool, replace: Replace) -> AsyncGenerator[Slack]:
    time = ScaledTime(SPEED)
    async with SlackEmulator(time=time) as slack:
        play = furnish(slack)
        people = _people(play)
        bots = {name: play.acme.bot(name) for name in ("ping", "stray")}
        everybody: list[Person | Install] = [play.june, *people.values()]
        play.acme.invite(
            play.support, [people[n] for n in ("lead", "second", "stranger")] + [*bots.values()]
        )
        shared = play.acme.channel("shared", everybody)
        app = slack.world.apps[play.june.app]
        app.socket = socket
        app.commands["/june"] = ""
        app.shortcuts["june.reset"] = Shortcut("june.reset", "message")
        leads = [f"slack:{play.june.key}:{people[name].id}" for name in ("lead", "second")]
        env = {
            **settings_for(slack, play.june),
            "LEADS": " ".join([*leads, "api:lead", "api:second"]),
            "BOTS": bots["ping"].user.bot or "",
            "REPLACE": replace,
        }
        async with house(state, env, time) as gateway:
            name = "slack-socket" if socket else "slack-http"
            driver = Slack(name, play, gateway, shared, people, bots)
            await driver.connect()
            yield driver


def _people(play: Playground) -> dict[str, Person]:
    acme = play.acme
    found = {name: acme.person(name) for name in ("ada", "lead", "second", "stranger")}
    found["guest"] = acme.person("guest", "multi")
    found["partner"] = play.slack.workspace("partners").person("partner")
    return found
