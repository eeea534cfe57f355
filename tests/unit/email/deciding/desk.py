"""An agent that asks to write notes, its office, and a browser for the links in letters."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import cast

import aiohttp

from channels.email.deciding.links import Link, Links
from channels.email.emulator.server import MailServer
from channels.protocol import ChannelContext
from gateway.approvals.authorise import decide_as
from gateway.engine.kinds import Json, Speaker
from gateway.engine.records import RequestSummary
from gateway.host.app import make_app
from tests.support.http import on_socket
from tests.support.mail.office import (
    LEAD,
    Office,
    office,
    question,
)

PUBLIC = "https://june.shop.example"
OURS = {"Origin": PUBLIC}
FILES = {
    "agent.py": """
        from gateway import Agent

        async def authorize_answer(*, policy, scope, by, principal, request, speaker, services):
            if by.startswith("api:"):
                return True
            assert principal.level == "none"
            return by == "email:lead@shop.example" and "secret" not in str(request.arguments)

        agent = Agent(
            name="june",
            model="claude-sonnet-5-5",
            approvals={
                "notes": "email:lead@shop.example",
                "others": "email:lead@shop.example",
            },
            authorize_answer=authorize_answer,
        )
    """,
    "instructions.md": "You help.\n",
    "channels/email.py": """
        from channels.email import email_channel

        def channel(env):
            return email_channel(env, name="June", links=("notes",))
    """,
    "tools/note.py": '''
        from gateway import ToolContext, tool

        @tool(effect="write")
        async def note(ctx: ToolContext, words: str, policy: str = "notes") -> dict[str, object]:
            """Write a note once somebody agrees."""
            told = await ctx.request_input(
                id="note", prompt=f"Write {words}?", schema=bool, answerers={"policy": policy}
            )
            return {"noted": told}
    ''',
    "tools/pay.py": '''
        from gateway import ToolContext, tool

        @tool(effect="money", key=("order",), answerers={"policy": "notes"})
        async def pay(ctx: ToolContext, order: str) -> dict[str, object]:
            """Pay."""
            told = await ctx.request_input(
                id="pay", prompt="Pay?", schema=bool, answerers={"policy": "notes"}
            )
            return {"paid": told}
    ''',
    "tools/claim.py": '''
        from gateway import ToolContext, tool

        @tool(effect="write")
        async def claim(ctx: ToolContext, who: str = "") -> dict[str, object]:
            """Ask one person, or whoever speaks."""
            answerers = {"user": who} if who else None
            return {"told": await ctx.request_input(
                id="claim", prompt="Yes?", schema=bool, answerers=answerers
            )}
    ''',
    "offline.py": """
        import json
        import re

        from gateway import ModelReply, ModelRequest
        from gateway.intake.envelope import unwrapped

        def reply(request: ModelRequest) -> ModelReply:
            if results := request.turn[-1].results:
                return ModelReply.say(f"It came to: {results[-1].output}")
            found = re.search(r"call (\\w+) (\\{.*\\})", unwrapped(request.text))
            if found is None:
                return ModelReply.say("Hello.")
            return ModelReply.call(found[1], **json.loads(found[2]))
    """,
}


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def nonce(self) -> str:
        found = re.search(r'name="nonce" value="([^"]+)"', self.text)
        assert found, self.text
        return html.unescape(found[1])


@dataclass(frozen=True, slots=True)
class Desk:
    """The office, and a browser."""

    office: Office
    url: str
    http: aiohttp.ClientSession

    @property
    def context(self) -> ChannelContext:
        """What the channel is handed."""
        found = self.office.channel._ctx  # pyright: ignore[reportPrivateUsage]
        assert found is not None
        return found

    async def ask(self, method: str, link: str, **more: object) -> Page:
        assert link.startswith(f"{PUBLIC}/channels/email/decide/")
        path = link.removeprefix(PUBLIC)
        async with self.http.request(
            method,
            f"{self.url}{path}",
            allow_redirects=False,
            **more,  # type: ignore[arg-type]
        ) as told:
            return Page(told.status, told.headers, await told.text())

    async def get(self, link: str) -> Page:
        return await self.ask("GET", link)

    async def answer(
        self,
        link: str,
        nonce: str,
        answer: int = 0,
        reason: str = "",
        headers: Mapping[str, str] = OURS,
    ) -> Page:
        form = {"nonce": nonce, "answer": str(answer), "reason": reason}
        return await self.ask("POST", link, data=form, headers=headers)

    async def asked(self, call: str, **more: str) -> RequestSummary:
        """A customer writes what makes the agent ask."""
        await self.office.write(question(call), **more)
        found: list[RequestSummary] = []

        async def there() -> bool:
            found[:] = await self.office.host.runtime.store.list_requests(limit=5)
            return bool(found)

        await self.office.until(there)
        return found[0]

    async def link(self, number: int = 1) -> str:
        return link_in(await self.office.letter(number, LEAD))

    async def made(self, request: RequestSummary, digest: str = "") -> str:
        """A link that no letter would hold."""
        row = request.request
        link = Link(
            turn_id=row.turn_id,
            request=row.id,
            digest=digest or row.digest,
            address=LEAD,
            who="somebody",
        )
        now = self.office.host.runtime.clock.now()
        return f"{PUBLIC}/channels/email/decide/{await Links(self.office.ledger).make(link, now, None)}"

    async def decide(self, found: RequestSummary, value: Json) -> None:
        """Somebody is faster, by the API."""
        session = self.office.host.runtime.session(found.ref.agent, found.ref.key)
        by = Speaker("api:ops", level="provider")
        await decide_as(session, found, value, by=by.id, principal=by, reason=None, digest=None)

    async def outcome(self, found: RequestSummary) -> str | None:
        row = await self.office.host.runtime.store.find_request(found.request.id)
        assert row is not None
        return row.request.outcome


def text_of(letter: Message) -> str:
    found = next(part for part in letter.walk() if part.get_content_type() == "text/plain")
    return cast("bytes", found.get_payload(decode=True)).decode().replace(" \r\n", " ")


def link_in(letter: Message) -> str:
    found = re.search(rf"{PUBLIC}/channels/email/decide/[\w-]+", text_of(letter))
    assert found, text_of(letter)
    return found[0]


@asynccontextmanager
async def desk_at(state: Path, agent: Path, post: MailServer) -> AsyncGenerator[Desk]:
    more = {"GATEWAY_AGENT": str(agent), "GATEWAY_PUBLIC_URL": PUBLIC}
    async with (
        office(state, post, **more) as here,
        on_socket(make_app(here.host.api)) as url,
        aiohttp.ClientSession() as http,
    ):
        yield Desk(here, url, http)
