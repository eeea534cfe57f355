"""The HTTP API: programs that start turns, follow them and answer their requests.

A person here is whoever holds a token; what they see is what a client of theirs would show.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import aiohttp
import pytest

from gateway.engine.kinds import JsonObject
from gateway.engine.steps.tasks import Tasks
from gateway.host.problems import PROBLEM
from gateway.testing.time import ScaledTime
from tests.conformance.channels.driver import (
    Judged,
    Line,
    NotThere,
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
from tests.support.http import Answer

WORDS = Words(
    stopped="cancelled: requested",
    superseded="cancelled: replaced",
    failed="failed:",
    expired="expired",
    denied="denied",
    needless="cancelled",
    one_of_two="1 of 2",
    behind="",
)
REPLACE = {"": "0", "speaker": "speaker", "thread": "1"}
NOT_RECEIVED = 0.4
"""Seconds that a program waits for an answer while none can come."""
OFFERED = ("Approve", "Deny")


@dataclass(frozen=True, slots=True)
class ApiPost:
    who: str
    text: str
    session: str
    turn_id: str

    @property
    def path(self) -> str:
        return f"/agents/june/sessions/{self.session}"

    @property
    def body(self) -> JsonObject:
        return {"message": self.text, "turn_id": self.turn_id}


def _of(post: Post) -> ApiPost:
    assert isinstance(post, ApiPost)
    return post


@dataclass(slots=True)
class Api:
    house: House
    replace: Replace
    tasks: Tasks
    name: str = "api"
    words: Words = WORDS
    replaces: bool = True
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _posts: list[ApiPost] = field(default_factory=list[ApiPost])
    _read: dict[str, str] = field(default_factory=dict[str, str])
    """What was read off a turn's stream, by turn."""
    _requests: dict[str, str] = field(default_factory=dict[str, str])
    _told: dict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))

    # -- what people do ----------------------------------------------------------------------------
    async def say(
        self,
        who: Who,
        text: str,
        *,
        below: Post | None = None,
        where: Where = "support",
        told: Telling = "",
    ) -> ApiPost:
        number = next(self._numbers)
        session = f"s{number}" if below is None else below.session
        post = ApiPost(who, text, session, f"t{number}")
        match told:
            case "":
                await self._start(post)
            case "message first":
                await self._start(post)
                await self._chat(post)
            case "mention first":
                await self._chat(post)
                await self._start(post)
            case "all at once":
                async with asyncio.TaskGroup() as group:
                    for _ in range(2):
                        group.create_task(self._start(post))
                        group.create_task(self._chat(post))
        self._posts.append(post)
        self.tasks.run(self._follow(post), f"reads {post.turn_id}")
        return post

    async def _start(self, post: ApiPost) -> None:
        path = f"{post.path}/turn?detach=1&replace={REPLACE[self.replace]}"
        _agreed(await self.house.as_(post.who).post(path, post.body))

    async def _chat(self, post: ApiPost) -> None:
        """The other way in to the same turn."""
        body = {**post.body, "session": post.session}
        _agreed(await self.house.as_(post.who).post("/message", body))

    async def _follow(self, post: ApiPost) -> None:
        """Read along, as a program on screen does; a gateway that goes away ends it."""
        with suppress(aiohttp.ClientError):
            path = f"{post.path}/turns/{post.turn_id}/events"
            async with self.house.as_(post.who).stream("GET", path) as stream:
                async for frame in stream.frames():
                    if frame.event == "message.delta":
                        before = self._read.get(post.turn_id, "")
                        self._read[post.turn_id] = before + str(frame.data["text"])

    async def chat(self, who: Who, text: str) -> ApiPost:
        raise NotThere("what a program sends is sent to the agent")

    async def bot_says(self, bot: str, text: str, *, below: Post | None = None) -> ApiPost:
        raise NotThere("everybody here is a program")

    async def agent_first(self, text: str) -> ApiPost:
        return await self.say("lead", text)

    async def edit(self, post: Post, text: str) -> None:
        await self._ask_of(post, "edit", {"message": text})

    async def delete(self, post: Post) -> None:
        await self._ask_of(post, "delete", {})

    async def _ask_of(self, post: Post, verb: str, body: JsonObject) -> None:
        sent = _of(post)
        path = f"{sent.path}/turns/{sent.turn_id}/{verb}"
        _agreed(await self.house.as_(sent.who).post(path, body))

    async def withdraw(self, post: Post) -> None:
        await self.stop("ada", post)

    async def decide(self, who: Who, post: Post, label: str) -> None:
        await self._resume(who, post, {"value": label == "Approve"})

    async def deny(self, who: Who, post: Post, reason: str) -> None:
        await self._resume(who, post, {"value": False, "reason": reason})

    async def _resume(self, who: str, post: Post, given: JsonObject) -> None:
        turn_id = post.turn_id
        await self.seen(post)  # whoever decides has looked
        body = {**given, "turn_id": turn_id, "input_id": self._requests[turn_id]}
        answer = await self.house.as_(who).post(
            f"{_of(post).path}/resume", body, {"Accept": "application/json"}
        )
        self._hear(who, answer)

    def _hear(self, who: str, answer: Answer) -> None:
        """A refusal is told to who asked, and to nobody else."""
        if answer.status >= 400:
            by = answer.json.get("by")
            self._told[who].append(f"{answer.json['detail']}" + (f" by {by}" if by else ""))

    async def press_at_once(self, who: Who, post: Post, label: str, times: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(times):
                group.create_task(self.decide(who, post, label))

    async def decide_elsewhere(self, who: Who, post: Post) -> None:
        """By the request's id alone, as a console does."""
        await self.seen(post)
        request = self._requests[post.turn_id]
        self._hear(who, await self.house.as_(who).post(f"/approvals/{request}", {"value": True}))

    async def stop(self, who: Who, post: Post) -> None:
        path = f"{_of(post).path}/turns/{post.turn_id}/cancel"
        _agreed(await self.house.as_(who).post(path))

    async def reset(self, who: Who, post: Post, by: ResetBy) -> None:
        if by == "shortcut":
            raise NotThere("a program has no menu")
        _agreed(await self.house.as_(who).post(f"{_of(post).path}/reset"))

    # -- what the platform does --------------------------------------------------------------------
    async def tell_again(self, post: Post, times: int = 1) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(times):
                group.create_task(self._start(_of(post)))

    async def say_while_store_is_shut(self, who: Who, text: str) -> ApiPost:
        number = next(self._numbers)
        post = ApiPost(who, text, f"s{number}", f"t{number}")
        received = False
        async with self.house.shut():
            with suppress(TimeoutError):
                async with asyncio.timeout(NOT_RECEIVED):
                    path = f"{post.path}/turn?detach=1"
                    answer = await self.house.as_(who).post(path, post.body)
                    received = answer.status < 500
        assert not received
        await self._start(post)
        self._posts.append(post)
        return post

    async def restart(self) -> None:
        await self.house.restart()
        for post in self._posts:
            self.tasks.run(self._follow(post), f"reads {post.turn_id}")

    # -- what people see ---------------------------------------------------------------------------
    async def begins(self, post: Post) -> None:
        await sees(self, post, "First")

    async def seen(self, post: Post) -> Sequence[Line]:
        found: list[Line] = []
        for one in self._posts:
            if one.session == post.session:
                found += await self._lines(one)
        return found

    async def _lines(self, post: ApiPost) -> list[Line]:
        path = f"{post.path}/turns/{post.turn_id}"
        turn = (await self.house.as_("operator").get(path)).json
        if "turn_id" not in turn:
            return []  # archived with its conversation
        if isinstance(request := turn.get("request"), dict):
            self._requests[post.turn_id] = str(request["id"])
        found = await self._request(post.turn_id)
        said = str(turn["text"]) or self._read.get(post.turn_id, "")
        if said:
            found.append(Line(said))
        error = cast("JsonObject", turn.get("error") or {})
        match turn["state"]:
            case "cancelled":
                found.append(Line(f"cancelled: {error.get('reason')}"))
            case "failed":
                found.append(Line(f"failed: {post.turn_id}"))
            case _:
                pass
        return found

    async def _request(self, turn_id: str) -> list[Line]:
        if turn_id not in self._requests:
            return []
        request = (
            await self.house.as_("operator").get(f"/approvals/{self._requests[turn_id]}")
        ).json
        prompt, outcome = str(request["prompt"]), request["outcome"]
        if outcome is not None:
            return [Line(f"{prompt} {outcome} by {request['by']}")]
        quorum = cast("JsonObject", request["answerers"]).get("quorum", 1)
        return [Line(f"{prompt} {request['votes']} of {quorum}", OFFERED)]

    async def private(self, who: Who) -> Sequence[str]:
        return self._told[who]

    async def pinged(self) -> Sequence[str]:
        return ()

    async def verdicts(self, post: Post) -> Sequence[Judged]:
        found = await self.house.as_("operator").get(f"/verdicts?turn_id={post.turn_id}")
        if not found.rows("verdicts"):
            raise NotThere("the answer to the request is the verdict")
        return [Judged(str(row["verdict"]), str(row["rule"])) for row in found.rows("verdicts")]

    async def unjudged(self) -> Sequence[str]:
        return [one.turn_id for one in self._posts if not await self.verdicts(one)]

    async def found_by(self, reference: str) -> Sequence[str]:
        found = await self.house.as_("operator").get("/turns?limit=500")
        ids = [str(row["turn_id"]) for row in found.rows("turns")]
        return [one for one in ids if one == reference]

    async def rests(self) -> None:
        async def rests() -> bool:
            turns = (await self.house.as_("operator").get("/turns?limit=500")).rows("turns")
            return not any(row["state"] in {"queued", "running"} for row in turns)

        assert await until(rests), "turns go on and on"

    # -- the agent's own ---------------------------------------------------------------------------
    @property
    def known_id(self) -> str:
        return "second"

    @property
    def ran(self) -> Sequence[str]:
        return self.house.ran

    def let_go(self) -> None:
        self.house.gate.set()


def _agreed(answer: Answer) -> None:
    """Raises ``NotThere`` where the API says that it doesn't do this, and fails where something broke."""
    if answer.headers["Content-Type"] != PROBLEM:
        return
    if answer.status in {400, 404, 405} or answer.code == "session_suspended":
        raise NotThere(str(answer.json["detail"]))
    pytest.fail(f"{answer.status}: {answer.raw!r}")


@asynccontextmanager
async def open_api(state: Path, *, replace: Replace) -> AsyncGenerator[Api]:
    tasks = Tasks()
    async with house(state, {"LEADS": "api:lead api:second"}, ScaledTime(SPEED)) as gateway:
        try:
            yield Api(gateway, replace, tasks)
        finally:
            await tasks.close(5.0)
