"""The control API: the whole stage for somebody who only has JSON, and a closed door for all others."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from channels.slack.emulator import RealTime
from tests.unit.emulator.stage import Listener, Play, buttons, http, listening, playing


class Remote:
    def __init__(
        self, session: aiohttp.ClientSession, play: Play, secret: str | None = None
    ) -> None:
        self._session = session
        self._url = f"{play.slack.url}/_control"
        self._headers = {"Authorization": f"Bearer {secret or play.slack.control_secret}"}

    async def __call__(self, verb: str, **body: Any) -> dict[str, Any]:
        return (await self.answer("POST", verb, **body))[1]

    async def look(self, verb: str, **query: str) -> dict[str, Any]:
        return (await self.answer("GET", verb, **query))[1]

    async def answer(self, method: str, verb: str, **body: Any) -> tuple[int, dict[str, Any]]:
        sent = {"json": body} if method == "POST" else {"params": body}
        url = f"{self._url}/{verb}"
        async with self._session.request(method, url, headers=self._headers, **sent) as answer:  # type: ignore[arg-type]
            return answer.status, await answer.json()


async def test_a_whole_story_in_json(play: Play, app: Listener) -> None:
    async with http() as session:
        tell = Remote(session, play)
        await tell("workspace", name="globex")
        eve = (await tell("person", workspace="globex", name="eve"))["id"]
        made = await tell("app", name="helper", commands=["/helper"], request_url=app.url)
        bot = await tell("install", workspace="globex", app="helper")
        members = [eve, bot["user_id"]]
        room = (await tell("channel", workspace="globex", name="room", members=members))["id"]
        asked = await tell("say", user=eve, channel=room, text="@helper hello")
        posted = await play.client(bot["token"]).chat_postMessage(
            channel=room, thread_ts=asked["ts"], text="<!here>", blocks=buttons("Go")
        )
        where = {"channel": room, "ts": str(posted["ts"])}
        assert (await tell("click", user=eve, **where, button="Go"))["outcome"] == "acked"
        seen = await tell.look("thread", channel=room, ts=asked["ts"])
        assert [m["author"] for m in seen["messages"]] == ["eve", "helper"]
        assert seen["messages"][1]["buttons"][0]["label"] == "Go"
        assert (await tell("command", user=eve, channel=room, line="/helper hi"))["status"] == 200
        await play.slack.settled()
        assert (await tell.look("pinged"))["pinged"][0]["id"] == "here"
        journal = await tell.look("journal")
    assert [call["method"] for call in journal["calls"]] == ["chat.postMessage"]
    kinds = {sent["type"] for sent in journal["deliveries"]}
    assert kinds == {"message", "app_mention", "block_actions", "/helper"}
    assert made["signing_secret"] not in str(journal)
    assert bot["token"] not in str(journal)


async def test_the_rest_of_what_people_do(play: Play, app: Listener) -> None:
    await play.slack.connect(play.app, app.url)
    async with http() as session:
        tell = Remote(session, play)
        await tell("app", shortcuts=[{"callback_id": "reset", "type": "message"}])
        ada, support = play.ada.id, play.support.id
        files = {"a.txt": "hello"}
        said = await tell("say", user=ada, channel=support, text="one", files=files)
        on = {"user": ada, "channel": support, "ts": said["ts"]}
        await tell("edit", **on, text="two")
        await tell("unfurl", channel=support, ts=said["ts"], attachments=[{"title": "a"}])
        await tell("shortcut", **on, callback_id="reset")
        root, ts = await play.start()
        session_args = {"channel_id": support, "thread_ts": root, "status": "processing"}
        await play.call("agents.sessions.setStatus", **session_args)
        assert (await tell("stop", user=ada, channel=support, ts=root))["stopped"] == [ts]
        home = (await tell("open_home", user=ada))["channel"]
        await tell("fault", kind="not_ok", on="auth.test", error="fatal_error")
        assert await play.refused("auth.test") == "fatal_error"
        await tell("repair")
        await tell("delete", **on)
        before = play.time.now()
        assert (await tell("advance", seconds=60))["now"] == before + 60_000
        assert (await tell("uninstall", workspace="acme"))["uninstalled"] is True
        await play.slack.settled()
    assert home.startswith("D")
    subtypes = {h.event.get("subtype") for h in app.events("message")}
    assert {"file_share", "message_changed", "message_deleted"} <= subtypes


async def test_a_forged_click_takes_the_word_for_it(play: Play, app: Listener) -> None:
    await play.slack.connect(play.app, app.url)
    posted = await play.post("card", blocks=buttons("Go"))
    async with http() as session:
        tell = Remote(session, play)
        on = {"user": play.ada.id, "channel": play.support.id, "ts": posted["ts"]}
        status, told = await tell.answer("POST", "click", **on, button="Other")
        assert (status, "there is Go" in told["error"]) == (409, True)
        await tell("click", **on, forge=True, actions=[{"action_id": "x", "value": "y"}])
    assert app.heard[-1].payload["actions"][0]["value"] == "y"  # type: ignore[index,call-overload]


async def test_modals_by_json(play: Play, app: Listener) -> None:
    from tests.unit.emulator.out.test_interactivity import MODAL

    await play.slack.connect(play.app, app.url)
    posted = await play.post("card", blocks=buttons("Go"))
    async with http() as session:
        tell = Remote(session, play)
        await tell("click", user=play.ada.id, channel=play.support.id, ts=posted["ts"], button="Go")
        trigger = app.heard[-1].payload["trigger_id"]
        await play.call("views.open", trigger_id=trigger, view=MODAL)
        view = (await tell.look("modal", user=play.ada.id))["view"]
        assert view["view"]["callback_id"] == "why"
        await tell("submit", user=play.ada.id, values={"Reason": "a"})
        assert (await tell.look("modal", user=play.ada.id))["view"] is None
        assert (await tell.answer("POST", "close", user=play.ada.id))[0] == 409
        assert (await tell.look("private", user=play.ada.id))["messages"] == []


async def test_the_door(play: Play) -> None:
    async with http() as session:
        for secret in ("wrong", "ä"):
            wrong = Remote(session, play, secret)
            assert (await wrong.answer("GET", "journal"))[0] == 401
        tell = Remote(session, play)
        status, told = await tell.answer("POST", "dance")
        assert (status, "workspace" in told["error"]) == (404, True)
        assert (await tell.answer("POST", "say", user="U404", channel="C", text="a"))[0] == 404
        assert (await tell.answer("POST", "workspace"))[0] == 409
        assert (await tell.answer("POST", "fault", kind="slow", colour="red"))[0] == 409


async def test_a_real_clock_isnt_moved() -> None:
    async with playing(time=RealTime()) as play, listening(), http() as session:
        status, told = await Remote(session, play).answer("POST", "advance", seconds=1)
        assert (status, "real one" in told["error"]) == (409, True)


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
async def test_junk_is_answered_not_raised(play: Play, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {play.slack.control_secret}"}
    url = f"{play.slack.url}/_control/workspace"
    async with http() as session, session.post(url, data=body, headers=headers) as answer:
        assert answer.status == 409
