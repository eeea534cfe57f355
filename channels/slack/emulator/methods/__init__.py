"""The Web API's methods by name."""

from __future__ import annotations

from channels.slack.emulator.calling import Method
from channels.slack.emulator.methods import (
    apps,
    auth,
    chat,
    conversations,
    extra,
    files,
    oauth,
    reactions,
    sessions,
    streams,
    users,
    views,
)

METHODS: dict[str, Method] = {
    method.name: method
    for module in (
        *(apps, auth, chat, conversations, extra, files, oauth, reactions, sessions, streams),
        *(users, views),
    )
    for method in module.METHODS
}
