"""What nobody asked for is shown once it rests, and not at all when it has nothing to report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.kinds import SessionRef
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.records import NEW_TURN
from gateway.models.scripted import ScriptedModel
from gateway.schedules.quiet import NAME, kept_quiet
from gateway.schedules.tool import TOOL
from tests.unit.outbox.kit import Desk, agent, desk, opened, until
from tests.unit.outbox.platform import SOURCE

SESSION = "cron:digest:monday"


def reply(request: ModelRequest) -> ModelReply:
    said = request.text
    offered = NAME in {tool.name for tool in request.tools}
    if len(request.turn) > 1:
        return ModelReply.say("all is calm")
    match said.split():
        case ["quiet", *why]:
            return ModelReply.call(NAME, reason=" ".join(why))
        case ["hold" | "approve" as name]:
            return ModelReply.call(name, name=said)
        case _:
            return ModelReply.say(f"re: {said}, {'offered' if offered else 'not offered'}")


def furnish(made: Desk) -> None:
    given = agent(made.gates)
    tools = {**given.tools, NAME: TOOL}
    made.runtime.agents = {"june": replace(given, model=ScriptedModel(reply), tools=tools)}


async def begin(made: Desk, message: str, turn_id: str, *, unasked: bool = True) -> None:
    given = TurnInput(
        message=message,
        turn_id=turn_id,
        source=SOURCE,
        trigger="proactive" if unasked else "inbound",
        by="cron:digest" if unasked else None,
        deliver=True,
        target={"place": "ops"},
        companions=(opened(NEW_TURN, "reply", "ops", made.hand.now()),),
    )
    await made.runtime.session("june", SESSION).start(given, when_suspended="queue")
    made.outbox.wake()


async def why(made: Desk, turn_id: str) -> str | None:
    ref = SessionRef("june", SESSION)
    record = await made.runtime.store.turn(ref, turn_id)
    assert record is not None
    return await kept_quiet(made.runtime.store, ref, record)


async def test_nothing_to_report_posts_nothing_and_says_why(store: SessionStore) -> None:
    async with desk(store) as made:
        furnish(made)
        await begin(made, "quiet no order is late", "t1")
        row = await made.until("t1", "silent")
        assert (made.platform.posts, row.parts, row.shown) == ([], (), row.wanted)
        assert await why(made, "t1") == "no order is late"
        await made.mark("t1")  # whatever makes it look again finds the same
        await made.until("t1", "silent")
        assert made.platform.posts == []


async def test_a_report_is_posted_whole_once_it_is_there(store: SessionStore) -> None:
    async with desk(store) as made:
        furnish(made)
        await begin(made, "hold", "t1")
        await until(lambda: "hold" in made.gates.begun)
        await made.until("t1", "resting")
        assert made.channel.seen == []
        made.gates.gate("hold").set()
        await made.until("t1", "done")
        assert made.platform.at("ops") == ["all is calm"]
        assert await why(made, "t1") is None


async def test_one_that_waits_for_a_person_is_shown_at_once(memory: SessionStore) -> None:
    async with desk(memory) as made:
        furnish(made)
        await begin(made, "approve", "t1")
        await until(lambda: bool(made.channel.seen))
        session = made.runtime.session("june", SESSION)
        asked = (await session.snapshot("t1")).request
        assert asked is not None
        made.gates.gate("approve").set()
        await session.resume("t1", asked.id, True, by="cli:ada")
        await made.until("t1", "done")
        [answer] = [one for one in made.platform.posts if "/reply/" in one.nonce]  # beside the card
        assert answer.text == "all is calm"


async def test_only_turns_that_nobody_asked_for_are_offered_it(memory: SessionStore) -> None:
    async with desk(memory) as made:
        furnish(made)
        await begin(made, "news", "t1")
        await begin(made, "news", "t2", unasked=False)
        await made.until("t1", "done")
        await made.until("t2", "done")
        assert made.platform.at("ops") == ["re: news, offered", "re: news, not offered"]


async def test_a_turn_that_somebody_asked_for_is_answered_even_if_it_calls_it(
    memory: SessionStore,
) -> None:
    async with desk(memory) as made:
        furnish(made)
        await begin(made, "quiet I would rather not", "t1", unasked=False)
        await made.until("t1", "done")
        assert made.platform.at("ops") == ["all is calm"]
        assert await why(made, "t1") is None


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_reason_is_given(reason: str) -> None:
    with pytest.raises(ValueError, match="say why"):
        TOOL.run(reason=reason)
