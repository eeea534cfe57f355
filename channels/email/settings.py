"""What an operator sets for email: the settings of the environment, the options of ``email_channel``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from datetime import date
from importlib.util import find_spec
from typing import Literal, cast

from channels.email.ingress import Hooks
from channels.email.policy import EmailRules
from channels.email.writing.addresses import is_host, problem
from channels.email.writing.tokens import MOST_MAILBOX
from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct
from gateway.values import Secret

__all__ = ["EmailOptions", "EmailSettings", "read_options", "read_settings"]

_CHECKED_BY = {"dkimpy": "dkim", "dnspython": "dns"}
"""What checks a signature, by the module that it is imported as."""


@struct(frozen=True, slots=True, kw_only=True)
class EmailSettings:
    """Of the environment. ``keys`` sign our ids and addresses: the first signs, all verify."""

    address: str
    imap_url: str | None = field(default=None, repr=False)
    smtp_url: str = field(repr=False)
    listen: str | None = None
    since: str = ""
    """``all``, or a day: older mail in the mailbox is left alone."""
    authserv_id: str | None = None
    border_host: str | None = None
    """Of the mailbox. What is handed over by another way says nothing by these two."""
    listen_authserv_id: str | None = None
    listen_border_host: str | None = None
    """Of the mail server that hands mail over to ``listen``."""
    vouching: frozenset[str] = frozenset()
    keys: tuple[bytes, ...] = field(default=(), repr=False)
    hooks: Hooks = field(default_factory=Hooks, repr=False)


@struct(frozen=True, slots=True, kw_only=True)
class EmailOptions:
    name: str
    signature: str
    reply_line: bool
    rules: EmailRules
    aliases: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    sealers: frozenset[str] = frozenset()
    results_below: bool = False
    signatures: bool = False
    links: frozenset[str] = frozenset()
    """Policies whose requests a link in a letter may decide."""


def read_settings(env: Mapping[str, str]) -> EmailSettings:
    """The ``EMAIL_*`` names of a mapping; an empty value is none. Raises ``ConfigError``."""
    address = (env.get("EMAIL_ADDRESS") or "").lower()
    why = problem(address)
    if not why and len(address.rpartition("@")[0]) > MOST_MAILBOX:
        why = f"it may have at most {MOST_MAILBOX} characters before its @, for a token behind it"
    if why:
        raise ConfigError(
            f"EMAIL_ADDRESS can't be the address of an inbox: {why}",
            fix="set EMAIL_ADDRESS=support@shop.example",
        )
    return EmailSettings(
        address=address,
        imap_url=env.get("EMAIL_IMAP_URL") or None,
        smtp_url=env.get("EMAIL_SMTP_URL") or "",
        listen=env.get("EMAIL_LISTEN") or None,
        since=_since(env.get("EMAIL_SINCE") or ""),
        authserv_id=env.get("EMAIL_AUTHSERV_ID") or None,
        border_host=env.get("EMAIL_BORDER_HOST") or None,
        listen_authserv_id=env.get("EMAIL_LISTEN_AUTHSERV_ID") or None,
        listen_border_host=env.get("EMAIL_LISTEN_BORDER_HOST") or None,
        vouching=frozenset(_words(env.get("EMAIL_VOUCHING_DOMAINS"))),
        keys=tuple(key.encode() for key in _words(env.get("GATEWAY_SECRET_KEYS"))),
        hooks=_hooks(env),
    )


def _since(given: str) -> str:
    if given and given != "all":
        try:
            date.fromisoformat(given)
        except ValueError:
            raise ConfigError(
                f"EMAIL_SINCE is {given!r}, which is neither a day nor all",
                fix="set EMAIL_SINCE=2026-01-31, or leave it out for mail from the first start on",
            ) from None
    return given


def _hooks(env: Mapping[str, str]) -> Hooks:
    def secret(name: str) -> Secret | None:
        return Secret(value) if (value := env.get(name)) else None

    if bool(env.get("EMAIL_RESEND_SECRET")) != bool(env.get("EMAIL_RESEND_API_KEY")):
        raise ConfigError(
            "Resend takes two settings: what proves its webhook, and what fetches the mail",
            fix="set both EMAIL_RESEND_SECRET and EMAIL_RESEND_API_KEY",
        )
    return Hooks(
        postmark=secret("EMAIL_POSTMARK_LOGIN"),
        sendgrid=secret("EMAIL_SENDGRID_PUBLIC_KEY"),
        mailgun=secret("EMAIL_MAILGUN_SIGNING_KEY"),
        resend=secret("EMAIL_RESEND_SECRET"),
        resend_key=secret("EMAIL_RESEND_API_KEY"),
        ses_topic=env.get("EMAIL_SES_TOPIC") or None,
    )


def read_options(  # noqa: PLR0913 - each is an option of email_channel
    *,
    name: str,
    signature: str,
    reply_line: bool,
    colleagues: Collection[str],
    machines: Collection[str],
    aliases: Collection[str],
    lists: Collection[str],
    sealers: Collection[str],
    results_below: bool,
    signatures: bool,
    unattested: Literal["answer", "hold"],
    per_thread: int,
    per_sender: int,
    per_domain: int,
    per_inbox: int,
    links: Collection[str],
) -> EmailOptions:
    """The options, checked. Raises ``ConfigError`` that names the one that is wrong."""
    if not isinstance(cast("object", name), str) or not name.strip() or not name.isprintable():
        raise ConfigError("name must be one line of text", fix='write name="June at the shop"')
    if unattested not in {"answer", "hold"}:
        raise ConfigError(
            f"unattested={unattested!r} is neither of its two values",
            fix='write unattested="hold", or "answer"',
        )
    for option, given in (
        ("per_thread", per_thread),
        ("per_sender", per_sender),
        ("per_domain", per_domain),
        ("per_inbox", per_inbox),
    ):
        if not isinstance(cast("object", given), int) or given < 1:
            raise ConfigError(f"{option}={given!r} is no number of mails", fix=f"write {option}=20")
    if signatures and (lacking := [name for name, at in _CHECKED_BY.items() if not find_spec(at)]):
        # Or the first mail would be taken for one that can't be read.
        raise ConfigError(
            f"signatures=True can't be kept: {' and '.join(lacking)} isn't installed",
            fix=f"pip install {' '.join(lacking)}, or leave signatures out",
        )
    return EmailOptions(
        name=name.strip(),
        signature=signature,
        reply_line=reply_line,
        rules=EmailRules(
            per_thread=per_thread,
            per_sender=per_sender,
            per_domain=per_domain,
            per_inbox=per_inbox,
            colleagues=_listed("colleagues", colleagues, is_host, '["shop.example"]'),
            machines=_listed("machines", machines, _is_address, '["alerts@shop.example"]'),
            unattested=unattested,
        ),
        aliases=_listed("aliases", aliases, _is_address, '["info@shop.example"]'),
        lists=_listed("lists", lists, is_host, '["support.shop.example"]'),
        sealers=_listed("sealers", sealers, is_host, '["microsoft.com"]'),
        results_below=results_below,
        signatures=signatures,
        links=_policies(links),
    )


def _policies(given: object) -> frozenset[str]:
    entries = list(cast("Collection[object]", given)) if isinstance(given, Collection) else [None]
    if isinstance(given, str) or not all(isinstance(one, str) and one.strip() for one in entries):
        raise ConfigError(f"links={given!r} lists no policies", fix='write links=["notes"]')
    return frozenset(str(one) for one in entries)


def _is_address(given: str) -> bool:
    return not problem(given)


def _listed(
    option: str, given: object, fits: Callable[[str], bool], example: str
) -> frozenset[str]:
    entries = list(cast("Collection[object]", given)) if isinstance(given, Collection) else []
    wrong = isinstance(given, str) or not isinstance(given, Collection)
    if wrong or not all(isinstance(one, str) and fits(one.lower()) for one in entries):
        raise ConfigError(
            f"{option}={given!r} isn't what it should list", fix=f"write {option}={example}"
        )
    return frozenset(str(one).lower() for one in entries)


def _words(given: str | None) -> tuple[str, ...]:
    return tuple(one for one in (given or "").replace(",", " ").split() if one)
