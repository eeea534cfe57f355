"""What leaves the emulator has the fields of the channel's samples, whose sources their list names: neither
the channel nor its emulator gets along by what only the other one knows."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.engine.kinds import Json, JsonObject
from tests.unit.emulator.stage import Listener, Play, buttons
from tests.unit.slack.payloads import sample

DECOR = frozenset({"app_context", "blocks", "bot_profile", "files", "root", "state", "text"})
"""What is inside of these differs from one to the next."""
MAY: dict[str, set[str]] = {
    "event.connect_app_mention": {"event.blocks", "event.client_msg_id"},
    "event.connect_message": {"enterprise_id", "event.blocks", "event.client_msg_id"},
    "event.message_bot": {"event.app_id", "event.blocks"},
    "event.message_changed": {"event.message.user_team"},
    "event.message_file_share": {"event.team"},
    "event.message_im": {"event.app_context"},
    "event.message_own": {"event.blocks"},
    "event.message_thread_broadcast": {"event.blocks", "event.team"},
}
"""Fields that may be there or not, in which the two differ."""


def fields(value: Json, path: str = "") -> Iterator[str]:
    if isinstance(value, list):
        yield from fields(value[0], f"{path}[]") if value else ()
    if not isinstance(value, dict):
        return
    for name, inside in value.items():
        here = f"{path}.{name}".lstrip(".")
        yield here
        if name not in DECOR:
            yield from fields(inside, here)


async def told(play: Play, app: Listener) -> dict[str, JsonObject]:
    """A payload of each kind, by the sample that it is to be like."""
    play.app.commands["/june"] = ""
    await play.slack.connect(play.app, app.url)
    ada, where = play.ada, play.support
    asked = await ada.mention(where, "@june where is 1042?")
    gone = await ada.say(where, "never mind", thread=asked)
    said = {
        "message_mention": asked.ts,
        "message_reply": (await ada.say(where, "and 1043?", thread=asked)).ts,
        "message_file_share": (await ada.say(where, "see", files={"a.png": b"x"})).ts,
        "message_im": (await ada.say(await ada.open_home(play.app), "hi")).ts,
        "message_own": str((await play.post("hm", blocks=buttons("Go"), thread_ts=asked.ts))["ts"]),
    }
    wide = await ada.say(where, "all", thread=asked, broadcast=True)
    said["message_thread_broadcast"] = wide.ts
    await ada.edit(asked, "@june where is 1044?")
    await ada.delete(gone)
    crier, sam = play.acme.bot("crier"), play.slack.workspace("globex").person("sam")
    play.acme.invite(where, [crier])
    said["message_bot"] = (await crier.say(where, "build failed")).ts
    shared = play.acme.channel("shared", [ada, play.june])
    play.acme.invite(shared, [sam])
    said["connect_message"] = (await sam.mention(shared, "@june hi")).ts
    thread = {"channel_id": where.id, "thread_ts": asked.ts}
    await play.call("agents.sessions.setStatus", **thread, status="processing")
    await play.call("agents.sessions.rename", **thread, title="Order 1042")
    await ada.stop(play.app, asked)
    await ada.click(next(m for m in play.slack.thread(where, asked) if m.buttons), "Go")
    await ada.command(where, "/june help")
    await play.slack.settled()
    found = {f"event.{_of(sent.payload)}": sent.payload for sent in reversed(app.heard)}
    for sent in app.events("message"):
        found |= {f"event.{n}": sent.payload for n, ts in said.items() if sent.event["ts"] == ts}
    for sent in app.events("app_mention"):
        if sent.event["user"] == sam.id:
            found["event.connect_app_mention"] = sent.payload
    for heard in app.heard:
        if "event" not in heard.payload:
            name = "command.help" if "command" in heard.payload else "interactive.approve"
            found[name] = heard.payload
    return found


def _of(payload: JsonObject) -> str:
    event = payload.get("event")
    inner = event if isinstance(event, dict) else {}
    return str(inner.get("subtype") or inner.get("type"))


LIKE = (
    *("event.app_mention", "event.message_mention", "event.message_reply", "event.message_im"),
    *("event.message_file_share", "event.message_own", "event.message_thread_broadcast"),
    *("event.message_changed", "event.message_deleted", "event.message_bot"),
    *("event.connect_app_mention", "event.connect_message", "event.app_home_opened"),
    *("event.agent_session_stopped", "event.agent_session_title_changed"),
    *("interactive.approve", "command.help"),
)


async def test_payloads_have_the_fields_of_the_samples(play: Play, app: Listener) -> None:
    found = await told(play, app)
    differing = {
        name: odd
        for name in LIKE
        if (odd := {*fields(found[name])} ^ {*fields(sample(name))}) - MAY.get(name, set())
    }
    assert differing == {}
