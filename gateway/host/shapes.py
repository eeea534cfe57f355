"""The JSON that goes in and out, as schemas: bodies are checked against the same ones that
``/openapi.json`` publishes, so that neither can drift from the other.
"""

from __future__ import annotations

from gateway.engine.kinds import Json, JsonObject

# Printable ASCII without spaces, slashes and the # that marks archived history: what survives a
# header and a path segment through any proxy. The look-ahead keeps a final line feed out, which
# ``$`` alone lets pass in Python; ``.`` and ``..`` are steps of a path, which clients resolve
# before they send it, so nothing so called could be reached again.
KEY_CHARACTERS = r"[!\"$-.0-\[\]-~]"
KEY_LENGTH = 256
NO_DOTS = r"(?!\.{1,2}$)"
KEY_PATTERN = rf"^{NO_DOTS}{KEY_CHARACTERS}+$(?!\n)"
TEXT_PATTERN = r"^[^\u0000]*$"
IDENTITY_PATTERN = r"^[^\s\u0000-\u001f\u007f]+$(?!\n)"


def obj(properties: JsonObject, required: str = "", **more: Json) -> JsonObject:
    """An object schema; ``required`` names properties, separated by spaces."""
    out: JsonObject = {"type": "object", "properties": properties, **more}
    if required:
        out["required"] = [*required.split()]
    return out


def text(about: str = "", **more: Json) -> JsonObject:
    out: JsonObject = {"type": "string", **more}
    return {**out, "description": about} if about else out


def one_of(*names: str) -> JsonObject:
    return {"type": "string", "enum": [*names]}


def listed(item: JsonObject) -> JsonObject:
    return {"type": "array", "items": item}


def ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def maybe(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


def key(about: str) -> JsonObject:
    return text(about, pattern=KEY_PATTERN, minLength=1, maxLength=KEY_LENGTH)


MOMENT: JsonObject = {"type": "integer", "description": "Milliseconds since 1970, UTC."}
COUNT: JsonObject = {"type": "integer", "minimum": 0}
ANY: JsonObject = {}
FREE: JsonObject = {"type": "object"}
STATES = one_of("queued", "running", "suspended", "completed", "failed", "cancelled", "timed_out")

SESSION = key("The key of a conversation.")
HISTORY = text(
    "The key of a conversation, or of an archived generation of it.",
    pattern=rf"^{KEY_CHARACTERS}+(#g[0-9]{{1,9}})?$(?!\n)",
    minLength=1,
    maxLength=KEY_LENGTH,
)
NEW_SESSION = key("The conversation. A new random key is made when none is given.")
TURN_ID = key("Names the turn: the same id with the same content is the same turn.")
IDENTITY = text(
    "A canonical identity such as slack:T024BE7LH:U024BE7LH.",
    pattern=IDENTITY_PATTERN,
    minLength=1,
    maxLength=256,
)
MESSAGE = text("What opens the turn.", pattern=TEXT_PATTERN, minLength=1)
SPEAKER: JsonObject = {
    "description": "Who speaks, verified by the holder of the token, who vouches for it.",
    "anyOf": [
        IDENTITY,
        obj(
            {
                "id": IDENTITY,
                "name": text(pattern=TEXT_PATTERN, maxLength=256),
                "tenant": text(pattern=TEXT_PATTERN, maxLength=256),
                "level": one_of("none", "domain", "sender", "provider"),
            },
            "id",
            additionalProperties=False,
        ),
    ],
}
DELIVERY_STATES = one_of("due", "sending", "resting", "done", "dead", "silent")

# -- bodies ----------------------------------------------------------------------------------------
CHAT = obj(
    {"message": MESSAGE, "session": NEW_SESSION, "turn_id": TURN_ID, "speaker": SPEAKER},
    "message",
    additionalProperties=False,
)
START = obj(
    {"message": MESSAGE, "turn_id": TURN_ID, "speaker": SPEAKER, "target": FREE},
    "message",
    additionalProperties=False,
)
_ANSWER: JsonObject = {
    "value": {"description": "The answer; it must fit the request's schema."},
    "by": {
        **IDENTITY,
        "description": "Who decided, verified by the holder of the token; must lie within the"
        " token's identity prefixes. Stored as `<by> via api:<token>`.",
    },
    "reason": text("Read by the model.", pattern=TEXT_PATTERN, maxLength=2000),
    "digest": text("Of the request as it was shown; another one is a 409.", maxLength=128),
}
RESUME = obj(
    {
        "turn_id": text("The turn that waits.", minLength=1, maxLength=512),
        "input_id": text("The request to answer.", minLength=1, maxLength=512),
        **_ANSWER,
    },
    "turn_id input_id value",
    additionalProperties=False,
)
DECIDE = obj(_ANSWER, "value", additionalProperties=False)
EMPTY = obj({}, additionalProperties=False)

# -- answers ---------------------------------------------------------------------------------------
_OUTCOME: JsonObject = {
    "text": text("The final text."),
    "turn_id": text(),
    "session": text(),
    "status": one_of("completed", "suspended", "failed", "cancelled", "timed_out"),
    "error": {"type": "object", "description": "Why it failed, was cancelled or ran out of time."},
    "request": ref("Request"),
}
_SESSION_ROW: JsonObject = {
    "agent": text(),
    "session": text(),
    "status": text(),
    "generation": COUNT,
    "turns": COUNT,
    "pending": maybe(text("Id of the request it waits for.")),
    "created_at": MOMENT,
    "active_at": MOMENT,
}
_TURN_ROW: JsonObject = {
    "agent": text(),
    "session": text(),
    "turn_id": text(),
    "state": STATES,
    "source": text(),
    "speaker": maybe(text()),
    "opening": text("The beginning of what opened it."),
    "error": maybe(FREE),
    "request": maybe(text("Id of the request it waits for.")),
    "attempts": COUNT,
    "queued_at": MOMENT,
    "started_at": maybe(MOMENT),
    "ended_at": maybe(MOMENT),
}
_NAME = maybe(text("What people call it, where this host knows."))
_AUDIT_ROW: JsonObject = {
    "number": COUNT,
    "at": MOMENT,
    "kind": text("What happened, such as outcome_unknown."),
    "agent": text(),
    "session": text(),
    "turn_id": text(),
    "subject": text("What it happened to; of a call, its step."),
    "by": maybe(text()),
    "digest": maybe(text()),
    "outcome": text(),
}
_DELIVERY: JsonObject = {
    "id": COUNT,
    "agent": text(),
    "session": text(),
    "turn_id": text(),
    "part": text("What of the turn it shows: reply, note:queued, card:<request>."),
    "source": text("The channel."),
    "target": FREE,
    "lane": text("One at a time goes to the same."),
    "request": maybe(text("The request it shows.")),
    "state": DELIVERY_STATES,
    "wanted": COUNT,
    "shown": COUNT,
    "seq": COUNT,
    "ref": maybe(text("What the platform calls it.")),
    "attempts": COUNT,
    "next_try": MOMENT,
    "error": maybe(text("Why it isn't shown, or isn't yet.")),
    "revive_on": maybe(text("What would bring a dead one back.")),
    "remind_at": maybe(MOMENT),
    "at": MOMENT,
    "parts": listed(FREE),
}
_VERDICT: JsonObject = {
    "source": text("The channel."),
    "event": text("The platform's id."),
    "verdict": text(),
    "rule": text("What decided."),
    "place": maybe(text()),
    "speaker": maybe(text()),
    "agent": maybe(text()),
    "session": maybe(text()),
    "turn_id": maybe(text("The turn it opened.")),
    "said": maybe(text("What the person was told.")),
    "copies": COUNT,
    "at": MOMENT,
}
_REQUEST: JsonObject = {
    "id": text("Opaque; what an answer names."),
    "name": text("The author's name for it."),
    "prompt": text(),
    "schema": {"type": "object", "description": "JSON schema of the answer."},
    "digest": text("Of all that is shown; send it with the answer."),
    "tool": text(),
    "arguments": FREE,
    "answerers": FREE,
    "votes": COUNT,
    "created_at": MOMENT,
    "expires_at": maybe(MOMENT),
}
_VOTE: JsonObject = {
    "by": text("Whose vote it is."),
    "value": {},
    "reason": maybe(text()),
    "at": MOMENT,
    "counts": {"type": "boolean"},
    "why": text("Why it doesn't count; empty if it does."),
}


def _named(row: JsonObject, fields: str) -> JsonObject:
    """A row with names beside its ids."""
    return obj({**row, **{f"{one}_name": _NAME for one in fields.split()}}, " ".join(row))


COMPONENTS: JsonObject = {
    "Problem": obj(
        {
            "type": text(),
            "title": text(),
            "status": {"type": "integer"},
            "code": text("Stable; the reference lists all."),
            "detail": text(),
            "fix": text("The next step."),
        },
        "type title status code detail",
    ),
    "Request": obj(_REQUEST, " ".join(_REQUEST)),
    "Outcome": obj(_OUTCOME, "text turn_id session status"),
    "Accepted": obj({"turn_id": text(), "session": text()}, "turn_id session"),
    "Ending": obj({"turn_id": text(), "session": text(), "state": STATES}, "turn_id session state"),
    "Reset": obj(
        {
            "previous_session": text("Where the archived history is read."),
            "generation": COUNT,
        },
        "previous_session generation",
    ),
    "Transcript": obj(
        {
            "messages": listed(
                obj(
                    {
                        "role": one_of("user", "trigger", "assistant", "tool"),
                        "turn_id": text(),
                        "content": listed(FREE),
                    },
                    "role turn_id content",
                )
            )
        },
        "messages",
    ),
    "Snapshot": obj(
        {
            "turn_id": text(),
            "session": text(),
            "state": STATES,
            "text": text(),
            "error": FREE,
            "request": ref("Request"),
            "usage": FREE,
            "cost": maybe(text("US dollars, as a decimal.")),
            "last_seq": COUNT,
            "queued_at": MOMENT,
            "started_at": maybe(MOMENT),
            "ended_at": maybe(MOMENT),
        },
        "turn_id state text usage cost last_seq",
    ),
    "Frame": obj(
        {
            "event": text("The event's type."),
            "data": text("The event: one JSON object with type, turn_id, session, at, seq?."),
            "id": text("Its seq; on durable events only."),
        },
        "event data",
    ),
    "Events": obj({"events": listed(FREE)}, "events"),
    "Answered": obj(
        {
            "id": text(),
            "agent": text(),
            "session": text(),
            "turn_id": text(),
            "decided": {"type": "boolean", "description": "False while a quorum is short."},
            "outcome": maybe(one_of("approved", "denied", "answered", "expired", "cancelled")),
            "votes": COUNT,
            "quorum": COUNT,
        },
        "id agent session turn_id decided outcome votes quorum",
    ),
    "Sessions": obj({"sessions": listed(_named(_SESSION_ROW, "session"))}, "sessions"),
    "Turns": obj({"turns": listed(_named(_TURN_ROW, "session speaker"))}, "turns"),
    "Approval": obj(
        {
            **_REQUEST,
            "agent": text(),
            "session": text(),
            "turn_id": text(),
            "outcome": maybe(text()),
            "by": maybe(text()),
            "by_name": _NAME,
            "session_name": _NAME,
            "cast": listed(obj(_VOTE, " ".join(_VOTE))),
        },
        " ".join([*_REQUEST, "agent", "session", "turn_id"]),
    ),
    "Approvals": obj({"approvals": listed(ref("Approval"))}, "approvals"),
    "Audit": obj({"audit": listed(obj(_AUDIT_ROW, " ".join(_AUDIT_ROW)))}, "audit"),
    "Delivery": _named(_DELIVERY, "session target ref"),
    "Deliveries": obj({"deliveries": listed(ref("Delivery"))}, "deliveries"),
    "Verdicts": obj({"verdicts": listed(_named(_VERDICT, "session place speaker"))}, "verdicts"),
    "Agents": obj(
        {
            "agents": listed(
                obj(
                    {
                        "name": text(),
                        "model": text(),
                        "tools": listed(
                            obj(
                                {"name": text(), "description": text(), "effect": text()},
                                "name description effect",
                            )
                        ),
                    },
                    "name model tools",
                )
            )
        },
        "agents",
    ),
    "Status": obj(
        {
            "ready": {"type": "boolean"},
            "problems": listed(text()),
            "draining": {"type": "boolean"},
            "running": COUNT,
            "queued": COUNT,
            "approvals": COUNT,
            "oldest_approval": maybe(MOMENT),
            "dead_deliveries": COUNT,
            "held_mail": {**COUNT, "description": "Mails that wait for an operator."},
            "schedule_lag": {"type": "number", "description": "Seconds that schedules are behind."},
            "agents": listed(text()),
            "store": text(),
            "channels": listed(
                obj(
                    {
                        "name": text(),
                        "on": {"type": "boolean"},
                        "available": {"type": "boolean"},
                        "missing": listed(text("A setting that would turn it on.")),
                        "off": maybe(text("What would turn it on, where it is off.")),
                        "problem": maybe(text("What keeps it from working now.")),
                        "standing": listed(
                            obj(
                                {"name": text(), "told": text("How it is."), "at": maybe(MOMENT)},
                                "name told at",
                            )
                        ),
                    },
                    "name on available missing problem standing",
                )
            ),
            "version": text(),
            "started_at": MOMENT,
        },
        "ready problems draining running queued approvals agents store channels",
    ),
    "Health": obj({"status": one_of("ok")}, "status"),
    "Readiness": obj({"ready": {"type": "boolean"}, "problems": listed(text())}, "ready problems"),
}
