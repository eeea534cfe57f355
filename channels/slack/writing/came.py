"""What a call's outcome makes of the part it was about.

Errors ("chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update" and "chat.delete" in
Slack's docs): a stream that lived too long answers ``message_not_in_streaming_state`` and shows a fault until
it is rewritten; one that a person stopped answers ``stopped_by_user`` and shows what it showed. Pure.
"""

from __future__ import annotations

from channels.contract import SETTLING, Undeliverable
from channels.slack.calls import (
    FOR_GOOD,
    Ambiguous,
    NotNow,
    Ok,
    Outcome,
    Refused,
    dead,
)
from channels.slack.parsing.envelope import slack_id
from channels.slack.writing import status
from channels.slack.writing.acts import Act, Target
from channels.slack.writing.shown import Extra, Plain, extra_of, with_extra
from channels.slack.writing.tempo import REFUSED_FOR
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Part, PartState
from gateway.engine.struct import replace, struct

AGAIN = 1.0
"""Seconds."""
NO_AGENT = "not_agent_app"
STREAM_ONLY = frozenset({"user_is_bot", "user_not_found"})
"""Refusals that are about the person a stream is for: a post is for nobody."""
GONE = frozenset({"message_not_found", "thread_not_found"})
FIXED = frozenset({"cant_update_message", "edit_window_closed", "message_not_owned_by_app"})
"""Refusals to change a message that is there."""
ENDED = "message_not_in_streaming_state"
STOPPED = "stopped_by_user"
LIVE = "streaming_state_conflict"


@struct(frozen=True, slots=True, kw_only=True)
class Came:
    """``parts`` are to be written down. ``again``: nothing was done, try after so many seconds.
    ``closed``: for how long the method isn't to be tried in this place. ``unnamed``: from now on without the
    session's name. ``shut``: no status gets through now. ``lost``: it can't be delivered."""

    parts: tuple[Part, ...] = ()
    again: float | None = None
    closed: float | None = None
    unnamed: bool = False
    shut: bool = False
    lost: Undeliverable | None = None


def came(act: Act, outcome: Outcome, to: Target, now: Millis) -> Came:
    match outcome:
        case Ok(data):
            ts = data.get("ts")
            there = replace(to, channel=slack_id(data, "channel") or to.channel)
            return Came(parts=_done(act, there.ref(ts) if isinstance(ts, str) else None, now))
        case NotNow(after):
            return Came(parts=_undone(act), again=after)
        case Ambiguous():
            return _unclear(act, now)
        case Refused():
            return _refused(act, outcome, to)


def _done(act: Act, ref: str | None, now: Millis) -> tuple[Part, ...]:
    part = act.part
    if part is None:
        return ()
    if act.before is not None:
        return (part,)
    begun = now if act.kind == "start" else None
    return (replace(part, state=act.settles, ref=ref, started_at=begun),)


def _undone(act: Act, plain: Plain | None = None) -> tuple[Part, ...]:
    """A part that didn't come into being is crossed out; one that is there stays as it was."""
    if act.part is None or act.before is not None:
        return ()
    extra = extra_of(act.part)
    kept = Extra(plain=extra.plain if plain is None else plain)
    return (with_extra(replace(act.part, state="gone", ref=None), kept),)


def _unclear(act: Act, now: Millis) -> Came:
    if act.kind in {"append", "stop"} and act.before is not None:
        return Came(parts=(replace(act.before, state="broken", hash=""),))
    if act.kind == "update" and act.before is not None:
        extra = replace(extra_of(act.before), unsure=now + SETTLING)
        return Came(parts=(with_extra(act.before, extra),), again=AGAIN)
    if act.before is None and act.part is not None:
        return Came()  # it stays opening, and somebody looks
    return Came(again=AGAIN)


# -- refusals ----------------------------------------------------------------------------------------
def _refused(act: Act, refused: Refused, to: Target) -> Came:
    code = refused.code
    if act.kind == "status":
        # The name may be all that is wrong: whoever asked has left the channel. Without it, then.
        if status.is_named(act) and code != NO_AGENT:
            return Came(unnamed=True)
        return Came(shut=True) if status.shuts_out(code) else Came(closed=REFUSED_FOR)
    if act.kind == "start" and (code in STREAM_ONLY or code.startswith("restricted_action")):
        return Came(parts=_undone(act), closed=REFUSED_FOR)
    if act.kind in {"end", "delete"} and code not in FOR_GOOD:
        # Whatever it says, the stream takes no more; and what can't be deleted is left alone.
        return Came(parts=() if act.part is None else (_ended(act),))
    if (letter := dead(refused, to.installation, to.channel)) is not None:
        # It wasn't made, so whoever retries has nothing to look for.
        return Came(parts=_undone(act), lost=letter)
    if act.before is None:
        return _not_made(act, code)
    return _not_changed(act, act.before, code)


def _ended(act: Act) -> Part:
    part = act.part or act.before
    assert part is not None  # noqa: S101 - both kinds are about a part
    if part.state == "final":
        return replace(part, state="open", hash="")  # its last line didn't get through
    return part


def _not_made(act: Act, code: str) -> Came:
    if act.kind == "start":
        return Came(parts=_undone(act), closed=REFUSED_FOR)
    plain = extra_of(act.part).plain if act.part is not None else 2
    if plain == 2:
        detail = f"Slack refuses even the bare text of it ({code}); retry the delivery"
        return Came(parts=_undone(act), lost=Undeliverable(code, detail))
    return Came(parts=_undone(act, plain=1 if plain == 0 else 2))


def _not_changed(act: Act, before: Part, code: str) -> Came:
    if code in GONE:
        return Came(parts=(replace(before, state="gone"),))
    if act.kind in {"append", "stop"}:
        state: PartState = "open" if code in {ENDED, STOPPED} else "broken"
        kept = before.hash if code == STOPPED else ""
        return Came(parts=(replace(before, state=state, end=before.acked, hash=kept),))
    if code == LIVE:
        return Came(parts=(replace(before, state="broken", hash=""),))
    extra = extra_of(before)
    if code in FIXED or extra.plain:
        return Came(parts=(with_extra(before, replace(extra, drop=True)),))
    return Came(parts=(with_extra(before, replace(extra, plain=1)),))
