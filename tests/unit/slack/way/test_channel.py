"""The channel as a whole, in a host, between a person in Slack and a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from channels.protocol import Conversing
from channels.slack import slack_channel
from channels.slack.calls import NotNow, Refused
from channels.slack.channel import SlackChannel
from gateway.engine.agent import AgentDef
from gateway.engine.errors import ConfigError
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.runtime import Runtime
from gateway.engine.struct import replace
from gateway.host.api import Api
from gateway.host.channels.context import Surroundings
from gateway.host.channels.equipping import preparers, with_tools
from gateway.host.channels.registry import Registry
from gateway.host.channels.waking import WakingSink
from gateway.host.channels.ways import Ways
from gateway.host.metrics import Metrics
from gateway.intake.words import UNSURE, outsider
from gateway.models.scripted import ScriptedModel
from gateway.sinks.local import LocalSink
from gateway.stores.memory import MemoryStore
from gateway.testing.slack import Fault, Limits, Playground, Shown, playground
from gateway.testing.time import ScaledTime
from gateway.values import Secret
from tests.support.http import gateway
from tests.unit.slack.payloads import ME, sample
from tests.unit.slack.way.house import answered, choice, form
from tests.unit.slack.way.test_ingress import request, signed

SPEED = 20.0


@dataclass
class Host:
    play: Playground
    channel: SlackChannel
    store: MemoryStore
    ways: Ways

    def thread(self, root: Any) -> list[Shown]:
        return self.play.slack.thread(self.play.support, root)

    async def shows(self, root: Any, *texts: str) -> Shown:
        """The last message of a thread, once it holds these."""

        def there() -> bool:
            last = self.thread(root)[-1].text
            return all(text in last for text in texts)

        await self.play.slack.until(there, 10)
        return self.thread(root)[-1]

    async def card(self) -> Shown:
        """The message with the buttons."""

        def cards() -> list[Shown]:
            return [one for one in self.play.slack.shown(self.play.support) if one.buttons]

        await self.play.slack.until(lambda: bool(cards()), 10)
        return cards()[-1]


@asynccontextmanager
async def hosted(*, socket: bool = False, **options: Any) -> AsyncGenerator[Host, None]:
    """June's gateway with Slack as its only channel."""
    time = ScaledTime(SPEED)
    async with playground(time, limits=Limits(enabled=False)) as play:
        app = play.slack.app()
        app.socket = socket
        play.slack.signed_at = SYSTEM_CLOCK.now
        channel = slack_channel(play.settings, **options)
        async with carried(play, channel, time) as host:
            yield host


@asynccontextmanager
async def carried(
    play: Playground, channel: SlackChannel, time: ScaledTime
) -> AsyncGenerator[Host, None]:
    store, metrics = MemoryStore(), Metrics()
    await store.open()
    channels: dict[str, Any] = {"slack": channel}
    tools = {one.name: one for one in (form, choice)}
    agent = with_tools(AgentDef(name="june", model=ScriptedModel(answered), tools=tools), channels)
    runtime = Runtime(
        {"june": agent}, store, WakingSink(LocalSink()), preparers=preparers(channels)
    )
    registry = Registry(channels=channels)
    ways = Ways(runtime, "june", Surroundings(registry=registry, metrics=metrics, waits=time))
    api = Api(runtime=runtime, agent="june", registry=registry, metrics=metrics)
    async with runtime:
        await ways.start()
        try:
            async with gateway(api) as client:
                await _connected(play, channel, f"{client.url}/channels/slack")
                yield Host(play, channel, store, ways)
        finally:
            await ways.stop()
            await store.close()


async def _connected(play: Playground, channel: SlackChannel, url: str) -> None:
    app = play.slack.app()
    if not app.socket:
        await play.slack.connect(app, url)
        return
    await until(lambda: channel.socket is not None and channel.socket.state == "up")


