"""``agents.sessions.*`` and the older ``assistant.threads.*``: what an agent's thread shows about itself.

A session begins with the first status, or with a stream that ended; its title and who began it count only
with that first status. A free-text status begins none. It goes away by itself after two minutes, or with
the app's next message.

Source: Slack docs "agents.sessions.setStatus", "agents.sessions.rename",
"assistant.threads.setStatus", "assistant.threads.setSuggestedPrompts"; @slack/types events/agent.d.ts; the
SDK's AgentsSessionsSetStatusResponse and AgentsSessionsRenameResponse; what a workspace answered in
agentconnect-md/agentconnect#1600 and NousResearch/hermes-agent#113698.
"""

from __future__ import annotations

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.wire import Refused, a_text
from channels.slack.emulator.world import streaming
from channels.slack.emulator.world.base import Happening
from channels.slack.emulator.world.state import AgentSession, Channel
from gateway.engine.kinds import JsonObject

LONGEST_TITLE = 200
STATUS_LIFE = 120.0
MOST_PROMPTS = 4
NOT_A_STATUS = "[ERROR] must be a valid enum value [json-pointer:/status]"


def _thread(asking: Asking) -> tuple[Channel, str]:
    channel = asking.writable("channel_id")
    thread = asking.args.text("thread_ts")
    if thread and thread not in asking.world.messages[channel.id]:
        raise Refused("message_not_found")
    return channel, thread


def set_status(asking: Asking) -> JsonObject:
    world, args = asking.world, asking.args
    if not asking.app.agent:
        raise Refused("not_agent_app")
    channel, thread = _thread(asking)
    status = args.need("status")
    if status not in streaming.SESSION_STATUSES:
        raise Refused("invalid_arguments").messages([NOT_A_STATUS])
    if len(args.text("title")) > LONGEST_TITLE:
        raise Refused("title_too_long")
    key = (asking.app.id, channel.id, thread)
    if key not in world.sessions:
        initiator = args.text("initiator_user_id")
        if initiator and initiator not in channel.members:
            raise Refused("user_not_in_channel")
        title = args.text("title")
        world.sessions[key] = AgentSession(
            asking.app.id, channel.id, thread, "active", title, initiator
        )
    streaming.set_session(world, asking.app.id, (channel.id, thread), status)
    body: JsonObject = {"status": status, "title": world.sessions[key].title}
    if "agent_session_stopped" not in asking.app.events:
        body["warning"] = "missing_agent_session_stopped_event_subscription"
    return body


def rename(asking: Asking) -> JsonObject:
    channel, thread = _thread(asking)
    title = asking.args.need("title")
    if len(title) > LONGEST_TITLE:
        raise Refused("title_too_long")
    session = asking.world.sessions.get((asking.app.id, channel.id, thread))
    if session is None:
        raise Refused("session_not_found")
    before, session.title = session.title, title
    event: JsonObject = {
        "type": "agent_session_title_changed",
        "channel": channel.id,
        "user": asking.me.id,
        "team_id": channel.team,
        "thread_ts": thread,
        "title": title,
        "previous_title": before,
        "event_ts": asking.world.new_ts(),
    }
    asking.world.tell(
        Happening(event=event, channel=channel.id, team=channel.team, app=asking.app.id)
    )
    return {"title": title}


def old_status(asking: Asking) -> JsonObject:
    channel, thread = _thread(asking)
    if not thread:
        raise Refused("invalid_thread_ts")
    if len(asking.args.names("loading_messages")) > 10:
        raise Refused("invalid_arguments")
    status = asking.args.text("status")
    if status:
        until = asking.world.monotonic() + STATUS_LIFE
        asking.world.statuses[channel.id, thread] = (status, until)
    else:
        asking.world.statuses.pop((channel.id, thread), None)
    return {}


def old_title(asking: Asking) -> JsonObject:
    _thread(asking)
    asking.args.need("title")
    return {}


def prompts(asking: Asking) -> JsonObject:
    channel, _ = _thread(asking)
    given = asking.args.items("prompts", "invalid_arguments") or []
    if not given or len(given) > MOST_PROMPTS:
        raise Refused("invalid_arguments")
    if not all(a_text(prompt.get("title")) and a_text(prompt.get("message")) for prompt in given):
        raise Refused("invalid_arguments")
    asking.world.prompts[channel.id] = given
    return {}


WRITE, ASSIST = ("chat:write",), ("assistant:write",)
METHODS = (
    Method(name="agents.sessions.setStatus", handler=set_status, scopes=WRITE, tier="3"),
    Method(name="agents.sessions.rename", handler=rename, scopes=WRITE, tier="3"),
    Method(
        name="assistant.threads.setStatus",
        handler=old_status,
        scopes=(*WRITE, *ASSIST),
        tier="4",
    ),
    Method(name="assistant.threads.setTitle", handler=old_title, scopes=ASSIST, tier="4"),
    Method(name="assistant.threads.setSuggestedPrompts", handler=prompts, scopes=ASSIST, tier="4"),
)
