"""A card is read off what the store keeps: who decided, and what became of the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from channels.protocol import Card
from gateway.approvals.authorise import decide_as
from gateway.approvals.card import card_of
from gateway.approvals.reading import read_card
from gateway.engine.agent import AgentDef, AskedRequest
from gateway.engine.decisions.position import call_step
from gateway.engine.errors import (
    AlreadyAnsweredError,
    AuthorizeHookError,
    FatalToolError,
    InvalidInputError,
    ResumeAuthorizationError,
    StaleAnswerError,
)
from gateway.engine.kinds import Json, JsonObject, Level, Millis, Speaker, TurnState
from gateway.engine.messages import ToolResult
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import Answered, PendingInput, TurnInput, TurnResult
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.steps.context import ToolContext
from gateway.engine.struct import replace
from gateway.engine.tool import tool
from gateway.engine.wire import dumps
from gateway.intake.envelope import wrap
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores import open_store

LEAD, OTHER = "slack:T1:LEAD", "slack:T1:OTHER"


@dataclass
class Desk:
    prompt: str = "Refund?"
    quorum: int = 1
    expires: timedelta | None = None
    twice: bool = False
    error: Exception | None = None
    hook_fails: bool = False
    asked: list[str] = field(default_factory=list[str])
    running: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)


@tool(effect="external", timeout=20.0)
async def refund(ctx: ToolContext, order: str) -> str:
    """Refund an order once the leads say so."""
    desk: Desk = ctx.services
    answerers = {"policy": "refunds", "quorum": desk.quorum}
    approved = await ctx.request_input(
        id="approve", prompt=desk.prompt, answerers=answerers, expires_in=desk.expires
    )
    if desk.twice:
        await ctx.request_input(id="sure", prompt="Sure?", answerers={"policy": "refunds"})
    desk.running.set()
    await desk.gate.wait()
    if desk.error is not None:
        raise desk.error
    return f"{order}: {approved}"


@dataclass
class World:
    runtime: Runtime
    desk: Desk

    @property
    def session(self) -> Session:
        return self.runtime.session("june", "s1")

    async def park(self, calls: int = 1) -> PendingInput:
        await self.session.start(TurnInput(message=f"refund {calls}", turn_id="t1"))
        return _request(await self.session.result("t1"))

    async def card(self, request: PendingInput) -> Card:
        card = await read_card(self.runtime.store, request.id)
        assert card is not None
        return card

    async def decide(
        self,
        request: PendingInput,
        value: Json,
        by: str | None = LEAD,
        *,
        digest: str | None = None,
    ) -> Answered:
        summary = await self.runtime.store.find_request(request.id)
        assert summary is not None
        principal = None if by is None else Speaker(id=by, level="provider")
        return await decide_as(
            self.session,
            summary,
            value,
            by=by,
            principal=principal,
            reason="as agreed",
            digest=digest,
        )


def _request(result: TurnResult) -> PendingInput:
    assert result.request is not None, result
    return result.request


def _reply(request: ModelRequest) -> ModelReply:
    if len(request.turn) > 1:
        return ModelReply.say("done")
    return ModelReply.call("refund", order="1042")


@asynccontextmanager
async def world(url: str = "memory://") -> AsyncGenerator[World, None]:
    desk = Desk()

    async def authorize(
        *,
        policy: str,
        scope: str | None,
        by: str,
        principal: Speaker | None,
        request: AskedRequest,
        speaker: Speaker | None,
        services: object,
    ) -> bool:
        del policy, scope, request, speaker, services
        desk.asked.append(by)
        if desk.hook_fails:
            raise RuntimeError("the directory is down")
        return principal is not None and principal.id in {LEAD, OTHER}

    agent = AgentDef(
        name="june",
        model=ScriptedModel(_reply),
        tools={"refund": refund},
        services=desk,
        authorize_answer=authorize,
    )
    store = await asyncio.to_thread(open_store, url)
    await store.open()
    try:
        async with Runtime({"june": agent}, store, LocalSink()) as runtime:
            yield World(runtime, desk)
            desk.gate.set()
    finally:
        await store.close()


# -- who asked ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("level", "known"),
    [
        ("none", "Nobody vouches for it that ada@cust.example wrote this."),
        ("domain", "cust.example vouches for the message, and not for the person who wrote it."),
        ("sender", "cust.example vouches for the person who wrote this."),
    ],
)
async def test_who_asked_is_told_where_the_channel_says_how_well_it_knows_them(
    level: Level, known: str
) -> None:
    async with world() as w:
        ada = Speaker(id="email:ada@cust.example", name="Ada", tenant="cust.example", level=level)
        words = f"Refund it.\n{'x' * 3_000}"
        given = TurnInput(
            message=wrap(words, turn_id="t1", speaker=ada),
            turn_id="t1",
            source="email",
            speaker=ada,
            trust="attested",  # else the tool isn't reached at all
            event={"attestation": {"reasons": [["word", "A reason."], ["torn"], 7]}},
        )
        await w.session.start(given)
        asked = (await w.card(_request(await w.session.result("t1")))).asked
        assert asked is not None
        assert (asked.source, asked.speaker, asked.name) == ("email", ada.id, "Ada")
        assert (asked.level, asked.known, asked.reasons) == (level, known, ("A reason.",))
        assert asked.words == words[:2_000]
        assert len(asked.words) + asked.hidden == len(words)


async def test_who_asked_where_everybody_sees_it_is_not_repeated() -> None:
    async with world() as w:
        assert (await w.card(await w.park())).asked is None


# -- the card --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_request_from_park_to_done(store: str, tmp_path: Path) -> None:
    async with world("memory://" if store == "memory" else f"sqlite:///{tmp_path}/june.db") as w:
        request = await w.park()
        card = await w.card(request)
        assert (card.tool, card.name, card.prompt) == ("refund", "approve", "Refund?")
        assert (card.arguments, card.schema) == ({"order": "1042"}, {"type": "boolean"})
        assert (card.digest, card.answerers) == (request.digest, {"policy": "refunds"})
        assert (card.outcome, card.decided, card.call) == (None, None, "waits")
        await w.decide(request, True)
        await w.desk.running.wait()
        card = await w.card(request)
        assert card.decided is not None
        assert (card.decided.by, card.decided.value, card.decided.reason) == (
            LEAD,
            True,
            "as agreed",
        )
        assert (card.outcome, card.call) == ("approved", "runs")
        w.desk.gate.set()
        await w.session.result("t1")
        assert (await w.card(request)).call == "done"


@pytest.mark.parametrize("error", [RuntimeError("closed"), FatalToolError("closed")])
async def test_a_call_that_failed(error: Exception) -> None:
    async with world() as w:
        request = await w.park()
        w.desk.error = error
        w.desk.gate.set()
        await w.decide(request, True)
        await w.session.result("t1")
        assert (await w.card(request)).call == "failed"


async def test_denied() -> None:
    async with world() as w:
        request = await w.park()
        w.desk.gate.set()
        await w.decide(request, False)
        await w.session.result("t1")
        card = await w.card(request)
        assert (card.outcome, card.call) == ("denied", "done")


@pytest.mark.parametrize("how", ["cancel", "reset"])
async def test_ended_before_anybody_decided(how: str) -> None:
    async with world() as w:
        request = await w.park()
        if how == "cancel":
            await w.session.cancel("t1")
        else:
            await w.session.reset()
        card = await w.card(request)
        assert (card.outcome, card.call) == ("cancelled", "dropped")
        assert card.why_dropped == ("requested" if how == "cancel" else "reset")
        assert card.decided is not None
        assert card.decided.by == ""


async def test_stopped_in_the_middle_what_had_begun_is_done() -> None:
    async with world() as w:
        request = await w.park()
        await w.decide(request, True)
        await w.desk.running.wait()
        await w.session.cancel("t1")
        w.desk.gate.set()
        assert (await w.session.result("t1")).status == "cancelled"
        card = await w.card(request)
        assert (card.outcome, card.call, card.why_dropped) == ("approved", "done", "requested")


@pytest.mark.parametrize(
    ("output", "state", "step", "call"),
    [
        ({"cancelled": True}, "cancelled", None, "dropped"),
        ({"error": "not run: the turn ran out of time"}, "timed_out", None, "dropped"),
        ({"error": "outcome unknown", "idempotency_key": "k"}, "failed", None, "failed"),
        ({"error": "closed"}, "failed", "tool:", "failed"),
        ({"error": "not run: the turn failed"}, "failed", "tool:0:another", "dropped"),
        ({"error": "closed"}, "running", None, "failed"),
    ],
)
async def test_what_the_end_of_the_turn_made_of_the_call(
    output: JsonObject, state: TurnState, step: str | None, call: str
) -> None:
    """Decided, but its turn ended: whether it may have had its effect."""
    async with world() as w:
        pending = await w.park()
        store = w.runtime.store
        found = await store.find_request(pending.id)
        turn = await store.turn(w.session.ref, "t1")
        assert found is not None
        assert turn is not None
        request = replace(found.request, outcome="approved", by=LEAD, decided_at=Millis(1))
        own = call_step(request.position, request.call_id)
        error: JsonObject = {"step": own if step == "tool:" else step}
        turn = replace(turn, state=state, error=dumps(error))
        result = ToolResult(request.call_id, "refund", output, is_error="error" in output)
        assert card_of(request, turn, (), result).call == call
        await w.session.cancel("t1")


async def test_expired() -> None:
    async with world() as w:
        w.desk.expires = timedelta(milliseconds=50)
        request = await w.park()
        w.desk.gate.set()
        while (await w.card(request)).outcome is None:
            await asyncio.sleep(0.02)
        await w.session.result("t1")
        card = await w.card(request)
        assert (card.outcome, card.call) == ("expired", "failed")
        assert card.expires_at == request.expires_at


async def test_approved_it_may_wait_for_another_decision() -> None:
    async with world() as w:
        w.desk.twice = True
        request = await w.park()
        await w.decide(request, True)
        second = _request(await w.session.result("t1"))
        assert second.id != request.id
        card = await w.card(request)
        assert (card.outcome, card.call) == ("approved", "waits")


async def test_a_request_that_was_replaced_is_gone() -> None:
    async with world() as w:
        request = await w.park()
        w.desk.prompt = "Refund twice as much?"
        await w.decide(request, True)
        assert _request(await w.session.result("t1")).id != request.id
        assert await read_card(w.runtime.store, request.id) is None
        assert await read_card(w.runtime.store, "req_unknown") is None


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_votes_are_those_that_count_together(store: str, tmp_path: Path) -> None:
    async with world("memory://" if store == "memory" else f"sqlite:///{tmp_path}/june.db") as w:
        w.desk.quorum = 2
        request = await w.park()
        answered = await w.decide(request, True)
        assert (answered.decided, answered.votes) == (False, 1)
        await w.decide(request, True)  # again: still one person
        card = await w.card(request)
        assert (card.quorum, [vote.by for vote in card.votes]) == (2, [LEAD])
        w.desk.gate.set()
        assert (await w.decide(request, True, OTHER)).decided
        card = await w.card(request)
        assert (card.outcome, [vote.by for vote in card.votes]) == ("approved", [LEAD, OTHER])


# -- the one way in ----------------------------------------------------------------------------------------
async def test_a_policy_asks_its_hook() -> None:
    async with world() as w:
        request = await w.park()
        for by in ("slack:T1:STRANGER", None):
            with pytest.raises(ResumeAuthorizationError):
                await w.decide(request, True, by)
        w.desk.hook_fails = True
        with pytest.raises(AuthorizeHookError):
            await w.decide(request, True)
        assert (await w.card(request)).outcome is None
        w.desk.hook_fails = False
        assert (await w.decide(request, True)).outcome == "approved"
        assert w.desk.asked == ["slack:T1:STRANGER", LEAD, LEAD]


async def test_what_is_stale_asks_nobody() -> None:
    async with world() as w:
        request = await w.park()
        with pytest.raises(StaleAnswerError):
            await w.decide(request, True, digest="another")
        with pytest.raises(InvalidInputError):
            await w.decide(request, "yes", digest=request.digest)
        await w.decide(request, True, digest=request.digest)
        asked = len(w.desk.asked)
        with pytest.raises(AlreadyAnsweredError) as late:
            await w.decide(request, True, OTHER)
        assert (late.value.by, late.value.outcome) == (LEAD, "approved")
        assert len(w.desk.asked) == asked
