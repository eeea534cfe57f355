"""What Slack tells us becomes one of four things: a message, an answer, a control, or nothing.

Two steps, with a look-up between them that isn't made here. ``read`` (or ``read_socket``) opens a
verified payload and says whose it is; the caller finds that installation; ``parse`` decides what the
payload means to it. Both are pure and total: whatever comes, there is a refusal or a verdict, and
never an exception. Formats and sources stand in the files of ``parsing``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from channels.contract import Parsed
from channels.slack.parsing import clicks, commands, lifecycle, messages
from channels.slack.parsing.envelope import (
    Envelope,
    Handshake,
    ignored,
    kind_of,
    obj,
    read,
    read_socket,
    text,
)
from channels.slack.parsing.identity import Installed, as_stated, installed
from channels.slack.policy import SlackRules

__all__ = [
    "UNKNOWN",
    "Envelope",
    "Handshake",
    "Installed",
    "as_stated",
    "installed",
    "parse",
    "read",
    "read_socket",
]

UNKNOWN = "unknown-installation"
"""The rule by which nothing comes of what an installation sends that isn't one of ours."""


def parse(envelope: Envelope, me: Installed | None, rules: SlackRules) -> Parsed:
    """``me`` is the installation that the envelope names, ``None`` where there is none."""
    if envelope.kind == "rate_limited":
        why = "Slack holds events of this workspace back: over 30,000 in an hour"
        return ignored(envelope, "not_addressed", "app-rate-limited", why)
    if me is None or not me.key or me.key != envelope.installation:
        why = f"the app isn't installed as {envelope.installation or 'anything named'} here"
        return ignored(envelope, "policy", UNKNOWN, why)
    if me.app and envelope.app and me.app != envelope.app:
        return ignored(envelope, "policy", "other-app", "it was sent to another app than ours")
    event = kind_of(obj(envelope.payload.get("event"))) if envelope.kind == "event" else ""
    if not me.active and event not in _WHEN_GONE:
        why = f"the installation {me.key} was revoked or uninstalled: install the app again"
        return ignored(envelope, "policy", "installation-off", why)
    if envelope.kind == "command":
        return commands.command(envelope, me)
    if envelope.kind == "interactive":
        return _interaction(envelope, me)
    return _event(envelope, me, rules)


_Told = Callable[[Envelope, Installed, SlackRules], Parsed]
_Done = Callable[[Envelope, Installed], Parsed]

_WHEN_GONE = frozenset({"app_uninstalled", "tokens_revoked"})

_EVENTS: Mapping[str, _Told] = {
    "agent_session_stopped": lifecycle.stopped,
    "agent_session_title_changed": lifecycle.hint,
    "app_context_changed": lifecycle.hint,
    "app_home_opened": lifecycle.home,
    "app_mention": messages.message,
    "app_uninstalled": lifecycle.gone,
    "channel_id_changed": lifecycle.renamed,
    "message": messages.message,
    "tokens_revoked": lifecycle.gone,
}
_CHANGES: Mapping[str, _Told] = {
    "message_changed": lifecycle.changed,
    "message_deleted": lifecycle.deleted,
}
_UNSUPPORTED = frozenset(
    {
        "assistant_thread_context_changed",
        "assistant_thread_started",
        "entity_details_requested",
        "function_executed",
        "link_shared",
    }
)
"""Events of features that want an answer which we don't give."""

_INTERACTIONS: Mapping[str, _Done] = {
    "block_actions": clicks.pressed,
    "message_action": commands.message_shortcut,
    "shortcut": commands.shortcut,
    "view_closed": clicks.view_closed,
    "view_submission": clicks.submitted,
}


def _event(envelope: Envelope, me: Installed, rules: SlackRules) -> Parsed:
    event = obj(envelope.payload.get("event"))
    kind = kind_of(event)
    told = _EVENTS.get(kind)
    if kind == "message":
        told = _CHANGES.get(text(event, "subtype"), told)
    if told is not None:
        return told(envelope, me, rules)
    if kind in _UNSUPPORTED:
        return ignored(envelope, "unsupported", "event-type", f"{kind} isn't supported")
    why = f"events of type {kind or 'none'} are nothing to us"
    return ignored(envelope, "not_addressed", "event-type", why)


def _interaction(envelope: Envelope, me: Installed) -> Parsed:
    kind = kind_of(envelope.payload)
    done = _INTERACTIONS.get(kind)
    if done is not None:
        return done(envelope, me)
    return ignored(envelope, "unsupported", "interaction", f"{kind} isn't supported")
