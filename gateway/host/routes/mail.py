"""Mail that came in: what waits for an operator, how its author was judged, letting it in, handing a
conversation back."""

from __future__ import annotations

from aiohttp import web

from gateway.engine.kinds import Json, JsonObject
from gateway.host.problems import json_response
from gateway.host.routes.given import BY, LIMIT, by, limit
from gateway.host.shapes import ANY, COUNT, FREE, MOMENT, listed, maybe, obj, ref, text
from gateway.host.table import Call, Query, Reply, Route

RAW = "message/rfc822"

_MAIL: JsonObject = {
    "event": text("What the mail is called everywhere."),
    "verdict": text(),
    "rule": text("What decided."),
    "means": text("The same in words."),
    "at": MOMENT,
    "kept": {
        "type": "boolean",
        "description": "False: its bytes are gone; what follows is missing.",
    },
}
_READ: JsonObject = {
    "came": MOMENT,
    "from": text("What From says, made harmless."),
    "address": text("The author's, or empty where that can't be told."),
    "domain": text(),
    "level": text("none, domain or sender."),
    "known": text("What that means, in one sentence."),
    "reasons": listed(text("Why it isn't more.")),
    "subject": text(),
    "conversation": text(),
    "joins_session": text("The session that it belongs to."),
    "taken_over": text("Who of ours speaks in it; empty where the agent does."),
}
_CONVERSATION: JsonObject = {
    "conversation": text(),
    "session": text(),
    "people": listed(text("An address that takes part.")),
    "taken_over": text("Who of ours speaks in it; empty where the agent does."),
}
COMPONENTS: JsonObject = {
    "Mail": obj({**_MAIL, **_READ}, " ".join(_MAIL)),
    "Mails": obj({"mail": listed(ref("Mail"))}, "mail"),
    "MailRead": obj(
        {
            **_MAIL,
            **_READ,
            "text": text("What was written now."),
            "quoted": text("What stands quoted below it, and signatures."),
            "hidden": {**COUNT, "description": "Characters that its reader wouldn't see."},
            "attachments": listed(FREE),
            "notes": listed(text("What can't be read, and why.")),
            "bounce": maybe(FREE),
            "now": {**FREE, "description": "Of a replay: what would be judged now."},
        },
        " ".join(_MAIL),
    ),
    "Admitted": obj(
        {
            "event": text(),
            "session": text("Where it will be answered."),
            "turn_id": text("The turn that it will be."),
            "held_for": text("The rule that held it."),
        },
        "event session turn_id held_for",
    ),
    "Conversation": obj({**_CONVERSATION, "was": ANY}, " ".join(_CONVERSATION)),
}


def mail_routes() -> tuple[Route, ...]:
    one, talk, unknown = "/mail/{event}", "/conversations/{conversation}", (404, 503)
    only_held: JsonObject = {"type": "string", "enum": ["1"]}
    return (
        Route(
            method="GET",
            path="/mail",
            name="mail",
            about="Mail that came in, the latest first, with how its author was judged.",
            handler=mail,
            right="read",
            query=(
                Query(name="held", schema=only_held, about="What waits for an operator."),
                LIMIT,
            ),
            replies={200: Reply(about="The mail.", component="Mails")},
            problems=(400, 503),
        ),
        Route(
            method="GET",
            path=one,
            name="read_mail",
            about="One mail: its verdict, its author, its text.",
            handler=read,
            right="read",
            replies={200: Reply(about="The mail.", component="MailRead")},
            problems=unknown,
        ),
        Route(
            method="GET",
            path=f"{one}/raw",
            name="raw_mail",
            about="The bytes of a mail as they came.",
            handler=raw,
            right="read",
            replies={200: Reply(about="The bytes.", media=(RAW,))},
            problems=unknown,
        ),
        Route(
            method="GET",
            path=f"{one}/replay",
            name="replay_mail",
            about="Read a mail's bytes again, and say what would be judged now. Changes nothing.",
            handler=replay,
            right="read",
            replies={
                200: Reply(about="The mail, and as `now` the judgement.", component="MailRead")
            },
            problems=unknown,
        ),
        Route(
            method="POST",
            path=f"{one}/admit",
            name="admit_mail",
            about="Let in what is held.",
            handler=admit,
            right="admin",
            body=BY,
            body_optional=True,
            replies={202: Reply(about="It is let in next.", component="Admitted")},
            problems=(*unknown, 409),
        ),
        Route(
            method="GET",
            path=talk,
            name="conversation",
            about="Who takes part in a conversation by mail, and who of ours speaks in it.",
            handler=conversation,
            right="read",
            replies={200: Reply(about="The conversation.", component="Conversation")},
            problems=unknown,
        ),
        Route(
            method="POST",
            path=f"{talk}/handback",
            name="hand_back",
            about="Have the agent speak again where a colleague took over.",
            handler=hand_back,
            right="admin",
            body=BY,
            body_optional=True,
            replies={200: Reply(about="The conversation.", component="Conversation")},
            problems=unknown,
        ),
    )


async def mail(call: Call) -> web.StreamResponse:
    rows = await call.api.clerks.rows(limit(call), held="held" in call.query)
    found: list[Json] = [call.api.names.beside(row) for row in rows]
    return json_response({"mail": found})


async def read(call: Call) -> web.StreamResponse:
    found = await call.api.clerks.show(call.path["event"])
    return json_response(call.api.names.beside(found))


async def raw(call: Call) -> web.StreamResponse:
    """Never shown by a browser: it is a stranger's."""
    found = await call.api.clerks.raw(call.path["event"])
    headers = {
        "Content-Disposition": "attachment",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return web.Response(body=found, content_type=RAW, headers=headers)


async def replay(call: Call) -> web.StreamResponse:
    found = await call.api.clerks.replay(call.path["event"])
    return json_response(call.api.names.beside(found))


async def admit(call: Call) -> web.StreamResponse:
    return json_response(await call.api.clerks.admit(call.path["event"], by(call)), 202)


async def conversation(call: Call) -> web.StreamResponse:
    return json_response(await call.api.clerks.conversation(call.path["conversation"]))


async def hand_back(call: Call) -> web.StreamResponse:
    by(call)
    return json_response(await call.api.clerks.hand_back(call.path["conversation"]))
