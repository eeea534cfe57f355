"""What an app is sent when somebody presses something.

Source: Slack docs "block_actions payload", "view_submission payload", "view_closed payload", "shortcut
payload", "message_action payload", "Slash commands"; bolt-python tests/scenario_tests_async.
"""

from __future__ import annotations

from channels.slack.emulator.wire import a_list, a_text
from channels.slack.emulator.world.base import (
    RESPONSE_LIFE,
    RESPONSE_USES,
    TRIGGER_LIFE,
    World,
)
from channels.slack.emulator.world.depict import message_json, same_company, view_json
from channels.slack.emulator.world.state import (
    App,
    Channel,
    Install,
    Message,
    ResponseUrl,
    Trigger,
    User,
    View,
)
from gateway.engine.kinds import Json, JsonObject


def base(world: World, app: App, install: Install, user: User, team: str) -> JsonObject:
    """What every payload holds. With an organisation's install the workspace may be missing."""
    home = world.teams[team]
    enterprise = world.enterprises.get(home.enterprise or "")
    where: JsonObject = {"id": home.id, "domain": home.name}
    if enterprise is not None:
        where.update(enterprise_id=enterprise.id, enterprise_name=enterprise.name)
    return {
        "user": {
            "id": user.id,
            "username": user.name,
            "name": user.name,
            "team_id": user.team,
        },
        "api_app_id": app.id,
        "token": app.verification_token,
        "team": None if install.org else where,
        "enterprise": {"id": enterprise.id, "name": enterprise.name} if enterprise else None,
        "is_enterprise_install": install.org,
    }


def trigger(world: World, app: App, user: User, team: str) -> str:
    """An id that opens one modal within three seconds."""
    name = f"{world.now()}.{team}.{world.secret()[:12]}"
    world.triggers[name] = Trigger(name, app.id, team, user.id, world.monotonic() + TRIGGER_LIFE)
    return name


def response_url(
    world: World, app: App, user: User, channel: Channel, message: Message | None
) -> str:
    """An address that takes five answers in half an hour, with no token."""
    made = ResponseUrl(
        world.secret(),
        app.id,
        channel.team,
        user.id,
        channel.id,
        message.ts if message is not None else None,
        message.thread if message is not None else None,
        world.monotonic() + RESPONSE_LIFE,
        RESPONSE_USES,
    )
    world.response_urls[made.id] = made
    return f"{world.base_url}/response/{made.id}"


def on_message(world: World, payload: JsonObject, message: Message) -> None:
    """Say in which message something was pressed."""
    container: JsonObject = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.only_for is not None,
    }
    if message.thread:
        container["thread_ts"] = message.thread
    payload["container"] = container
    payload["channel"] = named(world.channels[message.channel])
    if message.only_for is None:
        payload["message"] = message_json(world, message, metadata=True)


def named(channel: Channel) -> JsonObject:
    name = {"im": "directmessage", "group": "privategroup"}.get(channel.kind, channel.name)
    return {"id": channel.id, "name": name}


def action(world: World, control: JsonObject, block: str, value: Json) -> JsonObject:
    """One control as it was used."""
    made: JsonObject = {
        "type": control.get("type"),
        "action_id": control.get("action_id"),
        "block_id": block,
        "action_ts": world.new_ts(),
    }
    for name in ("text", "value", "style"):
        if name in control:
            made[name] = control[name]
    if value is not None:
        made.update(chosen(a_text(control.get("type")), value))
    return made


ONE_OPTION = frozenset({"static_select", "radio_buttons", "external_select", "overflow"})
OPTIONS = frozenset({"multi_static_select", "checkboxes"})
STATE_FIELDS = {
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
    "rich_text_input": "rich_text_value",
}


def chosen(kind: str, value: Json) -> JsonObject:
    """A control's state in the words of its kind."""
    if kind in ONE_OPTION:
        return {"selected_option": _option(value)}
    if kind in OPTIONS:
        return {"selected_options": [_option(item) for item in a_list(value)]}
    return {STATE_FIELDS.get(kind, "value"): value}


def _option(value: Json) -> Json:
    if isinstance(value, dict) or value is None:
        return value
    return {"text": {"type": "plain_text", "text": str(value), "emoji": True}, "value": str(value)}


def of_view(world: World, app: App, install: Install, user: User, view: View) -> JsonObject:
    """Somebody of another company sends from their own workspace; the app is installed in ours."""
    stranger = not same_company(world, user, view.team)
    home = user.team if stranger else view.team
    payload = base(world, app, install, user, home)
    shown = view_json(view)
    shown.update(team_id=home, app_installed_team_id=view.team, bot_id=install.bot)
    payload["view"] = shown
    return payload


def command(
    world: World, app: App, install: Install, user: User, channel: Channel
) -> dict[str, str]:
    """A slash command's fields, but for the words."""
    home = world.teams[user.team]
    enterprise = world.enterprises.get(home.enterprise or "")
    fields = {
        "token": app.verification_token,
        "team_id": home.id,
        "team_domain": home.name,
        "channel_id": channel.id,
        "channel_name": a_text(named(channel)["name"]),
        "user_id": user.id,
        "user_name": user.name,
        "api_app_id": app.id,
        "is_enterprise_install": "true" if install.org else "false",
        "response_url": response_url(world, app, user, channel, None),
        "trigger_id": trigger(world, app, user, home.id),
    }
    if enterprise is not None:
        fields.update(enterprise_id=enterprise.id, enterprise_name=enterprise.name)
    return fields
