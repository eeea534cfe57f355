"""The life of a streamed message: who may write to it, for how long, and in which form.

A stream lives five minutes from its start, whatever is appended. After that append and stop both answer
``message_not_in_streaming_state``, and people see that something went wrong until an update rewrites
the message. A person may stop it; then the app is told ``stopped_by_user``. Text comes either as
``markdown_text`` or as ``chunks``, never both and never first one and then the other. A task that is
named again gets its new title and status, while its details grow.

Source: Slack docs "chat.startStream", "chat.appendStream", "chat.stopStream"; slack_sdk
models/messages/chunk.py.
"""

from __future__ import annotations

from channels.slack.emulator.blocks.validate import MOST_BLOCKS, MOST_MARKDOWN, STATUSES, check
from channels.slack.emulator.wire import Args, Refused, a_text, objects
from channels.slack.emulator.world.base import Happening, World
from channels.slack.emulator.world.depict import message_json
from channels.slack.emulator.world.posting import changed, named_blocks, notify
from channels.slack.emulator.world.state import AgentSession, Message, Piece, Stream, Task
from gateway.engine.kinds import JsonObject

MOST_FIELD = 256
SESSION_STATUSES = frozenset({"processing", "active", "suspended", "closed"})


def live(message: Message) -> Stream:
    """The stream, if it can still be written to."""
    stream = message.stream
    if stream is None:
        raise Refused("message_not_in_streaming_state")
    if stream.stopped_by is not None:
        raise Refused("stopped_by_user")
    if stream.state != "in_progress":
        raise Refused("message_not_in_streaming_state")
    return stream


def chunks_of(args: Args) -> tuple[str | None, list[JsonObject]]:
    """What a call brings: its mode, if it brings anything, and that as chunks."""
    chunks = args.items("chunks", "invalid_chunks")
    text = args.text("markdown_text")
    if chunks and text:
        raise Refused("cannot_provide_both_markdown_text_and_chunks")
    if text:
        if len(text) > MOST_MARKDOWN:
            raise Refused("msg_too_long")
        return "text", [{"type": "markdown_text", "text": text}]
    for place, chunk in enumerate(chunks or ()):
        _check(chunk, place)
    return ("chunks" if chunks else None), chunks or []


def _check(chunk: JsonObject, place: int) -> None:
    match a_text(chunk.get("type")):
        case "markdown_text":
            if not isinstance(chunk.get("text"), str):
                raise _wrong(place, "text must be a string")
            if len(a_text(chunk.get("text"))) > MOST_MARKDOWN:
                raise Refused("msg_too_long")
        case "task_update":
            _check_task(chunk, place)
        case "plan_update":
            _short(chunk, place, "title")
        case "blocks":
            found = objects(chunk.get("blocks"))
            if len(found) > MOST_BLOCKS:
                raise Refused("msg_blocks_too_many")
            if told := check(found, "message"):
                raise Refused("invalid_blocks").messages(told)
        case other:
            raise _wrong(place, f"unsupported chunk type: {other or 'none'}")


def _check_task(chunk: JsonObject, place: int) -> None:
    for name in ("id", "title", "status"):
        if not a_text(chunk.get(name)):
            raise _wrong(place, f"missing required field: {name}")
    for name in ("id", "title", "details", "output"):
        _short(chunk, place, name)
    if chunk.get("status") not in STATUSES:
        raise _wrong(place, f"status must be one of {', '.join(sorted(STATUSES))}")


def _short(chunk: JsonObject, place: int, name: str) -> None:
    if len(a_text(chunk.get(name))) > MOST_FIELD:
        raise _wrong(place, f"{name} must be less than {MOST_FIELD + 1} characters")


def _wrong(place: int, what: str) -> Refused:
    return Refused("invalid_chunks").messages([f"[ERROR] {what} [json-pointer:/chunks/{place}]"])


def feed(world: World, message: Message, stream: Stream, args: Args) -> bool:
    """Take in what a call brings; whether it brought anything. Nothing is taken if any of it is wrong."""
    mode, chunks = chunks_of(args)
    if mode is None:
        return False
    if stream.mode not in {None, mode}:
        raise Refused("streaming_mode_mismatch")
    sent = sum(len(piece.blocks) for piece in stream.pieces)
    more = sum(len(objects(c.get("blocks"))) for c in chunks if c.get("type") == "blocks")
    if sent + more > MOST_BLOCKS:
        raise Refused("msg_blocks_too_many")
    stream.mode = "text" if mode == "text" else "chunks"
    for chunk in chunks:
        _take(world, stream, chunk)
    notify(world, message)
    return True


def _take(world: World, stream: Stream, chunk: JsonObject) -> None:
    match chunk["type"]:
        case "markdown_text":
            stream.pieces.append(Piece("text", text=a_text(chunk.get("text"))))
        case "plan_update":
            stream.plan = a_text(chunk.get("title"))
        case "blocks":
            blocks = named_blocks(world, objects(chunk.get("blocks")))
            stream.pieces.append(Piece("blocks", blocks=blocks))
        case _:
            name = a_text(chunk.get("id"))
            if name not in stream.tasks:
                stream.tasks[name] = Task(name)
                stream.pieces.append(Piece("task", task=name))
            task = stream.tasks[name]
            task.title, task.status = a_text(chunk.get("title")), a_text(chunk.get("status"))
            task.details += a_text(chunk.get("details"))
            task.output += a_text(chunk.get("output"))
            task.sources += objects(chunk.get("sources"))


def end(world: World, message: Message, stream: Stream, *, expired: bool = False) -> None:
    """The stream is over: finished by its app or a person, or it lived too long."""
    before = message_json(world, message)
    if message in world.streaming:
        world.streaming.remove(message)
    stream.state = "errored" if expired else "completed"
    stream.expired = expired
    changed(world, message, before)


def expire(world: World) -> None:
    """End what has lived too long. Called before anybody looks."""
    now = world.monotonic()
    for message in list(world.streaming):
        stream = message.stream
        if stream is not None and now >= stream.ends:
            end(world, message, stream, expired=True)


def stop_by_user(world: World, session: AgentSession, user: str) -> list[str]:
    """Somebody presses Stop: the streams of the thread end, and the app is told which.

    The session's status stays as it is; to change it is the app's business.
    """
    stopped: list[str] = []
    for message in world.in_thread(session.channel, session.thread):
        stream = message.stream
        if stream is not None and stream.state == "in_progress" and message.app == session.app:
            stream.stopped_by = user
            end(world, message, stream)
            stopped.append(message.ts)
    event: JsonObject = {
        "type": "agent_session_stopped",
        "channel": session.channel,
        "user": user,
        "thread_ts": session.thread,
        "streaming_message_ts": [*stopped],
        "event_ts": world.new_ts(),
    }
    team = world.channels[session.channel].team
    world.tell(Happening(event=event, channel=session.channel, team=team, app=session.app))
    return stopped


def set_session(world: World, app: str, where: tuple[str, str], status: str) -> None:
    """Move a session that exists to another status."""
    session = world.sessions.get((app, *where))
    if session is not None:
        session.status = status  # type: ignore[assignment]  # the methods check it
