"""How a support inbox is set up, in a few lines for an operator. Pure."""

from __future__ import annotations

from channels.email.settings import EmailSettings
from channels.email.ways.account import Account
from channels.email.ways.taking import plain
from gateway.engine.kinds import JsonObject, Millis

__all__ = ["ELSEWHERE", "standing"]

ELSEWHERE = "another host reads it now, or none does yet"


def standing(
    settings: EmailSettings, account: Account | None, *, reads: bool, heard_at: Millis | None
) -> list[JsonObject]:
    """``name`` and ``told`` of each, and ``at``: when that was last so."""
    lines: list[JsonObject] = [_line("address", settings.address)]
    if account is not None:
        where = f"{plain(account.folder)} of {plain(account.name)}"
        who = "this host reads it" if reads else ELSEWHERE
        lines.append(_line("mailbox", f"{where} · {who}", heard_at))
    if settings.listen is not None:
        lines.append(_line("listens", settings.listen))
    if hooks := _hooks(settings):
        lines.append(_line("webhooks", hooks))
    lines.append(_line("believes", _believes(settings)))
    return lines


def _line(name: str, told: str, at: Millis | None = None) -> JsonObject:
    return {"name": name, "told": told, "at": at}


def _hooks(settings: EmailSettings) -> str:
    hooks = settings.hooks
    known = {
        "postmark": hooks.postmark,
        "sendgrid": hooks.sendgrid,
        "mailgun": hooks.mailgun,
        "resend": hooks.resend,
        "ses": hooks.ses_topic,
    }
    return ", ".join(name for name, proof in known.items() if proof)


def _believes(settings: EmailSettings) -> str:
    if settings.border_host is None:
        return "nobody: set EMAIL_BORDER_HOST, and EMAIL_AUTHSERV_ID where it writes one"
    told = f"what {settings.border_host} wrote"
    if settings.authserv_id is not None and settings.authserv_id != settings.border_host:
        told += f" as {settings.authserv_id}"
    if settings.vouching:
        told += f"; {', '.join(sorted(settings.vouching))} for their people"
    return told
