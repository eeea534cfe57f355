"""Words for one person: in the right place, at most once, and nobody is pinged by them."""

from __future__ import annotations

import pytest
from aiohttp import web

from channels.slack.emulator.events import interactivity as make
from channels.slack.reads.replying import say
from gateway.engine.kinds import JsonObject
from gateway.testing.slack import Fault, Message
from tests.unit.emulator.stage import serving
from tests.unit.slack.reads.desk import Desk

TRICKY = "<!channel> <@U1> *no* `code` https://a.example @here & <b>"


async def root(desk: Desk) -> Message:
    return await desk.play.ada.say(desk.play.support, "hello")


def reply(desk: Desk, message: Message, **more: str) -> JsonObject:
    return {
        "source": "slack",
        "installation": desk.stand.key,
        "channel": message.channel,
        "user": desk.play.ada.id,
        "thread_ts": message.ts,
        **more,
    }


def response_url(desk: Desk, message: Message) -> str:
    world, play = desk.play.slack.world, desk.play
    return make.response_url(world, play.slack.app(), play.ada.user, play.support, message)


async def told(desk: Desk, given: JsonObject, words: str = "Not you.") -> None:
    api_url = desk.play.slack.api_url
    await say(desk.api, given, words, api_url=api_url, waits=desk.ground.waits)


def private(desk: Desk) -> list[str]:
    return [shown.text for shown in desk.play.slack.private(desk.play.ada)]


async def test_words_go_by_the_address_of_the_click(desk: Desk) -> None:
    message = await root(desk)
    await told(desk, reply(desk, message, response_url=response_url(desk, message)))
    assert private(desk) == ["Not you."]
    assert desk.stand.calls("chat.postEphemeral") == 0
    assert [m.text for m in desk.play.slack.thread(desk.play.support, message)] == ["hello"]
    (whispered,) = desk.play.slack.world.ephemerals
    assert whispered.thread == message.ts


async def test_without_an_address_only_they_see_it_in_the_thread(desk: Desk) -> None:
    message = await root(desk)
    await told(desk, reply(desk, message))
    assert private(desk) == ["Not you."]
    assert desk.stand.calls("chat.postEphemeral") == 1
    (whispered,) = desk.play.slack.world.ephemerals
    assert whispered.thread == message.ts


async def test_a_sixth_answer_finds_another_way(desk: Desk) -> None:
    message = await root(desk)
    given = reply(desk, message, response_url=response_url(desk, message))
    for n in range(6):
        await told(desk, given, f"word {n}")
    assert private(desk) == [f"word {n}" for n in range(6)]
    assert desk.stand.calls("chat.postEphemeral") == 1


async def test_after_half_an_hour_it_finds_another_way(desk: Desk) -> None:
    message = await root(desk)
    given = reply(desk, message, response_url=response_url(desk, message))
    desk.ground.time.ahead(1801)
    await told(desk, given)
    assert private(desk) == ["Not you."]
    assert desk.stand.calls("chat.postEphemeral") == 1


async def test_in_a_direct_message_it_is_plainly_said(desk: Desk) -> None:
    play = desk.play
    direct = play.acme.direct(play.ada, play.june)
    message = await play.ada.say(direct, "hello")
    await told(desk, reply(desk, message))
    said = play.slack.thread(direct, message)
    assert [one.text for one in said] == ["hello", "Not you."]


async def test_who_sent_a_form_is_told_in_their_direct_message(desk: Desk) -> None:
    play = desk.play
    given: JsonObject = {"installation": desk.stand.key, "user": play.ada.id, "view_id": "V1"}
    await told(desk, given)
    direct = play.acme.direct(play.ada, play.june)
    assert [one.text for one in play.slack.shown(direct)] == ["Not you."]


async def test_words_stay_words(desk: Desk) -> None:
    message = await root(desk)
    await told(desk, reply(desk, message, response_url=response_url(desk, message)), TRICKY)
    await told(desk, reply(desk, message), TRICKY)
    direct = desk.play.acme.direct(desk.play.ada, desk.play.june)
    await told(desk, reply(desk, await desk.play.ada.say(direct, "hi")), TRICKY)
    assert private(desk) == [TRICKY, TRICKY]
    assert desk.play.slack.shown(direct)[-1].text == TRICKY
    loud = [ping for ping in desk.play.slack.pinged if ping.kind != "user"]
    assert loud == []
    assert desk.play.slack.journal.unfurled == []


@pytest.mark.parametrize("status", [500, 503])
async def test_what_may_have_been_said_is_not_said_again(desk: Desk, status: int) -> None:
    message = await root(desk)
    desk.play.slack.world.response_urls.clear()
    asked: list[str] = []

    async def odd(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=status)

    async with serving(odd) as url:
        api_url = url.removesuffix("slack") + "api/"
        given = reply(desk, message, response_url=url)
        await say(desk.api, given, "Not you.", api_url=api_url, waits=desk.ground.waits)
    assert asked == ["/slack"]
    assert private(desk) == []


async def test_a_foreign_address_is_never_called(desk: Desk) -> None:
    message = await root(desk)
    asked: list[str] = []

    async def thief(request: web.Request) -> web.Response:
        asked.append(await request.text())
        return web.Response()

    async with serving(thief) as url:
        await told(desk, reply(desk, message, response_url=url))
    assert asked == []
    assert private(desk) == ["Not you."]


@pytest.mark.parametrize("kind", ["rate_limited", "not_in_channel", "drop_after", "http_500"])
async def test_what_cannot_be_told_is_nobodys_error(desk: Desk, kind: str) -> None:
    message = await root(desk)
    desk.play.slack.faults.add(Fault(kind, "chat.postEphemeral", count=None))  # type: ignore[arg-type]
    await told(desk, reply(desk, message))
    assert desk.stand.calls("chat.postEphemeral") == 1, "and it isn't tried again"


@pytest.mark.parametrize("given", [{}, {"channel": "C1"}, {"installation": "T404", "user": "U1"}])
async def test_a_reply_that_leads_nowhere_is_nothing(desk: Desk, given: JsonObject) -> None:
    await told(desk, given)
    assert private(desk) == []
