"""Slack's messages in one thread as the docs describe them, in memory, with whatever can go wrong on cue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from channels.slack.calls import Ambiguous, NotNow, Ok, Outcome, Refused
from channels.slack.words.guardstate import JOINER
from gateway.engine.kinds import JsonObject
from tests.unit.slack.writing.fast import FastTime

LIFE = 300.0
Trouble = Literal["lost", "unsent", "limited", "killed before", "killed after"]


class Killed(Exception):
    """The process ended here."""


@dataclass
class Message:
    ts: str
    body: list[str] = field(default_factory=list)
    """Texts, and tasks as ``[state] title``."""
    tasks: dict[str, int] = field(default_factory=dict)
    started: float | None = None
    state: str = ""
    metadata: Any = None
    file: str = ""

    @property
    def text(self) -> str:
        return "".join(piece for piece in self.body if not piece.startswith("\x01"))

    @property
    def shown(self) -> list[str]:
        """What is read from top to bottom, neighbouring texts as one."""
        found: list[str] = []
        for piece in self.body:
            if piece.startswith("\x01") or not found or found[-1].startswith("\x01"):
                found.append(piece)
            else:
                found[-1] += piece
        return [piece.strip("\n\x01") for piece in found if piece.strip("\n\x01")]


class Slack:
    """``SlackApi``. ``trouble`` is by the number of the call, counted from 1; ``refuse`` by method."""

    def __init__(self, time: FastTime, trouble: Mapping[int, Trouble] | None = None) -> None:
        self.time = time
        self.trouble = dict(trouble or {})
        self.refuse: dict[str, str] = {}
        self.calls: list[tuple[str, JsonObject]] = []
        self.thread: list[Message] = []
        self.status = "active"
        self.uploads: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self._next = 0

    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
        assert installation == "T1"
        self.calls.append((method, args))
        return await self._struck(lambda: self._apply(method, args), method)

    async def upload(self, url: str, body: bytes) -> Outcome:
        def put() -> Outcome:
            self.uploads[url.removeprefix("http://up/")] = body
            return Ok({})

        self.calls.append(("upload", {}))
        return await self._struck(put, "upload")

    async def _struck(self, apply: Any, method: str) -> Outcome:
        await asyncio.sleep(0)
        struck = self.trouble.get(len(self.calls))
        if struck == "killed before":
            raise Killed
        if struck == "limited":
            return NotNow(2.0, "too many")
        twice = method in {"chat.update", "chat.delete"} or not method.startswith(
            ("chat", "files.c")
        )
        if struck == "unsent":
            return NotNow(1.0, "cut") if twice else Ambiguous("cut")
        done: Outcome = apply()
        if struck == "killed after":
            raise Killed
        if struck == "lost":
            return NotNow(1.0, "cut") if twice else Ambiguous("cut")
        return done

    # -- methods -----------------------------------------------------------------------------------
    def _apply(self, method: str, args: JsonObject) -> Outcome:
        if code := self.refuse.get(method):
            return Refused(code, {})
        for message in self.thread:
            if message.state == "in_progress" and self._age(message) >= LIFE:
                message.state = "errored"
        name = "_" + method.replace(".", "_").lower()
        return getattr(self, name)(args)  # type: ignore[no-any-return]

    def _age(self, message: Message) -> float:
        return self.time.monotonic() - (message.started or 0.0)

    def _new(self) -> Message:
        self._next += 1
        message = Message(f"{self.time.now() / 1000:.3f}{self._next:03d}")
        self.thread.append(message)
        return message

    def _find(self, args: JsonObject) -> Message | None:
        return next((m for m in self.thread if m.ts == args["ts"]), None)

    def _take(self, message: Message, args: JsonObject) -> None:
        for chunk in args.get("chunks") or []:  # type: ignore[union-attr]
            assert isinstance(chunk, dict)
            if chunk["type"] == "markdown_text":
                words = str(chunk["text"])
                assert words
                joins = bool(message.body) and not message.body[-1].startswith("\x01")
                assert not (joins and words[0].isspace()), (
                    "Slack may drop a blank where chunks meet"
                )
                message.body.append(words[1:] if words.startswith(f"{JOINER}\n") else words)
                continue
            told = f"\x01[{chunk['status']}] {chunk['title']}"
            place = message.tasks.setdefault(str(chunk["id"]), len(message.body))
            message.body[place : place + 1] = [told]

    def _chat_startstream(self, args: JsonObject) -> Outcome:
        assert args["thread_ts"]
        assert args["recipient_user_id"]
        assert args["recipient_team_id"]
        message = self._new()
        message.started, message.state = self.time.monotonic(), "in_progress"
        self._take(message, args)
        return Ok({"ts": message.ts})

    def _chat_appendstream(self, args: JsonObject) -> Outcome:
        message = self._find(args)
        if message is None:
            return Refused("message_not_found", {})
        if message.state != "in_progress":
            return Refused("message_not_in_streaming_state", {})
        if not args.get("chunks"):
            return Refused("no_text", {})
        self._take(message, args)
        return Ok({"ts": message.ts})

    def _chat_stopstream(self, args: JsonObject) -> Outcome:
        message = self._find(args)
        if message is None:
            return Refused("message_not_found", {})
        if message.state != "in_progress":
            return Refused("message_not_in_streaming_state", {})
        self._take(message, args)
        message.state, message.metadata = "completed", args.get("metadata")
        self.status = str(args["session_status"])
        return Ok({"ts": message.ts})

    def _chat_postmessage(self, args: JsonObject) -> Outcome:
        message = self._new()
        self._write(message, args)
        return Ok({"ts": message.ts})

    def _chat_update(self, args: JsonObject) -> Outcome:
        message = self._find(args)
        if message is None:
            return Refused("message_not_found", {})
        if message.state == "in_progress":
            return Refused("streaming_state_conflict", {})
        message.state = "completed"
        self._write(message, args)
        return Ok({"ts": message.ts})

    def _write(self, message: Message, args: JsonObject) -> None:
        assert args["parse"] == "none"
        message.metadata = args["metadata"]
        message.body = [_words(block) for block in args.get("blocks") or []]  # type: ignore[union-attr]
        if not message.body:
            message.body = [str(args["text"])]

    def _chat_delete(self, args: JsonObject) -> Outcome:
        message = self._find(args)
        if message is None:
            return Refused("message_not_found", {})
        self.thread.remove(message)
        return Ok({"ts": message.ts})

    def _conversations_replies(self, args: JsonObject) -> Outcome:
        assert args["include_all_metadata"]
        return Ok({"messages": [self._told(message) for message in self.thread]})

    def _told(self, message: Message) -> JsonObject:
        told: JsonObject = {"ts": message.ts, "bot_id": "B1", "text": message.text}
        if message.state:
            told["streaming_state"] = message.state
        if message.metadata:
            told["metadata"] = message.metadata
        return told

    def _auth_test(self, args: JsonObject) -> Outcome:
        return Ok({"user_id": "UB", "bot_id": "B1"})

    def _agents_sessions_setstatus(self, args: JsonObject) -> Outcome:
        self.status = str(args["status"])
        return Ok({})

    def _assistant_threads_setstatus(self, args: JsonObject) -> Outcome:
        self.status = f"old:{args['status']}"
        return Ok({})

    def _files_getuploadurlexternal(self, args: JsonObject) -> Outcome:
        self._next += 1
        name = f"F{self._next}"
        self.names[name] = str(args["filename"])
        return Ok({"upload_url": f"http://up/{name}", "file_id": name})

    def _files_completeuploadexternal(self, args: JsonObject) -> Outcome:
        (given,) = cast("list[JsonObject]", args["files"])
        name = given["id"]
        assert name in self.uploads
        self._new().file = str(name)
        return Ok({"files": [{"id": name}]})

    def _files_info(self, args: JsonObject) -> Outcome:
        shared = any(message.file == args["file"] for message in self.thread)
        if not shared:
            return Refused("file_not_found", {})
        return Ok({"file": {"id": args["file"], "shares": {"public": {"C1": [{"ts": "1"}]}}}})

    # -- what people see -------------------------------------------------------------------------------
    @property
    def shown(self) -> list[list[str]]:
        return [
            [f"file {self.names[m.file]}", self.uploads[m.file].decode()] if m.file else m.shown
            for m in self.thread
        ]

    @property
    def said(self) -> str:
        """All words in the thread, in order, without tasks."""
        return "\n\n".join(message.text.strip("\n") for message in self.thread if message.text)

    def count(self, *methods: str) -> int:
        return sum(method in methods for method, _ in self.calls)


def _words(block: Any) -> str:
    if block["type"] == "markdown":
        return str(block["text"])
    if block["type"] == "task_card":
        return f"\x01[{block['status']}] {block['title']}"
    return "".join(_texts(block))


def _texts(node: Any) -> list[str]:
    if isinstance(node, list):
        return [text for item in node for text in _texts(item)]
    if not isinstance(node, dict):
        return []
    own = [node["text"]] if isinstance(node.get("text"), str) else []
    return [*own, *_texts(node.get("elements"))]
