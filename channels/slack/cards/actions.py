"""Buttons that decide nothing: all arguments, the form, the form that asks why.

Sources: "views.open", "views.update", "Modals" in Slack's docs (docs.slack.dev): the trigger of a click
opens one modal, once, within three seconds. A modal that is open is turned to another page without one.
"""

from __future__ import annotations

from channels.contract import Control
from channels.protocol import Card
from channels.slack.calls import NotNow, Refused, SlackApi
from channels.slack.cards import arguments, form, looks
from channels.slack.parsing.clicks import NOT_NEEDED, REASON_FORM
from channels.slack.parsing.envelope import number, text
from channels.slack.reads.replying import say
from gateway.engine.kinds import JsonObject
from gateway.engine.limits import Waits

AGAIN = "That took too long to open. Please press it once more."
REFUSED = "Slack didn't open this. Nothing was done, and the request is as it was."

LATE = frozenset({"expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id"})


async def act(
    control: Control, card: Card | None, api: SlackApi, *, api_url: str, waits: Waits
) -> None:
    """Open what was asked for, or tell the person why not. At most once: the trigger is gone then."""
    if control.kind not in {"show", "form"}:
        return
    view, reply = None if card is None else _view(control, card), control.reply
    if view is None:
        await say(api, reply, NOT_NEEDED, api_url=api_url, waits=waits)
    elif opened := text(reply, "view_id"):
        args: JsonObject = {"view_id": opened, "view": view}
        # One that doesn't turn was closed meanwhile.
        _ = await api.call(text(reply, "installation"), "views.update", args)
    else:
        args = {"trigger_id": text(reply, "trigger_id"), "view": view}
        outcome = await api.call(text(reply, "installation"), "views.open", args)
        if isinstance(outcome, NotNow | Refused):
            late = isinstance(outcome, NotNow) or outcome.code in LATE
            words = AGAIN if late else REFUSED
            await say(api, reply, words, api_url=api_url, waits=waits)


def _view(control: Control, card: Card) -> JsonObject | None:
    """``None`` where there is nothing to answer any more; to look is always possible."""
    if control.kind == "show":
        return arguments.view(card, number(control.reply, "page"))
    if not looks.is_open(card):
        return None
    reason = text(control.reply, "form") == REASON_FORM
    return form.reason_view(card) if reason else form.view(card)
