"""Everything that the checks judge by, looked at once and in bounded time. A part that couldn't be
looked at is ``None``, and whoever needs it says nothing: why it couldn't is a finding of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.cli.doctor.calls import Answer
from gateway.cli.doctor.finding import Finding
from gateway.cli.operate.manifest import App
from gateway.cli.told import objects_of
from gateway.config import Settings
from gateway.definition import Loaded
from gateway.engine.kinds import JsonObject, Millis
from gateway.values import is_loopback

if TYPE_CHECKING:
    from channels.email.api import SmtpOutcome
    from channels.email.ways.glance import Glimpse, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined:
    """The agent directory. ``app`` is what Slack has to be told of it; none if it isn't in Slack."""

    loaded: Loaded
    app: App | None = None
    money: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Tools that move money, and whether they say who decides."""
    model_lacks: tuple[str, str] | None = None
    """What the agent's model lacks here, and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """``log`` is SQLite's write-ahead log. Bytes."""

    place: str
    free: int
    size: int
    log: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the store holds, as the running host tells it, or as it stands there. ``status`` is the
    host's, and empty without one."""

    host: str | None
    status: JsonObject
    unfinished: tuple[JsonObject, ...]
    """Turns that neither ended nor wait for a person, with when they last moved (``moved_at``)."""
    approvals: tuple[JsonObject, ...]
    dead: tuple[JsonObject, ...]
    schedules: tuple[JsonObject, ...] = ()
    held_mail: tuple[JsonObject, ...] = ()
    """Mail that waits for an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What Slack answered. ``places`` by the address that the agent names; ``reached`` is what the
    public address answers to a plain look, the host's health and the webhook."""

    me: Answer | None
    line: Answer | None
    places: Mapping[str, Answer]
    reached: tuple[int | str, int | str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAsked:
    """What the mail servers answered. ``box`` is the mailbox, or how far it was come to and why no further;
    ``way_out`` what the server that sends says before there is a letter. ``probe``: whether a mail to an
    address with a plus arrived, where one was sent, or why it couldn't be."""

    box: Glimpse | tuple[Step, str] | None = None
    way_out: SmtpOutcome | None = None
    probe: bool | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    settings: Settings
    now: Millis
    unread: tuple[str, ...] = ()
    """Variables that only ``.env`` sets: they hold for the doctor, and not for ``serve``."""
    refused: tuple[Finding, ...] = ()
    """What ``serve`` would refuse to start with."""
    named: bool = False
    """Whether Slack was asked for by name: then it ought to be set up."""
    named_mail: bool = False
    """The same of mail."""
    defined: Defined | None = None
    manifest: JsonObject | None = None
    """``manifest.yml``, as it was written."""
    disk: Disk | None = None
    kept: Kept | None = None
    asked: Asked | None = None
    mail: MailAsked | None = None

    @property
    def app(self) -> App | None:
        return None if self.defined is None else self.defined.app

    @property
    def slack_wanted(self) -> bool:
        """Whether anybody meant to set Slack up here."""
        s = self.settings
        given = (s.slack_bot_token, s.slack_client_id, s.slack_app_token, s.slack_signing_secret)
        return any(value is not None for value in given)

    @property
    def slack_on(self) -> bool:
        return not self.settings.missing("slack") and self.app is not None

    @property
    def real_slack(self) -> bool:
        """Not an emulator on this machine."""
        return not is_loopback(host_of(self.settings.slack_api_url))

    @property
    def by_socket(self) -> bool:
        """Whether Slack's events come on a line that we open."""
        return self.settings.slack_app_token is not None

    def page(self, name: str) -> str:
        """A page of the app's settings; without its id the list of apps, from which it is one click."""
        token = self.settings.slack_app_token
        parts = token.value.split("-") if token is not None else []
        if len(parts) > 3 and parts[0] == "xapp" and parts[2].startswith("A"):
            return f"https://api.slack.com/apps/{parts[2]}/{name}"
        return "https://api.slack.com/apps"

    @property
    def slack_served(self) -> bool:
        """Whether the running host has Slack, whatever is set here: it may have settings of its own."""
        return self._slack_row() is not None

    def channel_problem(self) -> str:
        """What the running host says keeps Slack from working."""
        row = self._slack_row()
        return "" if row is None else str(row.get("problem") or "")

    def _slack_row(self) -> JsonObject | None:
        return self.served("slack")

    def served(self, channel: str) -> JsonObject | None:
        """What the running host says of a channel that is on there."""
        rows = [] if self.kept is None else self.kept.status.get("channels")
        for row in objects_of(rows):
            if row.get("name") == channel and row.get("on"):
                return row
        return None

    @property
    def mail_mounted(self) -> bool:
        return self.defined is not None and "email" in self.defined.loaded.channels

    @property
    def mail_wanted(self) -> bool:
        """Whether anybody meant to set up an inbox here."""
        s = self.settings
        ways = (s.email_address, s.email_imap_url, s.email_smtp_url, s.email_listen)
        return any(value is not None for value in ways)

    @property
    def mail_on(self) -> bool:
        return not self.settings.missing("email") and self.mail_mounted


def host_of(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


Check = Callable[[Seen], Iterator[Finding]]
"""Judges what was seen. Pure."""
