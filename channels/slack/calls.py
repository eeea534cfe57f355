"""What comes of a call to Slack: four outcomes, and what each of Slack's words means among them.

Sources: "Web API: errors" and the error tables of each method in Slack's docs. A call that may have been
carried out although its answer was lost is ``Ambiguous``, and never made again before somebody has looked;
methods that do the same thing twice without harm never end so. Pure.
"""

from __future__ import annotations

from typing import Protocol

from channels.contract import Undeliverable
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct


@struct(frozen=True, slots=True)
class Ok:
    data: JsonObject


@struct(frozen=True, slots=True)
class NotNow:
    """Nothing was done, and it is worth asking again after so many seconds."""

    after: float
    why: str


@struct(frozen=True, slots=True)
class Refused:
    """Slack read the call and won't do it. ``code`` is its word."""

    code: str
    data: JsonObject

    @property
    def why(self) -> str:
        return self.code


@struct(frozen=True, slots=True)
class Ambiguous:
    """It may or may not have been done."""

    why: str


Outcome = Ok | NotNow | Refused | Ambiguous

CALL_SECONDS = 10.0
"""The longest that a call may take; a right to write must outlast it."""


class SlackApi(Protocol):
    """Slack's Web API with the right token for each installation. It never tries twice, and it never
    raises for what Slack or the network does."""

    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome: ...

    async def upload(self, url: str, body: bytes) -> Outcome:
        """Put a file's bytes where ``files.getUploadURLExternal`` said."""
        ...


FOR_GOOD = {
    "token_revoked": "the app's token was revoked",
    "token_expired": "the app's token has expired and can't be renewed",
    "account_inactive": "the app was uninstalled, or its workspace is gone",
    "invalid_auth": "Slack doesn't accept the app's token",
    "not_authed": "no token for this workspace is configured",
    "no_installation": "the app isn't installed in this workspace",
    "team_access_not_granted": "the app may not act in this workspace",
}
"""Refusals that only a new installation mends."""
ELSEWHERE = ", or mention it in the thread anew where its organisation has it instead"

NO_CHANNEL = "channel_not_found"
OF_THE_PLACE = {
    NO_CHANNEL: "the channel is gone, or the app can't see it",
    "is_archived": "the channel is archived",
    "not_in_channel": "the app is not a member of the channel",
    "missing_scope": "the app lacks a permission",
    "restricted_action": "a rule of the workspace forbids the app to post there",
    "restricted_action_read_only_channel": "the channel is read-only",
    "restricted_action_thread_only_channel": "only replies in threads are allowed there",
    "restricted_action_non_threadable_channel": "no threads are allowed there",
    "restricted_action_thread_locked": "the thread is locked",
    "user_is_bot": "it is addressed to a bot",
    "user_not_found": "the person it is addressed to is gone",
    "cannot_reply_to_message": "nothing can be written in this thread",
}
"""Refusals that somebody in Slack can mend, after which a retry goes through."""


def revives(installation: str) -> str:
    """What dead letters wait for that died because the app wasn't let in."""
    return f"installation:{installation}"


def reopens(installation: str, channel: str) -> str:
    """What those wait for that died because there is no channel of this id (any more)."""
    return f"channel:{installation}:{channel}"


def dead(refused: Refused, installation: str, channel: str) -> Undeliverable | None:
    """The dead letter that a refusal makes, or ``None`` if another way of saying it may still work."""
    code = refused.code
    if code in FOR_GOOD:
        elsewhere = code == "no_installation"
        return Undeliverable(
            code,
            f"{FOR_GOOD[code]}; install it again{ELSEWHERE if elsewhere else ''}",
            revive_on=revives(installation),
        )
    if code not in OF_THE_PLACE:
        return None
    needed = refused.data.get("needed")
    more = f": {needed}" if code == "missing_scope" and isinstance(needed, str) else ""
    where = f" ({channel})" if channel else ""
    return Undeliverable(
        code,
        f"{OF_THE_PLACE[code]}{more}{where}; mend that and retry the delivery",
        revive_on=reopens(installation, channel) if code == NO_CHANNEL and channel else None,
    )
