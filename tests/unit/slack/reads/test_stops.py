"""Stop names no workspace: in a channel that companies share, Slack is asked whose hand it was."""

from __future__ import annotations

from channels.contract import Control
from channels.slack.calls import Ok
from channels.slack.parse import Envelope, parse, read
from channels.slack.parsing.envelope import obj, text
from channels.slack.policy import rules
from channels.slack.verify import Verified
from gateway.engine.wire import loads
from gateway.testing.slack import Channel, Person
from tests.unit.slack.reads.desk import Desk


async def stopped(desk: Desk, by: Person, where: Channel, root: str) -> Control:
    """What comes in when they press Stop."""
    app = desk.play.slack.app()
    args = {"channel_id": where.id, "thread_ts": root, "status": "processing"}
    assert isinstance(
        await desk.api.call(desk.stand.key, "agents.sessions.setStatus", {**args}), Ok
    )
    asked = desk.play.slack.thread(where, root)[0]
    await by.stop(app, asked)

    def told() -> list[bytes]:
        found = [one.raw for one in desk.heard.heard]
        return [raw for raw in found if _stops(raw, by)]

    await desk.play.slack.until(lambda: bool(told()))
    envelope = read(Verified(told()[-1]), "application/json")
    assert isinstance(envelope, Envelope)
    me = await desk.tokens.installed(envelope.installation)
    found = parse(envelope, me, rules(external=[where.id], bots=[]))
    assert isinstance(found, Control)
    return found


def _stops(raw: bytes, by: Person) -> bool:
    event = obj(loads(raw.decode()).get("event"))
    return text(event, "type") == "agent_session_stopped" and text(event, "user") == by.id


async def test_everybody_who_stops_is_whom_their_message_named(desk: Desk) -> None:
    play, eve = desk.play, desk.stranger()
    gus = play.acme.person("gus", "multi")
    shared = play.acme.channel("shared", [play.ada, gus, play.june, eve])
    for who, standing in ((play.ada, "member"), (gus, "outsider"), (eve, "outsider")):
        asked = await who.mention(shared, "@june where is it?")
        wrote = (await desk.inbound(asked)).speaker
        control = await stopped(desk, who, shared, asked.ts)
        assert control.by is not None
        assert control.by.level == "none", "the event doesn't say where they are from"
        found = await desk.people.person(control.by, control.reply)
        assert found is not None
        assert (found.speaker.id, found.standing) == (wrote.id, standing)
