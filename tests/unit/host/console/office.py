"""The operators' pages on a socket, and people of every role who are signed in."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from gateway.engine.kinds import JsonObject
from gateway.host.console.access.guard import SESSION
from gateway.host.console.access.sessions import Held
from gateway.host.console.access.visitor import Role
from tests.support.http import Client
from tests.unit.host.world import Gateway, running

HTML = {"Accept": "text/html"}


@dataclass(frozen=True, slots=True)
class Shown:
    status: int
    headers: Mapping[str, str]
    raw: str

    @property
    def to(self) -> str:
        return self.headers.get("Location", "")

    @property
    def words(self) -> str:
        """The text as a person reads it."""
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.raw)).split())

    def field(self, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]*)"', self.raw)
        assert found, (name, self.raw)
        return html.unescape(found[1])


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at a browser, signed in."""

    name: str
    token: str
    client: Client

    async def get(self, path: str) -> Shown:
        return await self._ask("GET", path, None)

    async def json(self, path: str) -> JsonObject:
        answer = await self.client.get(path, {"Cookie": f"{SESSION}={self.token}"})
        assert answer.status == 200, answer.raw
        return answer.json

    async def post(self, path: str, form: Mapping[str, str]) -> Shown:
        return await self._ask("POST", path, form)

    async def press(self, page: str, path: str, **form: str) -> Shown:
        """Send a form as the page ``page`` holds it now."""
        csrf = (await self.get(page)).field("csrf")
        return await self.post(path, {"csrf": csrf, **form})

    async def _ask(self, method: str, path: str, form: Mapping[str, str] | None) -> Shown:
        async with self.client.http.request(
            method,
            self.client.url + path,
            data=form,
            headers={**HTML, "Cookie": f"{SESSION}={self.token}"},
            allow_redirects=False,
        ) as response:
            return Shown(response.status, response.headers, await response.text())


@dataclass(frozen=True, slots=True)
class Office:
    gateway: Gateway

    async def person(self, name: str, role: Role = "operator") -> Person:
        access = self.gateway.api.access
        assert access is not None
        made = await access.people.add(name, role)
        token = await access.sessions.begin(Held(name, "password", made.epoch))
        return Person(name, token, self.gateway.client)

    async def say(self, message: str, session: str = "s1") -> JsonObject:
        """One message to the agent; what came of it."""
        answer = await self.gateway.client.post(
            "/message", {"message": message, "session": session}
        )
        return answer.json


@asynccontextmanager
async def office(store: str = "memory://") -> AsyncGenerator[Office, None]:
    async with running(store, console=True) as gateway:
        # Cookies are each person's own business.
        gateway.client.http.cookie_jar.clear()
        yield Office(gateway)


def cookie_of(person: Person) -> aiohttp.typedefs.LooseHeaders:
    return {"Cookie": f"{SESSION}={person.token}"}
