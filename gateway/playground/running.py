"""The playground as a whole: a Slack and a mail server of its own, the gateway beside them, and the pages
between."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from channels.email.emulator.guard import refuse_real as refuse_real_mailbox
from channels.email.emulator.server import MailServer
from channels.slack.emulator import SlackEmulator, fresh_ids
from channels.slack.emulator.guard import refuse_real
from gateway.config import BY_ENV, Settings
from gateway.definition import Loaded
from gateway.definition.author import Target
from gateway.host.compose import Host
from gateway.host.serving import Serving, serve
from gateway.playground.database import claim
from gateway.playground.desk import Desk
from gateway.playground.keys import own_key
from gateway.playground.mail.desk import MailDesk
from gateway.playground.mail.dovecot import Choice, inbox_as_chosen
from gateway.playground.mail.office import SUPPORT, MailOffice, furnish_mail
from gateway.playground.mail.site import MailSite
from gateway.playground.office import Office, furnish
from gateway.playground.site import Site
from gateway.values import is_loopback

DATABASE = "dev.db"
APPROVERS = "REFUND_APPROVERS"
"""What the demo's agent reads about who may approve; an agent that doesn't know it isn't disturbed."""
KEYS = "GATEWAY_SECRET_KEYS"
OPERATORS = ("api:", "cli:", "console:")
_CHANNEL = re.compile(r"[CG][A-Z0-9]+")
_UNFIT = re.compile(r"[^a-z0-9_-]+")
"""What no channel's name holds."""


@dataclass(slots=True, kw_only=True)
class Playground:
    """``settings`` are the gateway's beside it."""

    office: Office
    mail: MailOffice
    settings: Settings
    _agent: str = ""

    def furnish(self, app: web.Application, host: Host) -> None:
        """Give the host its pages, and the workspace what the agent's files speak of."""
        self._agent = host.api.agent
        self.places(host.loaded)
        mounted = "slack" in host.loaded.channels
        Site(office=self.office, desk=Desk(self.office), api=host.api, mounted=mounted).mount(app)
        mounted = "email" in host.loaded.channels
        desk = MailDesk(self.mail)
        MailSite(office=self.mail, desk=desk, api=host.api, mounted=mounted).mount(app)

    def open(self, url: str) -> None:
        """The gateway takes requests at this address."""
        self.office.open_to(self._agent, f"{url}/channels/slack")

    def places(self, loaded: Loaded) -> None:
        """The channels that the agent's files name, as far as they aren't there yet."""
        routed = {Target.parse(to): _desk(name) for name, to in loaded.agent.approvals.items()}
        for schedule in loaded.schedules.values():
            if isinstance(schedule.target, Target):
                routed.setdefault(schedule.target, "ops")
        for target, name in routed.items():
            if target.channel == "slack" and _CHANNEL.fullmatch(target.address):
                self.office.add_channel(target.address, _UNFIT.sub("-", name.lower()))


def _desk(policy: str) -> str:
    """What the channel is called where a policy's requests are decided on: ``refund-approvals``."""
    return f"{policy.rpartition(':')[2].removesuffix('s')}-approvals"


def own_settings(settings: Settings) -> Settings:
    """The settings with a database of the playground's own, unless one was named."""
    if "database_url" in settings.origins:
        return settings
    return replace(settings, database_url=f"sqlite:///{settings.state / DATABASE}")


@asynccontextmanager
async def open_playground(
    settings: Settings, mail: Choice = "embedded"
) -> AsyncGenerator[Playground, None]:
    """``mail`` is who has the support inbox. Raises ``ConfigError`` beside a real workspace's or mailbox's
    secret, on a database with other data, or without the Dovecot that was asked for."""
    async with (
        SlackEmulator(beside=slack_secrets(settings)) as slack,
        MailServer(beside=mail_secrets(settings)) as post,
    ):
        slack.world.ids_after = fresh_ids()  # the database remembers what the last one sent
        mine = own_settings(settings)
        await claim(mine)
        office, mail_office = furnish(slack), furnish_mail(post)
        key = await lent_key(mine)
        async with inbox_as_chosen(post, SUPPORT, mail) as mail_office.dovecot:
            told = {**office.settings, **mail_office.settings, **key}
            yield Playground(office=office, mail=mail_office, settings=_with(mine, office, told))


async def lent_key(settings: Settings) -> Mapping[str, str]:
    """A key of the playground's own, unless one is set. Raises ``ConfigError``."""
    if settings.secret_keys:
        return {}
    return {KEYS: await asyncio.to_thread(own_key, settings.state)}


def _with(settings: Settings, office: Office, lent: Mapping[str, str]) -> Settings:
    """The settings of a gateway that uses this workspace, where its leads may approve, and this mailbox."""
    told = {**lent, "DATABASE_URL": settings.database_url}
    values: dict[str, Any] = {
        BY_ENV[name].field: BY_ENV[name].parse(value) for name, value in told.items()
    }
    approvers = {APPROVERS: ",".join((*OPERATORS, *office.leads))}
    return replace(settings, **values, environ={**approvers, **settings.environ, **told})


def mail_secrets(settings: Settings) -> Mapping[str, str]:
    """What would connect a gateway with these settings to a mailbox of somebody's."""
    known = {
        "EMAIL_IMAP_URL": _password(settings.email_imap_url),
        "EMAIL_SMTP_URL": _password(settings.email_smtp_url),
        "EMAIL_SENDGRID_PUBLIC_KEY": settings.email_sendgrid_key,
        "EMAIL_SES_TOPIC": settings.email_ses_topic,
    }
    hidden = {
        "EMAIL_POSTMARK_LOGIN": settings.email_postmark_login,
        "EMAIL_MAILGUN_SIGNING_KEY": settings.email_mailgun_key,
        "EMAIL_RESEND_SECRET": settings.email_resend_secret,
        "EMAIL_RESEND_API_KEY": settings.email_resend_api_key,
    }
    plain = {name: value for name, value in known.items() if value is not None}
    return {**plain, **{name: one.value for name, one in hidden.items() if one is not None}}


def _password(url: str | None) -> str | None:
    """What is secret of a mailbox here; all of one elsewhere."""
    if url is None:
        return None
    parts = urlsplit(url)
    here = parts.password is not None and is_loopback(parts.hostname or "")
    return parts.password if here else url


def slack_secrets(settings: Settings) -> Mapping[str, str]:
    """The Slack secrets that a gateway with these settings would use."""
    known = {
        "SLACK_BOT_TOKEN": settings.slack_bot_token,
        "SLACK_APP_TOKEN": settings.slack_app_token,
        "SLACK_SIGNING_SECRET": settings.slack_signing_secret,
        "SLACK_CLIENT_SECRET": settings.slack_client_secret,
    }
    return {name: secret.value for name, secret in known.items() if secret is not None}


async def play(settings: Settings, serving: Serving, *, mail: Choice = "auto") -> int:
    """Serve a gateway with its playground until it is told to stop; the exit code."""
    ready = serving.ready
    async with open_playground(settings, mail) as playground:

        def opened(url: str) -> None:
            playground.open(url)
            if ready is not None:
                ready(url)

        serving.furnish, serving.ready = playground.furnish, opened
        serving.taken_up = playground.places
        return await serve(playground.settings, serving)


async def beside_emulator(settings: Settings, serving: Serving) -> int:
    """The same beside an emulator that runs elsewhere, whose page isn't ours to draw."""
    refuse_real(settings.host, slack_secrets(settings))
    refuse_real_mailbox(settings.host, mail_secrets(settings))
    mine = own_settings(settings)
    await claim(mine)
    return await serve(mine, serving)
