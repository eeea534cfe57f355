"""A request as a person decides on it: from its own arguments, never from the model's words."""

from __future__ import annotations

import json

from gateway.cli.out import Out, Part
from gateway.cli.told import object_of, objects_of, text_of, whole
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import distance, iso


def answerers(given: JsonObject) -> str:
    """Who may answer, in words."""
    if given.get("anyone"):
        who = "you"
    elif user := text_of(given.get("user")):
        who = user
    else:
        scope = text_of(given.get("scope"))
        who = text_of(given.get("policy")) + (f" ({scope})" if scope else "")
    told = [who or "nobody"]
    if (quorum := whole(given.get("quorum"))) > 1:
        told.append(f"{quorum} people")
    if given.get("not_requester"):
        told.append("not who asked")
    return ", ".join(told)


def card(out: Out, request: JsonObject) -> None:
    """Everything an answer would be bound to, argument by argument and uncut."""
    schema = object_of(request.get("schema"))
    out.say(("⏸ ", "yellow"), (text_of(request.get("prompt")), "bold"))
    rows: list[tuple[str, Part]] = [("  tool", text_of(request.get("tool")))]
    rows += [
        (f"    {name}", json.dumps(value, ensure_ascii=False))
        for name, value in object_of(request.get("arguments")).items()
    ]
    rows.append(("  may answer", answerers(object_of(request.get("answerers")))))
    if whole(request.get("votes")):
        quorum = whole(object_of(request.get("answerers")).get("quorum"))
        rows.append(("  votes", f"{whole(request.get('votes'))} of {quorum}"))
        rows += [("", _vote(one)) for one in _votes(request)]
    if schema.get("type") != "boolean":
        rows.append(("  answer fits", json.dumps(schema, ensure_ascii=False)))
    if expires := request.get("expires_at"):
        rows.append(("  until", iso(whole(expires))))
    if session := text_of(request.get("session")):
        rows.append(("  session", f"{session}, turn {text_of(request.get('turn_id'))}"))
    rows.append(("  request", (text_of(request.get("id")), "dim")))
    out.fields(rows)


def _votes(request: JsonObject) -> list[JsonObject]:
    return objects_of(request.get("cast"))


def _vote(vote: JsonObject) -> str:
    """Whose it is, what it says if it isn't a yes, and why it doesn't count if it doesn't."""
    said = "" if vote.get("value") is True else f": {json.dumps(vote.get('value'))}"
    why = f" (kept, not counted: {text_of(vote.get('why'))})" if vote.get("why") else ""
    return f"{text_of(vote.get('by'))}{said}{why}"


def boolean(request: JsonObject) -> bool:
    """Whether yes or no answers it."""
    return object_of(request.get("schema")).get("type") == "boolean"


def command(request: JsonObject) -> str:
    """The command that answers it: only yes or no can be said without a value."""
    name = text_of(request.get("id"))
    if boolean(request):
        return f"gateway approvals approve {name}"
    return f"gateway approvals answer {name} --value '<JSON that fits the schema>'"


FORGOTTEN = (
    "it waits in memory and is gone when this command ends; to keep it: export"
    " DATABASE_URL=sqlite:///.gateway/gateway.db, or keep a host running: gateway serve"
)
"""What to say in place of a command, where there will be nothing left to answer."""


def since(request: JsonObject, now: int) -> str:
    return distance(whole(request.get("created_at")), now)
