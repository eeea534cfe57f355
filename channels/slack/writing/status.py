"""What an agent's thread shows about itself: that it is at work, waits for a person, or is done.

Methods ("agents.sessions.setStatus" and "assistant.threads.setStatus" in Slack's docs): ``processing`` shows a
loader and a Stop button. The first status begins the session, and names it and whoever began it, who must be in
the channel; later ones leave both as they are. An app that isn't declared an agent is refused there and has the
older method: any text, gone after two minutes or with the next message. Pure.
"""

from __future__ import annotations

from channels.slack.calls import FOR_GOOD, OF_THE_PLACE
from channels.slack.writing.acts import OLD_STATUS, STATUS, Act, Status, Target
from channels.slack.writing.tempo import PATIENCE, STATUS_EVERY, Budget, Tempo
from gateway.engine.kinds import JsonObject, Millis

AT_WORK = "is working on it…"
NO_SCOPE = "missing_scope"
TITLE, INITIATOR = "title", "initiator_user_id"


def method(budget: Budget) -> str | None:
    """The way to tell it here, if there is one."""
    return next((name for name in (STATUS, OLD_STATUS) if budget(name) <= PATIENCE), None)


def due(status: Status, tempo: Tempo, budget: Budget, now: Millis) -> str | None:
    """The method to call for this status, unless it is shown."""
    if tempo.shut:
        return None
    chosen = method(budget)
    fades = chosen == OLD_STATUS and status == "processing"
    if tempo.status == status and not (fades and now - tempo.status_at >= STATUS_EVERY):
        return None
    return chosen


def act(chosen: str, status: Status, to: Target, *, named: bool = False) -> Act:
    """``named``: should this begin the session, it says what that is called and who began it."""
    args: JsonObject = {"channel_id": to.channel, "thread_ts": to.thread}
    if chosen == OLD_STATUS:
        args["status"] = AT_WORK if status == "processing" else ""
    else:
        args["status"] = status
        if named and status == "processing":
            args.update(_names(to))
    return Act(kind="status", method=chosen, args=args, status=status)


def shuts_out(code: str) -> bool:
    """Whether a refusal is about more than statuses: the next call meets it, too, and once it is mended the
    thread is told at once how things stand."""
    return code in FOR_GOOD or (code in OF_THE_PLACE and code != NO_SCOPE)


def is_named(act: Act) -> bool:
    return bool(act.args.keys() & {TITLE, INITIATOR})


def _names(to: Target) -> JsonObject:
    """A bot has no id of a person, and begins nothing."""
    initiator = to.user if to.user[:1] in {"U", "W"} else ""
    given: JsonObject = {TITLE: to.title, INITIATOR: initiator}
    return {name: value for name, value in given.items() if value}