async def until(good: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not good():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("socket", [False, True])
async def test_a_mention_is_answered_once_in_its_thread(socket: bool) -> None:
    async with hosted(socket=socket) as host:
        root = await host.play.ada.mention(host.play.support, "@june where is order 1042?")
        await host.shows(root, "It is on its way.")
        await host.play.slack.settled()
        assert len(host.thread(root)) == 2
        assert host.play.slack.pinged == []
        assert host.play.slack.journal.trouble == []


async def test_a_file_goes_out_with_the_answer() -> None:
    async with hosted() as host:
        root = await host.play.ada.mention(host.play.support, "@june my orders as a file, please")
        await host.shows(root, "Done: orders.csv")
        world = host.play.slack.world

        def shared() -> list[bytes | None]:
            here = host.play.support.id
            return [
                f.body for f in world.files.values() if f.name == "orders.csv" and here in f.shares
            ]

        await host.play.slack.until(lambda: shared() == [b"1042,sent"], 10)


# -- with one person ---------------------------------------------------------------------------------
@pytest.mark.parametrize("socket", [False, True])
async def test_a_form_is_opened_mended_and_sent(socket: bool) -> None:
    async with hosted(socket=socket) as host:
        ada, app = host.play.ada, host.play.slack.app()
        root = await ada.mention(host.play.support, "@june call form")
        card = await host.card()
        await ada.click(card, "Answer")
        await host.play.slack.until(lambda: ada.modal(app) is not None, 10)
        await ada.submit(app, {"amount": "a lot", "note": "broken"})
        modal = ada.modal(app)
        assert modal is not None
        assert modal.errors
        assert list(modal.errors) == ["june.in.0"]
        await ada.submit(app, {"amount": "12.5", "note": "broken"})
        assert ada.modal(app) is None
        await host.shows(root, "Done:", "12.5", "broken")


async def test_one_of_two_words_is_picked() -> None:
    async with hosted() as host:
        root = await host.play.ada.mention(host.play.support, "@june call choice")
        await host.play.ada.click(await host.card(), "reorder")
        await host.shows(root, "Done: reorder")


async def test_a_guest_does_not_decide_what_they_asked_for_themselves() -> None:
    """What a guest writes comes without a mark; Slack says it when it is asked."""
    async with hosted() as host:
        play = host.play
        gus = play.acme.person("gus", "single")
        play.acme.invite(play.support, [gus])
        await gus.mention(play.support, "@june call choice")
        card = await host.card()
        await gus.click(card, "reorder")
        await play.slack.until(lambda: bool(play.slack.private(gus)), 10)
        (told,) = play.slack.private(gus)
        assert told.text == outsider(None)
        assert (await host.card()).buttons


async def test_who_cannot_be_looked_up_decides_once_they_can_be() -> None:
    async with hosted() as host:
        ada, slack = host.play.ada, host.play.slack
        root = await ada.mention(host.play.support, "@june call choice")
        card = await host.card()
        slack.faults.add(Fault("missing_scope", "users.info", count=None))
        await ada.click(card, "reorder")
        await slack.until(lambda: bool(slack.private(ada)), 10)
        assert [one.text for one in slack.private(ada)] == [UNSURE]
        slack.faults.repair()
        await ada.click(card, "reorder")
        await host.shows(root, "Done: reorder")


async def test_a_command_that_asks_for_nothing_is_told_how() -> None:
    async with hosted() as host:
        host.play.slack.app().commands["/june"] = ""
        reply = await host.play.ada.command(host.play.support, "/june help")
        assert (reply.status, reply.text) == (200, "")
        await host.play.slack.until(lambda: bool(host.play.slack.private(host.play.ada)), 10)
        (told,) = host.play.slack.private(host.play.ada)
        assert "reset" in told.text


async def test_who_opens_the_agent_for_the_first_time_is_offered_something_to_ask() -> None:
    async with hosted() as host:
        home = await host.play.ada.open_home(host.play.slack.app())
        await host.play.slack.until(lambda: home.id in host.play.slack.world.prompts, 10)
        await host.play.ada.open_home(host.play.slack.app())
        await host.play.slack.settled()
        assert len(host.play.slack.journal.of("assistant.threads.setSuggestedPrompts")) == 1


async def test_words_and_answerers_are_its_platforms() -> None:
    channel: Conversing = slack_channel(
        {"SLACK_BOT_TOKEN": "xoxb-1"}, policy_words={"refunds": "@support-leads"}
    )
    assert channel.deciders({"policy": "refunds"}) == "@support-leads"
    assert [(route.method, route.path) for route in channel.routes()] == [
        ("POST", ""),
        ("GET", "/install"),
        ("GET", "/oauth/callback"),
    ]


# -- what is away --------------------------------------------------------------------------------------
async def test_what_comes_while_slack_doesnt_answer_us_is_kept_and_answered_later() -> None:
    time = ScaledTime(SPEED)
    async with playground(time, limits=Limits(enabled=False)) as play:
        play.slack.signed_at = SYSTEM_CLOCK.now
        play.slack.faults.add(Fault("http_503_html", "*", count=None))
        async with carried(play, slack_channel(play.settings), time) as host:
            root = await play.ada.mention(play.support, "@june where is order 1042?")
            await play.slack.settled()
            assert len(await host.store.list_turns()) == 1
            assert host.channel.problem
            play.slack.faults.repair()
            await host.shows(root, "It is on its way.")
            await until(lambda: host.channel.problem is None)


async def test_the_app_is_removed_and_says_so() -> None:
    async with hosted() as host:
        await until(lambda: host.channel.problem is None)
        host.play.slack.uninstall(host.play.june)
        await until(lambda: "install" in (host.channel.problem or ""))


async def test_what_another_workspace_sends_has_a_verdict_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with hosted() as host:
        await until(lambda: host.channel.problem is None)
        now, body = SYSTEM_CLOCK.now(), json.dumps(sample("event.app_mention")).encode()
        secret = Secret(host.play.settings["SLACK_SIGNING_SECRET"])
        sent = replace(request(body, signed(body, secret=secret, at=now)), at=now)
        assert (await host.channel.ingress.handle(sent)).status == 200
        (row,) = await host.store.ledger.verdicts()
        assert (row.verdict, row.rule) == ("policy", "unknown-installation")
        (said,) = [one for one in caplog.messages if "starts nothing" in one]
        assert f"from {ME.key} " in said
        assert f"SLACK_BOT_TOKEN is of {host.play.acme.id}; set that of {ME.key}" in said


async def test_a_wrong_signing_secret_is_a_problem() -> None:
    async with hosted() as host:
        await until(lambda: host.channel.problem is None)
        body = json.dumps(sample("event.app_mention")).encode()
        now = SYSTEM_CLOCK.now()
        sent = replace(request(body, signed(body, secret=Secret("another"), at=now)), at=now)
        assert (await host.channel.ingress.handle(sent)).status == 401
        assert "Basic Information → Signing Secret" in (host.channel.problem or "")


async def test_a_socket_that_isnt_let_in_is_a_problem() -> None:
    time = ScaledTime(SPEED)
    async with playground(time, limits=Limits(enabled=False)) as play:
        channel = slack_channel({**play.settings, "SLACK_APP_TOKEN": "xapp-1-wrong"})
        play.slack.signed_at = SYSTEM_CLOCK.now
        async with carried(play, channel, time):
            await until(lambda: "SLACK_APP_TOKEN" in (channel.problem or ""))


async def test_a_stop_lets_a_call_under_way_come_to_its_end() -> None:
    """One that is cut off leaves open whether it was carried out."""
    async with hosted() as host:
        host.play.slack.faults.add(Fault("slow", "users.info", seconds=2))
        asked = asyncio.get_running_loop().create_future()

        async def ask(api: Any) -> None:
            asked.set_result(await api.call(host.play.acme.id, "users.info", {"user": "U0"}))

        running = host.channel._running
        assert running is not None
        async with asyncio.TaskGroup() as group:
            group.create_task(ask(running.api))
            await host.play.slack.until(lambda: bool(host.play.slack.journal.of("users.info")), 10)
            await host.channel.stop()
        assert asked.result() == Refused("user_not_found", asked.result().data)
        assert isinstance(await running.api.call(host.play.acme.id, "auth.test", {}), NotNow)


# -- what an operator sets -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("env", "options", "named"),
    [
        ({"SLACK_APP_TOKEN": "xoxb-1"}, {}, "SLACK_APP_TOKEN"),
        ({"SLACK_BOT_TOKEN": "xapp-1"}, {}, "SLACK_BOT_TOKEN"),
        ({}, {"remind_every": 600}, "remind_after"),
        ({}, {"outsiders_decide": "refunds"}, "outsiders_decide"),
        ({}, {"replace_in_flight": "always"}, "replace_in_flight"),
        ({}, {"policy_words": ["x"]}, 'write policy_words={"refunds"'),
        ({}, {"policy_words": {"refunds": 7}}, "policy_words={'refunds': 7}"),
        ({}, {"task_titles": "Looking"}, 'write task_titles={"find_order"'),
        ({}, {"outsiders_decide": 7}, 'write outsiders_decide=["refunds"]'),
        ({}, {"remind_after": "1h"}, "write remind_after=3600"),
        ({}, {"remind_after": True}, "write remind_after=3600"),
        ({}, {"remind_after": 60, "remind_every": [60]}, "write remind_every=3600"),
        ({}, {"agent_view": "no"}, "write agent_view=True or agent_view=False"),
        ({}, {"follow": ["thread"]}, 'write "thread" or "mention"'),
        ({}, {"follow": {7: "thread"}}, "follow has a rule for 7"),
        ({}, {"bots": 7}, "write bots=["),
        ({}, {"external": None}, "write external=["),
    ],
)
def test_what_is_set_wrongly_is_named(
    env: dict[str, str], options: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        slack_channel(env, **options)
    assert named in f"{refused.value} {refused.value.fix}"
    assert not [value for value in env.values() if value in str(refused.value)]
