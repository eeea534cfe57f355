"""Things as the Web API and events show them.

Source: Slack docs "Types: channel, user, file, view", "message event"; slack_sdk/web/async_client.py.
"""

from __future__ import annotations

from channels.slack.emulator.blocks.render import shown_blocks, shown_text
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.state import Channel, File, Message, Team, User, View
from gateway.engine.kinds import Json, JsonObject


def message_json(world: World, message: Message, *, metadata: bool = False) -> JsonObject:
    body: JsonObject = {"type": "message", "user": message.user, "ts": message.ts}
    body["text"] = shown_text(message)
    if blocks := shown_blocks(message):
        body["blocks"] = list(blocks)
    optional: dict[str, Json] = {
        "subtype": message.subtype,
        "team": message.team,
        "thread_ts": message.thread,
        "client_msg_id": message.client_msg_id,
        "bot_id": message.bot,
        "app_id": message.app,
        "username": message.username,
        "app_context": message.app_context,
    }
    body.update({name: value for name, value in optional.items() if value is not None})
    if message.attachments:
        body["attachments"] = list(message.attachments)
    if message.files:
        body["files"] = [file_json(world, world.files[file]) for file in message.files]
        body["upload"] = body["display_as_bot"] = False
    if message.edited:
        body["edited"] = {"user": message.edited[0], "ts": message.edited[1]}
    if message.reactions:
        body["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)}
            for name, users in message.reactions.items()
        ]
    if message.stream:
        body["streaming_state"] = message.stream.state
    if metadata and message.metadata is not None:
        body["metadata"] = message.metadata
    if message.thread and message.thread != message.ts:
        root = world.messages.get(message.channel, {}).get(message.thread)
        if root is not None:
            body["parent_user_id"] = root.user
    return body


def with_replies(world: World, message: Message, *, metadata: bool = False) -> JsonObject:
    """A root shows how many answered it."""
    body = message_json(world, message, metadata=metadata)
    replies = [m for m in world.in_thread(message.channel, message.ts) if m.ts != message.ts]
    if message.thread in {None, message.ts} and replies:
        people = list(dict.fromkeys(reply.user for reply in replies))
        body.update(
            thread_ts=message.ts,
            reply_count=len(replies),
            reply_users=[*people],
            reply_users_count=len(people),
            latest_reply=replies[-1].ts,
            is_locked=False,
        )
    return body


def user_json(world: World, user: User, seen_from: str | None = None) -> JsonObject:
    """``seen_from`` is the workspace that asks: people of another company are strangers there."""
    body: JsonObject = {
        "id": user.id,
        "team_id": user.team,
        "name": user.name,
        "deleted": user.deleted,
        "real_name": user.real_name,
        "tz": "Etc/UTC",
        "tz_offset": 0,
        "profile": {
            "real_name": user.real_name,
            "display_name": user.name,
            "real_name_normalized": user.real_name,
            "display_name_normalized": user.name,
            "email": user.email,
            "team": user.team,
        },
        "is_admin": False,
        "is_owner": False,
        "is_restricted": user.restricted,
        "is_ultra_restricted": user.ultra_restricted,
        "is_bot": user.bot is not None,
        "is_app_user": False,
        "updated": world.now() // 1000,
    }
    if user.enterprise:
        body["enterprise_user"] = {
            "id": user.id,
            "enterprise_id": user.enterprise,
            "enterprise_name": world.enterprises[user.enterprise].name,
            "teams": [t.id for t in world.teams.values() if t.enterprise == user.enterprise],
        }
    if seen_from and not same_company(world, user, seen_from):
        body["is_stranger"] = True
    return body


def same_company(world: World, user: User, team: str) -> bool:
    mine = world.teams[team].enterprise if team in world.teams else None
    return user.team == team or (mine is not None and user.enterprise == mine)


def channel_json(world: World, channel: Channel, me: str) -> JsonObject:
    body: JsonObject = {
        "id": channel.id,
        "created": channel.created,
        "is_archived": channel.archived,
        "is_im": channel.kind == "im",
        "is_mpim": channel.kind == "mpim",
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_private": channel.kind != "channel",
        "is_ext_shared": channel.external,
        "is_org_shared": False,
        "is_shared": channel.external,
        "is_member": me in channel.members,
        "context_team_id": channel.team,
        "shared_team_ids": [channel.team, *sorted(channel.shared)],
        "updated": world.now(),
    }
    if channel.kind == "im":
        others = sorted(channel.members - {me})
        body["user"] = others[0] if others else me
        return body
    body.update(
        name=channel.name,
        name_normalized=channel.name,
        is_general=False,
        num_members=len(channel.members),
        topic={"value": "", "creator": "", "last_set": 0},
        purpose={"value": "", "creator": "", "last_set": 0},
    )
    return body


def team_json(world: World, team: Team) -> JsonObject:
    body: JsonObject = {"id": team.id, "name": team.name, "domain": team.name, "icon": {}}
    if team.enterprise:
        body.update(
            enterprise_id=team.enterprise, enterprise_name=world.enterprises[team.enterprise].name
        )
    return body


def file_json(world: World, file: File, *, whole: bool = False) -> JsonObject:
    """``whole``: also what a shared channel's event leaves out."""
    if file.check_info and not whole:
        return {"id": file.id, "mode": "file_access", "file_access": "check_file_info"}
    url = f"{world.base_url}/files-pri/{file.id}/{file.name}"
    return {
        "id": file.id,
        "created": world.now() // 1000,
        "name": file.name,
        "title": file.title or file.name,
        "mimetype": file.media_type,
        "filetype": file.name.rpartition(".")[2],
        "user": file.user,
        "user_team": file.team,
        "size": file.size,
        "mode": "hosted",
        "is_external": False,
        "is_public": False,
        "url_private": url,
        "url_private_download": f"{url}?download=1",
        "permalink": f"{world.base_url}/files/{file.user}/{file.id}",
        "file_access": "visible",
        "shares": {
            "public": {
                channel: [{"ts": ts} for ts in all_ts] for channel, all_ts in file.shares.items()
            }
        },
    }


def view_json(view: View) -> JsonObject:
    """A view with what Slack adds to it."""
    body: JsonObject = {
        "private_metadata": "",
        "callback_id": "",
        "external_id": "",
        "clear_on_close": False,
        "notify_on_close": False,
        "submit": None,
        "close": None,
        "title": None,
        **view.view,
    }
    body.update(
        id=view.id,
        team_id=view.team,
        app_id=view.app,
        bot_id="",
        hash=view.hash,
        root_view_id=view.root,
        previous_view_id=view.previous,
        app_installed_team_id=view.team,
    )
    body.setdefault("state", {"values": {}})
    return body
