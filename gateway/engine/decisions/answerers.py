"""Who may answer a request, and whether two identities are one person. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateway.engine.decisions.opening import Opening
from gateway.engine.errors import (
    InputRequestError,
)
from gateway.engine.kinds import (
    JsonObject,
)

ANYONE: JsonObject = {"anyone": True}
"""The app drives its own resume: a programmatic turn that names no answerer."""


def answerers_for(given: Mapping[str, object] | None, opening: Opening) -> JsonObject:
    """The answerers of a request, spelled out. Raises ``InputRequestError`` when nobody may."""
    if given is None:
        return _default_answerers(opening)
    unknown = set(given) - {"user", "policy", "scope", "quorum", "not_requester"}
    if unknown or ("user" in given) == ("policy" in given):
        raise InputRequestError(
            f"answerers {dict(given)!r} can't be understood",
            fix='name {"user": "<identity>"} or {"policy": "<name>", "scope": …}, and join'
            ' "quorum" or "not_requester" if wanted',
        )
    named = "user" if "user" in given else "policy"
    who = given[named]
    if not isinstance(who, str) or not who:
        # Often somebody who was looked up and not found: that must not become anybody.
        raise InputRequestError(
            f"answerers {dict(given)!r} don't name a {named} that is a non-empty text",
            fix=f"name the {named}, or raise an error where there is none",
        )
    out: JsonObject = {named: who}
    if (scope := given.get("scope")) is not None:
        out["scope"] = str(scope)
    quorum = given.get("quorum", 1)
    if not isinstance(quorum, int) or isinstance(quorum, bool) or quorum < 1:
        raise InputRequestError("quorum must be a whole number ≥ 1", fix="set quorum to 1 or more")
    if quorum > 1:
        if "user" in out:
            raise InputRequestError(
                "one user can't make a quorum", fix="name a policy, or drop the quorum"
            )
        out["quorum"] = quorum
    if given.get("not_requester"):
        out["not_requester"] = True
    return out


def _default_answerers(opening: Opening) -> JsonObject:
    speaker = opening.speaker
    if speaker is not None and speaker.at_least("provider"):
        return {"user": speaker.id}
    if speaker is None and opening.event is None and opening.target is None:
        return dict(ANYONE)
    raise InputRequestError(
        "nobody may answer this request: the turn's speaker isn't verified well enough to decide"
        if speaker is not None or opening.event is not None
        else "nobody may answer this request on a channel: the turn has no speaker",
        fix='name an answerer: request_input(answerers={"policy": "…"}) or {"user": "…"}',
    )


def namespace(identity: str) -> str:
    """``slack:T1:U1`` → ``slack:T1``: where an identity is unique."""
    return identity.rpartition(":")[0]


def same_person(one: str, other: str, linked: Sequence[str]) -> bool:
    return one == other or (one in linked and other in linked)


# -- the park ------------------------------------------------------------------------------------------
