"""What an agent's thread shows about itself: that it is at work, waits for a person, or is done.

Methods ("agents.sessions.setStatus" and "assistant.threads.setStatus" in Slack's docs): ``processing`` shows a
loader and a Stop button. An app that isn't declared an agent is refused there and has the older method: any
text, gone after two minutes or with the next message. Pure.
"""

from __future__ import annotations

from channels.slack.writing.acts import OLD_STATUS, STATUS, Act, Status, Target
from channels.slack.writing.tempo import PATIENCE, STATUS_EVERY, Budget, Tempo
from gateway.engine.kinds import JsonObject, Millis

AT_WORK = "is working on it…"


def method(budget: Budget) -> str | None:
    """The way to tell it here, if there is one."""
    return next((name for name in (STATUS, OLD_STATUS) if budget(name) <= PATIENCE), None)


def due(status: Status, tempo: Tempo, budget: Budget, now: Millis) -> str | None:
    """The method to call for this status, unless it is shown."""
    chosen = method(budget)
    fades = chosen == OLD_STATUS and status == "processing"
    if tempo.status == status and not (fades and now - tempo.status_at >= STATUS_EVERY):
        return None
    return chosen


def act(chosen: str, status: Status, to: Target) -> Act:
    args: JsonObject = {"channel_id": to.channel, "thread_ts": to.thread}
    if chosen == OLD_STATUS:
        args["status"] = AT_WORK if status == "processing" else ""
    else:
        args["status"] = status
    return Act(kind="status", method=chosen, args=args, status=status)
