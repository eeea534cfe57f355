"""What people do: write, edit, delete, type commands, press Stop, open the app.

Only what the platform's own client would let them do: writing where one isn't is a mistake of the test,
and ``Impossible`` says which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from channels.slack.emulator.cast.screen import Impossible, Pointed, Screen, parsed
from channels.slack.emulator.events import interactivity as make
from channels.slack.emulator.events.http import Reply
from channels.slack.emulator.wire import a_text, objects
from channels.slack.emulator.world import posting, streaming, tenancy
from channels.slack.emulator.world.base import Happening
from channels.slack.emulator.world.state import App, Channel, File, Install, Message, User
from gateway.engine.kinds import JsonObject

NAME = re.compile(r"(?<![\w<@])@([a-z0-9][\w-]*)")
BROADCASTS = frozenset({"here", "channel", "everyone"})


def channel_id(channel: Channel | str) -> str:
    return channel if isinstance(channel, str) else channel.id


def user_id(member: Person | Install | User | str) -> str:
    match member:
        case str():
            return member
        case Install():
            return member.user
        case Person() | User():
            return member.id


class Person(Screen):
    """One user at their keyboard."""

    # -- writing -----------------------------------------------------------------------------------
    async def say(
        self,
        channel: Channel | str,
        text: str,
        *,
        thread: Pointed | str | None = None,
        files: Mapping[str, bytes] | None = None,
        broadcast: bool = False,
    ) -> Message:
        """Write a message. ``@june`` becomes a mention if somebody of that name is there."""
        world, where = self.world, self._place(channel)
        body = self._with_mentions(where, text)
        message = Message(where.id, world.new_ts(), self.id, self.user.team, text=body)
        message.bot, message.app = self.user.bot, self.user.app
        message.client_msg_id = None if self.user.bot else world.secret()
        message.thread = self._root(where, thread)
        message.blocks = posting.named_blocks(world, [posting.written(body)]) if body else []
        if self.user.bot:
            message.subtype = "bot_message" if self.user.app is None else None
        if broadcast:
            message.subtype = "thread_broadcast"
        if files:
            message.subtype = "file_share"
            message.files = [self._file(where, message, name, data) for name, data in files.items()]
        return posting.publish(world, message)

    mention = say

    def _root(self, where: Channel, thread: Pointed | str | None) -> str | None:
        if thread is None:
            return None
        ts = thread if isinstance(thread, str) else thread.ts
        root = self.world.messages[where.id].get(ts)
        if root is None:
            raise Impossible(f"there is no message {ts} in {where.name or where.id} to reply to")
        return root.root

    def _file(self, where: Channel, message: Message, name: str, data: bytes) -> str:
        kind = "text/plain" if name.endswith((".txt", ".md", ".log", ".csv")) else ""
        file = File(
            self.world.new_id("F"),
            self.user.team,
            self.id,
            name,
            len(data),
            kind
            or {"png": "image/png", "pdf": "application/pdf"}.get(
                name.rpartition(".")[2], "application/octet-stream"
            ),
            data,
            check_info=where.external,
            ready=True,
        )
        file.shares[where.id] = [message.ts]
        self.world.files[file.id] = file
        return file.id

    def _place(self, channel: Channel | str) -> Channel:
        where = self.world.channels[channel_id(channel)]
        if self.id not in where.members:
            raise Impossible(f"{self.name} isn't in {where.name or where.id}")
        if where.archived:
            raise Impossible(f"{where.name} is archived")
        return where

    def _with_mentions(self, where: Channel, text: str) -> str:
        known = {self.world.users[member].name: member for member in where.members}
        known = {**self.world.names(self.user.team), **known}

        def live(found: re.Match[str]) -> str:
            if found[1] in BROADCASTS:
                return f"<!{found[1]}>"
            return f"<@{known[found[1]]}>" if found[1] in known else found[0]

        return NAME.sub(live, text)

    def _own(self, pointed: Pointed) -> Message:
        message = self._message(pointed)
        if message.user != self.id:
            raise Impossible(f"{self.name} didn't write {message.ts}")
        return message

    async def edit(self, message: Pointed, text: str) -> Message:
        own = self._own(message)
        where = self.world.channels[own.channel]
        posting.edit(self.world, own, self._with_mentions(where, text), self.id)
        return own

    async def delete(self, message: Pointed) -> None:
        posting.remove(self.world, self._own(message))

    # -- everything else ---------------------------------------------------------------------------
    async def command(self, channel: Channel | str, line: str) -> Reply:
        """Type a slash command: ``/june reset``."""
        where = self._place(channel)
        name, _, words = line.partition(" ")
        world = self.world
        for app in world.apps.values():
            install = world.install_in(app.id, self.user.team)
            if name in app.commands and install is not None:
                fields = make.command(world, app, install, self.user, where)
                reply = await self.outlet.command(app, {**fields, "command": name, "text": words})
                self._answered(install, where, reply)
                return reply
        raise Impossible(f"no app here has the command {name}; name it in commands of the app")

    def _answered(self, install: Install, where: Channel, reply: Reply) -> None:
        """A command may be answered in its own acknowledgement."""
        said = parsed(reply.text)
        text = a_text(said.get("text")) if said else reply.text.strip()
        blocks = objects(said.get("blocks"))
        if not reply.good or not (text or blocks):
            return
        message = Message(
            where.id,
            self.world.new_ts(),
            install.user,
            where.team,
            text=text,
            bot=install.bot,
            app=install.app,
            blocks=posting.named_blocks(self.world, blocks),
        )
        if said.get("response_type") == "in_channel":
            posting.publish(self.world, message)
            return
        message.only_for = self.id
        posting.whisper(self.world, message)

    async def shortcut(self, app: App, callback: str, message: Pointed | None = None) -> Reply:
        """Use one of the app's shortcuts, on a message if it is of that kind."""
        known = app.shortcuts.get(callback)
        if known is None or (known.kind == "message") != (message is not None):
            raise Impossible(f"{app.name} has no such shortcut here: {callback}")
        world = self.world
        if message is None:
            install = world.install_in(app.id, self.user.team)
            if install is None:
                raise Impossible(f"{app.name} isn't installed here")
            payload = make.base(world, app, install, self.user, self.user.team)
            payload.update(
                type="shortcut", trigger_id=make.trigger(world, app, self.user, self.user.team)
            )
        else:
            found = self._message(message)
            _, payload = self._payload("message_action", app.id, found.channel)
            make.on_message(world, payload, found)
            del payload["container"]
            channel = world.channels[found.channel]
            payload["message_ts"] = found.ts
            payload["response_url"] = make.response_url(world, app, self.user, channel, found)
        payload.update(callback_id=callback, action_ts=world.new_ts())
        return await self.outlet.interact(app, payload)

    async def stop(self, app: App, thread: Pointed) -> list[str]:
        """Press Stop. It is only there while the app works and wants to be told."""
        world = self.world
        root = self._message(thread).root
        session = world.sessions.get((app.id, thread.channel, root))
        if session is None or session.status != "processing":
            raise Impossible(f"{app.name} isn't at work in this thread, so there is no Stop")
        if "agent_session_stopped" not in app.events:
            raise Impossible(
                f"{app.name} doesn't subscribe to agent_session_stopped: no Stop is shown"
            )
        return streaming.stop_by_user(world, session, self.id)

    async def open_home(self, app: App, tab: str = "messages") -> Channel:
        """Open the app in the sidebar: its direct message, or its home tab."""
        world = self.world
        install = world.install_in(app.id, self.user.team)
        if install is None:
            raise Impossible(f"{app.name} isn't installed here")
        channel = tenancy.direct(world, world.teams[self.user.team], {self.id, install.user})
        event: JsonObject = {
            "type": "app_home_opened",
            "user": self.id,
            "channel": channel.id,
            "tab": tab,
            "event_ts": world.new_ts(),
        }
        team = self.user.team
        world.tell(Happening(event=event, channel=channel.id, team=team, app=app.id))
        return channel

    async def look_at(self, app: App, entities: list[JsonObject]) -> None:
        """Have something else open beside the agent's view, of which the app is told."""
        channel = await self.open_home(app)
        event: JsonObject = {
            "type": "app_context_changed",
            "channel": channel.id,
            "user": self.id,
            "context": {"entities": [*entities]},
            "event_ts": self.world.new_ts(),
        }
        team = self.user.team
        self.world.tell(Happening(event=event, channel=channel.id, team=team, app=app.id))
