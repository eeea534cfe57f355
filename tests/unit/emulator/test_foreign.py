"""Bolt and the SDK, which nobody here wrote: a mention, a streamed reply, a button, a modal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from tests.unit.emulator.stage import Play, buttons, playing, serving

REASON: dict[str, Any] = {
    "type": "modal",
    "callback_id": "reason",
    "title": {"type": "plain_text", "text": "Why not?"},
    "submit": {"type": "plain_text", "text": "Deny"},
    "blocks": [
        {
            "type": "input",
            "block_id": "why",
            "label": {"type": "plain_text", "text": "Reason"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        }
    ],
}


@asynccontextmanager
async def bolted(play: Play) -> AsyncIterator[AsyncApp]:
    """A Bolt app behind an address of its own, connected."""
    client = AsyncWebClient(base_url=play.slack.api_url)
    bolt = AsyncApp(
        signing_secret=play.slack.signing_secret,
        client=client,
        authorize=_authorize(play),
    )

    async def handle(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await bolt.async_dispatch(await to_bolt_request(request)))

    @bolt.event("message")
    async def said() -> None:
        pass

    async with serving(handle) as url:
        await play.slack.connect(play.app, url)
        yield bolt


def _authorize(play: Play) -> Any:
    from slack_bolt.authorization import AuthorizeResult

    async def authorize(**_: Any) -> AuthorizeResult:
        token = play.june.token
        who = await AsyncWebClient(token=token, base_url=play.slack.api_url).auth_test()
        return AuthorizeResult.from_auth_test_response(auth_test_response=who, bot_token=token)

    return authorize


async def test_a_mention_a_stream_and_a_click() -> None:
    async with playing() as play, bolted(play) as bolt:
        decided: list[str] = []

        @bolt.event("app_mention")
        async def mentioned(event: dict[str, Any], client: AsyncWebClient) -> None:
            where: dict[str, Any] = {"channel": event["channel"], "thread_ts": event["ts"]}
            await client.agents_sessions_setStatus(
                channel_id=event["channel"], thread_ts=event["ts"], status="processing"
            )
            stream = await client.chat_stream(
                **where,
                recipient_team_id=event["team"],
                recipient_user_id=event["user"],
                task_display_mode="timeline",
                buffer_size=8,
            )
            working = {"type": "task_update", "id": "1", "title": "Looking up order 1042"}
            await stream.append(chunks=[{**working, "status": "in_progress"}])
            await stream.append(markdown_text="Order 1042 is **lost**. ")
            await stream.append(chunks=[{**working, "status": "complete"}])
            await stream.append(markdown_text="Refund it?")
            await stream.stop(blocks=buttons("Approve", "Deny"), session_status="suspended")

        @bolt.action("approve")
        async def approve(ack: Any, body: dict[str, Any], respond: Any) -> None:
            await ack()
            decided.append(f"approved by {body['user']['id']}")
            await respond(text="Approved.", replace_original=True)

        @bolt.action("deny")
        async def deny(ack: Any, body: dict[str, Any], client: AsyncWebClient) -> None:
            await ack()
            await client.views_open(trigger_id=body["trigger_id"], view=REASON)

        @bolt.view("reason")
        async def reason(ack: Any, view: dict[str, Any]) -> None:
            why = view["state"]["values"]["why"]["text"]["value"]
            if len(why) < 3:
                await ack(response_action="errors", errors={"why": "Say a little more."})
                return
            await ack()
            decided.append(why)

        asked = await play.ada.mention(play.support, "@june where is order 1042?")
        await play.slack.until(lambda: play.slack.journal.count("chat.stopStream") == 1)
        _, answer = play.slack.thread(play.support, asked)
        assert answer.text == (
            "[complete] Looking up order 1042\nOrder 1042 is **lost**. Refund it?\n[Approve]\n[Deny]"
        )
        session = play.slack.world.sessions[play.app.id, play.support.id, asked.ts]
        assert session.status == "suspended"
        await play.ada.click(answer, "Deny")
        await play.slack.until(lambda: play.ada.modal(play.app) is not None)
        await play.ada.submit(play.app, {"Reason": "no"})
        modal = play.ada.modal(play.app)
        assert modal is not None
        assert modal.errors == {"why": "Say a little more."}
        await play.ada.submit(play.app, {"Reason": "it was found"})
        await play.ada.click(answer, "Approve")
        await play.slack.until(lambda: len(decided) == 2)
        assert decided == ["it was found", f"approved by {play.ada.id}"]
        await play.slack.until(
            lambda: play.slack.thread(play.support, asked)[1].text == "Approved."
        )
        await play.slack.settled()
        assert all(sent.acked for sent in play.slack.journal.deliveries)
        journal = play.slack.journal
        assert (journal.pinged, journal.trouble, journal.overlaps) == ([], [], [])


async def test_the_sdk_pages_through_everything() -> None:
    async with playing() as play:
        for n in range(25):
            await play.ada.say(play.support, str(n))
        seen: list[str] = []
        async for page in await play.web.conversations_history(channel=play.support.id, limit=10):
            seen += [message["text"] for message in page["messages"]]
        assert seen == [str(n) for n in reversed(range(25))]
        assert [call.arguments["limit"] for call in play.slack.journal.calls] == ["10"] * 3
