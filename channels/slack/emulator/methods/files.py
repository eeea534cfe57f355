"""``files.*``: a file goes up in three steps, and is read with a token of the right scope.

Source: Slack docs "files.getUploadURLExternal", "files.completeUploadExternal", "files.info".
"""

from __future__ import annotations

import mimetypes

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.methods.chat import drafted
from channels.slack.emulator.wire import Refused, a_text
from channels.slack.emulator.world import posting
from channels.slack.emulator.world.depict import file_json
from channels.slack.emulator.world.state import File
from gateway.engine.kinds import JsonObject

LARGEST = 1 << 30


def upload_url(asking: Asking) -> JsonObject:
    world, args = asking.world, asking.args
    name = args.need("filename")
    size = args.number("length", 0)
    if not 0 < size <= LARGEST:
        raise Refused("invalid_arguments").messages(["[ERROR] length must be above 0"])
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    file = File(world.new_id("F"), asking.team, asking.me.id, name, size, kind)
    world.files[file.id] = file
    secret = world.secret()
    world.upload_urls[secret] = file.id
    return {"upload_url": f"{world.base_url}/upload/{secret}", "file_id": file.id}


def complete(asking: Asking) -> JsonObject:
    """Share what was uploaded: one message with all the files."""
    world, args = asking.world, asking.args
    given = args.items("files", "invalid_arguments") or []
    found: list[File] = []
    for item in given:
        file = world.files.get(a_text(item.get("id")))
        if file is None or file.user != asking.me.id or file.body is None or file.ready:
            raise Refused("file_not_found")
        file.title = a_text(item.get("title")) or file.name
        found.append(file)
    if not found:
        raise Refused("no_file_data")
    channel = asking.writable("channel_id") if args.text("channel_id") else None
    message = drafted(asking, channel) if channel else None
    for file in found:
        file.ready = True
        if channel and message:
            file.shares.setdefault(channel.id, []).append(message.ts)
    if message is not None:
        message.subtype, message.text = "file_share", args.text("initial_comment")
        message.files = [file.id for file in found]
        posting.publish(world, message)
    return {"files": [file_json(world, file) for file in found]}


def info(asking: Asking) -> JsonObject:
    file = asking.world.files.get(asking.args.need("file", "file_not_found"))
    if file is None or not file.ready:
        raise Refused("file_not_found")
    return {"file": file_json(asking.world, file, whole=True), "comments": []}


METHODS = (
    Method(
        name="files.getUploadURLExternal", handler=upload_url, scopes=("files:write",), tier="4"
    ),
    Method(
        name="files.completeUploadExternal", handler=complete, scopes=("files:write",), tier="4"
    ),
    Method(name="files.info", handler=info, scopes=("files:read",), tier="4"),
)
